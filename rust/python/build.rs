//! Links the module without a Python library on macOS, too.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}

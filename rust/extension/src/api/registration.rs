//! Registers, with editor help, items for which godot-rust has no attribute.

use std::sync::PoisonError;

use godot::obj::GodotClass;
use godot::private::{__GODOT_DOCS_REGISTRY, DocsItem, DocsShard, InherentImplDocs};
use godot::register::private::constant::{ConstantKind, ExportConstant, IntegerConstant};

use super::call_class;
use super::codec_class::FastVariantCodec;
use super::error_code::ErrorCode;

/// Registers the error codes and the methods that scripts call once per value. Called after the class has
/// been registered.
pub fn register() {
    error_codes();
    add(InherentImplDocs { methods_xml: call_class::register().leak(), ..InherentImplDocs::default() });
}

fn add(help: InherentImplDocs) {
    let shard = DocsShard::new::<FastVariantCodec>(DocsItem::InherentImpl(help));
    __GODOT_DOCS_REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).push(shard);
}

/// Registers the error codes as `FastVariantCodec.CodecError`.
fn error_codes() {
    let enumerators =
        ErrorCode::ALL.iter().map(|&(code, name, _)| IntegerConstant::new(name, code as i32)).collect();
    let kind = ConstantKind::Enum { name: "CodecError".into(), enumerators };
    ExportConstant::new(FastVariantCodec::class_id(), kind).register();

    let help: String = ErrorCode::ALL
        .iter()
        .map(|&(code, name, help)| {
            let value = code as i32;
            format!(r#"<constant name="{name}" value="{value}" enum="CodecError">{help}</constant>"#)
        })
        .collect();
    add(InherentImplDocs { constants_xml: help.leak(), ..InherentImplDocs::default() });
}

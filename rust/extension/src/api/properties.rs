//! Properties that several threads may use at once.
//!
//! godot-rust's own setters borrow the object exclusively, which may fail while another thread reads it. No method of
//! this library therefore borrows an object exclusively; a mutex guards the values of the properties.

/// Defines getters and setters of properties whose values are fields of the struct in the mutex `self.values`.
///
/// The class declares each as `#[var(get, set)] name: PhantomVar<Type>`; its other methods are in a secondary impl,
/// because godot-rust looks for getters and setters in the primary one.
macro_rules! properties {
    ($class:ident { $($name:ident: $ty:ident, $get:ident, $set:ident;)* }) => {
        #[godot_api]
        impl $class {
            $(
                #[func]
                fn $get(&self) -> $ty {
                    guard(concat!(stringify!($class), ".", stringify!($get)), || lock(&self.values).$name.clone())
                }

                // Scripts see a setter as non-const, because it returns nothing: see
                // `rust/engine/src/arguments.rs`.
                #[func]
                fn $set(&self, value: $ty) {
                    guard(concat!(stringify!($class), ".", stringify!($set)), || lock(&self.values).$name = value)
                }
            )*
        }
    };
}

pub(super) use properties;

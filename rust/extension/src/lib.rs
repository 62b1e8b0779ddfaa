//! FastVariantCodec GDExtension.

//! The editor's help on what is registered by hand, for which godot-rust has no attribute.

use std::sync::PoisonError;

use godot::private::{__GODOT_DOCS_REGISTRY, DocsItem, DocsShard, InherentImplDocs};

use crate::codec_class::FastVariantCodec;

/// Adds to the help on FastVariantCodec.
pub fn add(help: InherentImplDocs) {
    let shard = DocsShard::new::<FastVariantCodec>(DocsItem::InherentImpl(help));
    __GODOT_DOCS_REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).push(shard);
}

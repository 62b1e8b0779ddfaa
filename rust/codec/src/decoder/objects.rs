//! Decodes objects.

use super::Decoder;
use crate::error::{ErrorKind, Locate, Oddity, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::format::VariantType;
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;

/// The key for the class in a Dictionary that replaces an object; no property can have this name.
const CLASS_KEY: &str = "class";

/// The property that holds the path of an object's script.
const SCRIPT: &str = "script";

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[inline(never)]
    pub(super) fn decode_object<S: Sink>(&mut self, sink: &mut S, header: Header, at: usize) -> Result<()> {
        if header.is_object_id() {
            let id = self.u64()?;
            self.odd(id == 0, at, Oddity::NullObject)?;
            self.budget.object().at(at)?;
            return sink.object_id(id).at(at);
        }
        // Notes describe the bytes as they are, without replacements.
        if !D::HAS_CLASSES && !NOTES {
            return self.decode_foreign_object(sink, at);
        }
        if !self.budget.limits.allow_objects {
            return Err(self.error_at(at, ErrorKind::ObjectsNotAllowed));
        }
        let class = self.name()?;
        if class.is_empty() {
            self.odd(true, at, Oddity::NullObject)?;
            return sink.object_id(0);
        }
        let allowed = &self.budget.limits.allowed_classes;
        if !allowed.is_empty() && !allowed.iter().any(|name| name == class) {
            return Err(self.error_at(at, ErrorKind::ClassNotAllowed(class.to_owned())));
        }
        let count = self.signed_count(8)?;
        self.budget.object().at(at)?;
        let mut object = sink.begin_object(class.into(), count).at(at)?;
        self.depth += 1;
        for _ in 0..count {
            let name_at = self.position();
            let name = self.name()?;
            if name == SCRIPT && !self.budget.limits.allowed_scripts.is_empty() {
                self.check_next_script()?;
            }
            sink.begin_property(&mut object, name.into())
                .at(name_at)
                .and_then(|()| self.write_into(sink))
                .and_then(|()| sink.end_property(&mut object).at(name_at))
                .map_err(|error| error.inside(Step::property(name)))?;
        }
        self.depth -= 1;
        sink.end_object(object).at(at)
    }

    /// Fails if the next value is the path of a script that is not allowed.
    fn check_next_script(&mut self) -> Result<()> {
        let at = self.position();
        if self.next_type() == Some(VariantType::String) {
            self.u32()?;
            let path = self.string()?;
            self.check_script(path, at).map_err(|error| error.inside(Step::property(SCRIPT)))?;
            self.cursor.jump(at);
        }
        Ok(())
    }

    pub(super) fn check_script(&self, path: &str, at: usize) -> Result<()> {
        let allowed = &self.budget.limits.allowed_scripts;
        if allowed.is_empty() || allowed.iter().any(|allowed| allowed == path) {
            return Ok(());
        }
        Err(self.error_at(at, ErrorKind::ScriptNotAllowed(path.to_owned())))
    }

    /// Writes an object of Godot 3 as a Dictionary. Fails unless the caller accepts the loss.
    pub(super) fn decode_foreign_object<S: Sink>(&mut self, sink: &mut S, at: usize) -> Result<()> {
        let class = self.name()?;
        // This also refuses an object without a class. Godot 3 does the same unless objects are allowed. If
        // objects are allowed, Godot 3 reads null.
        if !self.dialect.replaces_object() {
            return Err(self.error_at(at, ErrorKind::Godot3Object(class.to_owned())));
        }
        if class.is_empty() {
            self.odd(true, at, Oddity::NullObject)?;
            return sink.nil();
        }
        self.check_container_in_key(at)?;
        let count = self.signed_count(8)?;
        self.budget.value(VariantType::Dictionary).at(at)?;
        self.budget.dictionary(count + 1).at(at)?;
        let untyped = ElementType::Untyped;
        let mut dictionary = sink.begin_dictionary(count + 1, untyped, untyped).at(at)?;
        sink.begin_key(&mut dictionary)?;
        sink.text(VariantType::String, CLASS_KEY.into()).at(at)?;
        sink.begin_value(&mut dictionary).at(at)?;
        sink.text(VariantType::String, class.into()).at(at)?;
        sink.end_entry(&mut dictionary).at(at)?;
        self.depth += 1;
        for _ in 0..count {
            let name_at = self.position();
            let name = self.name()?;
            sink.begin_key(&mut dictionary)?;
            sink.text(VariantType::String, name.into())
                .at(name_at)
                .and_then(|()| sink.begin_value(&mut dictionary).at(name_at))
                .and_then(|()| self.write_into(sink))
                .and_then(|()| sink.end_entry(&mut dictionary).at(name_at))
                .map_err(|error| error.inside(Step::property(name)))?;
        }
        self.depth -= 1;
        sink.end_dictionary(dictionary).at(at)
    }
}

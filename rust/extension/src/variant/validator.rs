//! Validates events without building the value. Builds only the keys of Dictionaries, to find duplicates.

use variant_codec::stream::{ElementType, Lanes, NodePathParts, Sink, Text};
use variant_codec::{Result, VariantType};
use variant_engine::StringSlots;

use super::builder::VariantBuilder;
use super::builder::sink::{ArrayFrame, DictionaryFrame};
use super::input::Reading;

/// Runs the checks of a [`VariantBuilder`], but creates no objects and loads no scripts.
pub struct Validator<'k> {
    builder: VariantBuilder<'k, 'k>,
    in_key: bool,
}

impl<'k> Validator<'k> {
    pub fn new(reading: Reading<'k>) -> Self {
        Self { builder: VariantBuilder::new(reading), in_key: false }
    }

    /// Passes an event to the builder if the event is in a key.
    #[inline(always)]
    fn in_key<T>(
        &mut self,
        event: impl FnOnce(&mut VariantBuilder<'k, 'k>) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.in_key { event(&mut self.builder).map(Some) } else { Ok(None) }
    }
}

/// The declared type if it is a built-in type other than Object. Otherwise untyped, so that no script is
/// loaded.
fn built_in(element: ElementType<'_>) -> ElementType<'_> {
    match element {
        ElementType::Builtin(ty) if ty != VariantType::Object => element,
        _ => ElementType::Untyped,
    }
}

macro_rules! hand_over {
    ($($event:ident($($argument:ident: $ty:ty),*);)*) => {
        $(
            #[inline(always)]
            fn $event(&mut self, $($argument: $ty),*) -> Result<()> {
                self.in_key(|builder| builder.$event($($argument),*)).map(drop)
            }
        )*
    };
}

macro_rules! hand_over_inside {
    ($($event:ident($frame:ty);)*) => {
        $(
            #[inline(always)]
            fn $event(&mut self, frame: &mut Option<$frame>) -> Result<()> {
                frame.as_mut().map_or(Ok(()), |frame| self.builder.$event(frame))
            }
        )*
    };
}

/// A Dictionary whose keys are checked, and whether it is in a key itself.
pub struct KeysFrame(DictionaryFrame, bool);

impl<'k> Sink for Validator<'k> {
    type Array = Option<ArrayFrame>;
    type Dictionary = KeysFrame;
    /// Whether the object is in a key.
    type Object = bool;
    type Strings = Option<StringSlots<'k>>;
    hand_over! {
        nil();
        bool(value: bool);
        int(value: i64);
        float(value: f64);
        fixed(ty: VariantType, lanes: Lanes<'_>);
        packed(ty: VariantType, lanes: Lanes<'_>);
        rid(id: u64);
        callable();
        object_id(id: u64);
    }

    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        if self.in_key {
            return self.builder.text(ty, text);
        }
        if ty == VariantType::StringName { self.builder.check_name(text) } else { Ok(()) }
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        if self.in_key { self.builder.node_path(path) } else { self.builder.check_names(path) }
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        if self.in_key { self.builder.signal(name, object) } else { self.builder.check_name(name) }
    }

    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<Option<ArrayFrame>> {
        self.builder.check_class(element)?;
        self.in_key(|builder| builder.begin_array(len, built_in(element)))
    }

    hand_over_inside! {
        begin_element(ArrayFrame);
        end_element(ArrayFrame);
    }

    fn end_array(&mut self, array: Option<ArrayFrame>) -> Result<()> {
        array.map_or(Ok(()), |array| self.builder.end_array(array))
    }

    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<KeysFrame> {
        self.builder.check_class(key)?;
        self.builder.check_class(value)?;
        if !self.in_key {
            self.builder.open_detached();
        }
        let frame = self.builder.begin_dictionary(len, built_in(key), ElementType::Untyped)?;
        Ok(KeysFrame(frame, self.in_key))
    }

    fn begin_key(&mut self, KeysFrame(dictionary, _): &mut KeysFrame) -> Result<()> {
        self.in_key = true;
        self.builder.begin_key(dictionary)
    }

    fn begin_value(&mut self, KeysFrame(dictionary, in_key): &mut KeysFrame) -> Result<()> {
        self.in_key = *in_key;
        self.builder.begin_value(dictionary)
    }

    #[inline(always)]
    fn keeps_entry(&self, KeysFrame(dictionary, _): &KeysFrame) -> bool {
        self.builder.keeps_entry(dictionary)
    }

    fn end_entry(&mut self, KeysFrame(dictionary, _): &mut KeysFrame) -> Result<()> {
        self.builder.end_entry(dictionary)
    }

    fn end_dictionary(&mut self, KeysFrame(dictionary, in_key): KeysFrame) -> Result<()> {
        self.builder.end_dictionary(dictionary)?;
        if !in_key {
            drop(self.builder.close_detached());
        }
        Ok(())
    }

    fn begin_object(&mut self, _class: Text<'_>, _properties: usize) -> Result<bool> {
        self.in_key(|builder| {
            builder.put_stand_in(u64::MAX);
            Ok(())
        })?;
        Ok(std::mem::take(&mut self.in_key))
    }

    fn begin_property(&mut self, _object: &mut bool, name: Text<'_>) -> Result<()> {
        self.builder.check_name(name)
    }

    fn end_property(&mut self, _object: &mut bool) -> Result<()> {
        Ok(())
    }

    fn end_object(&mut self, in_key: bool) -> Result<()> {
        self.in_key = in_key;
        Ok(())
    }

    fn begin_strings(&mut self, len: usize) -> Result<Option<StringSlots<'k>>> {
        self.in_key(|builder| builder.begin_strings(len))
    }

    fn string(&mut self, strings: &mut Option<StringSlots<'k>>, text: Text<'_>) -> Result<()> {
        strings.as_mut().map_or(Ok(()), |strings| self.builder.string(strings, text))
    }

    fn end_strings(&mut self, strings: Option<StringSlots<'k>>) -> Result<()> {
        strings.map_or(Ok(()), |strings| self.builder.end_strings(strings))
    }
}

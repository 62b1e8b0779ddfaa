//! Events → live Variant, with objects of registered classes for the plain containers of `docs/classes.md`.

use variant_codec::format::ENCODED_OBJECT_AS_ID;
use variant_codec::stream::{ElementType, Header, Lanes, NodePathParts, Precision, Sink, Text};
use variant_codec::{Error, Result, VariantType, tag};
use variant_engine::StringSlots;

use crate::classes::completion::Incomplete;
use crate::classes::host::Host;
use crate::classes::reader::ObjectReader;
use crate::decode::builder::VariantBuilder;
use crate::decode::builder::sink::{ArrayFrame, DictionaryFrame};
use crate::decode::native_objects::NewObject;
use crate::objects::lost_objects;

/// A builder that puts an object, or another value, where the data has a tagged Dictionary.
pub struct Untagging<'k, 's> {
    builder: VariantBuilder<'k, 's>,
    objects: ObjectReader<'k>,
    data: &'k [u8],
    /// The offset in `data` of the value that started last.
    value_at: usize,
    lost_objects_as_null: bool,
}

impl<'k, 's> Untagging<'k, 's> {
    /// Builds the value at the start of `data`.
    pub fn new(builder: VariantBuilder<'k, 's>, objects: ObjectReader<'k>, data: &'k [u8]) -> Self {
        let lost_objects_as_null = objects.limits().lost_objects_as_null;
        Self { builder, objects, data, value_at: 0, lost_objects_as_null }
    }

    /// Frees what has been read, without running the scripts of its objects on the stack of the reader.
    pub fn abandon(self, host: Host<'_>) {
        let Self { mut builder, objects, .. } = self;
        let (held, created) = (objects.held(), std::mem::take(&mut builder.created));
        drop(objects);
        drop(builder);
        host.call(move || drop((held, created)));
    }

    /// As [`ObjectReader::check`].
    ///
    /// # Errors
    /// As [`ObjectReader::check`].
    pub fn check(&mut self) -> Result<()> {
        self.objects.check()
    }

    /// The value, whose objects are not complete yet.
    pub fn finish(self) -> Incomplete {
        Incomplete::of(self.builder.finish(), self.objects.finish())
    }

    /// Refuses elements of a class in the header of a container: tags name registered classes.
    #[inline(always)]
    fn check_element(&self, element: ElementType<'_>) -> Result<()> {
        match element {
            ElementType::Class(name) | ElementType::Script(name) => self.check_class(name),
            ElementType::Untyped | ElementType::Builtin(_) => Ok(()),
        }
    }

    #[cold]
    fn check_class(&self, name: Text<'_>) -> Result<()> {
        if name.to_lossy() != ENCODED_OBJECT_AS_ID {
            let name = name.quoted();
            return Err(Error::object(format!(
                "element class {name} is not registered; call `register` with its script"
            )));
        }
        if self.lost_objects_as_null { Ok(()) } else { Err(lost_objects::lost()) }
    }
}

/// Methods that only pass an event on to the builder.
macro_rules! passed_on {
    ($($name:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {
        $(
            #[inline(always)]
            fn $name(&mut self, $($argument: $ty),*) -> $result {
                self.builder.$name($($argument),*)
            }
        )*
    };
}

impl<'s> Sink for Untagging<'_, 's> {
    type Array = ArrayFrame;
    /// `None` for a tagged Dictionary.
    type Dictionary = Option<DictionaryFrame>;
    type Object = NewObject;
    type Strings = StringSlots<'s>;

    passed_on! {
        nil() -> Result<()>;
        bool(value: bool) -> Result<()>;
        int(value: i64) -> Result<()>;
        float(value: f64) -> Result<()>;
        text(ty: VariantType, text: Text<'_>) -> Result<()>;
        fixed(ty: VariantType, lanes: Lanes<'_>) -> Result<()>;
        packed(ty: VariantType, lanes: Lanes<'_>) -> Result<()>;
        node_path(path: NodePathParts<'_>) -> Result<()>;
        rid(id: u64) -> Result<()>;
        callable() -> Result<()>;
        begin_element(array: &mut ArrayFrame) -> Result<()>;
        end_element(array: &mut ArrayFrame) -> Result<()>;
        end_array(array: ArrayFrame) -> Result<()>;
        ints(array: &mut ArrayFrame, ints: &mut impl Iterator<Item = i64>) -> Result<()>;
        floats(array: &mut ArrayFrame, floats: &mut impl Iterator<Item = f64>) -> Result<()>;
        begin_object(class: Text<'_>, properties: usize) -> Result<NewObject>;
        begin_property(object: &mut NewObject, name: Text<'_>) -> Result<()>;
        end_property(object: &mut NewObject) -> Result<()>;
        end_object(object: NewObject) -> Result<()>;
        begin_strings(len: usize) -> Result<StringSlots<'s>>;
        string(strings: &mut StringSlots<'s>, text: Text<'_>) -> Result<()>;
        raw_string(strings: &mut StringSlots<'s>, bytes: &[u8]) -> Result<bool>;
        end_strings(strings: StringSlots<'s>) -> Result<()>;
    }

    #[inline(always)]
    fn fixed_run<const N: usize>(
        &mut self,
        array: &mut ArrayFrame,
        ty: VariantType,
        precision: Precision,
        values: &mut impl Iterator<Item = [u8; N]>,
    ) -> Result<()> {
        self.builder.fixed_run(array, ty, precision, values)
    }

    #[inline(always)]
    fn value_starts(&mut self, at: usize, _header: Header) {
        self.value_at = at;
    }

    #[inline(always)]
    fn raw_text(&mut self, ty: VariantType, bytes: &[u8]) -> Result<bool> {
        if self.builder.building.is_detached() && self.objects.passes(bytes) {
            return Ok(true);
        }
        self.builder.raw_text(ty, bytes)
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        if object != 0 {
            return Err(Error::object("a Signal has no meaning to a reader; connect it after loading"));
        }
        self.builder.signal(name, object)
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        if id != 0 && !self.lost_objects_as_null {
            return Err(lost_objects::lost());
        }
        self.builder.object_id(id)
    }

    #[inline(always)]
    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<ArrayFrame> {
        self.objects.pause(self.value_at)?;
        self.check_element(element)?;
        self.builder.begin_array(len, element)
    }

    #[inline(always)]
    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<Option<DictionaryFrame>> {
        self.objects.pause(self.value_at)?;
        let is_untyped = key == ElementType::Untyped && value == ElementType::Untyped;
        if !self.objects.takes_plain() && is_untyped && tag::is_first_key(self.data, self.value_at) {
            self.objects.begin(self.value_at, len, self.builder.building.is_detached());
            self.builder.building.open_detached();
            return Ok(None);
        }
        self.check_element(key)?;
        self.check_element(value)?;
        self.builder.begin_dictionary(len, key, value).map(Some)
    }

    #[inline(always)]
    fn begin_key(&mut self, dictionary: &mut Option<DictionaryFrame>) -> Result<()> {
        match dictionary {
            Some(dictionary) => self.builder.begin_key(dictionary),
            None => {
                self.objects.begin_key();
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn begin_value(&mut self, dictionary: &mut Option<DictionaryFrame>) -> Result<()> {
        match dictionary {
            Some(dictionary) => self.builder.begin_value(dictionary),
            None if self.objects.has_passed_key() => Ok(()),
            None => self.objects.key(&self.builder.building.take_detached()),
        }
    }

    #[inline(always)]
    fn keeps_entry(&self, dictionary: &Option<DictionaryFrame>) -> bool {
        dictionary.as_ref().is_none_or(|dictionary| self.builder.keeps_entry(dictionary))
    }

    #[inline(always)]
    fn end_entry(&mut self, dictionary: &mut Option<DictionaryFrame>) -> Result<()> {
        match dictionary {
            Some(dictionary) => self.builder.end_entry(dictionary),
            None => {
                let value = self.builder.building.take_detached();
                self.objects.value(value, &mut self.builder.created)
            }
        }
    }

    #[inline(always)]
    fn end_dictionary(&mut self, dictionary: Option<DictionaryFrame>) -> Result<()> {
        match dictionary {
            Some(dictionary) => self.builder.end_dictionary(dictionary),
            None => self.end_tagged(),
        }
    }
}

impl Untagging<'_, '_> {
    /// Puts the value that a tagged Dictionary stands for.
    #[inline(never)]
    fn end_tagged(&mut self) -> Result<()> {
        self.builder.building.close_detached();
        self.builder.building.put(self.objects.end()?);
        Ok(())
    }
}

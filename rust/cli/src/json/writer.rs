//! [`Writer`]: a sink that writes values as JSON.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;
use variant_codec::format::{Lane, Shape};
use variant_codec::lanes::widen;
use variant_codec::stream::{ElementType, Lanes, NodePathParts, Precision, Sink, Source, Text};
use variant_codec::value::NodePath;
use variant_codec::{Error, Result, Value, VariantType, tag};

/// The form of values whose types JSON lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// An object that names the type, from which the same bytes can be restored.
    Lossless,
    /// The nearest JSON value.
    Plain,
}

/// Appends the value of the source as JSON. May call `source` twice. Accepts Dictionaries that repeat a key.
///
/// # Errors
/// Fails if the source fails.
pub fn write<S: Source>(source: impl Fn() -> S, notation: Notation, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let mut writer =
        Writer { out, notation, key: Key::None, keys: 0, dictionaries: 0, mixed: HashSet::new() };
    let mut written = source().write_into(&mut writer);
    if written.is_ok() && !writer.mixed.is_empty() {
        writer.out.truncate(start);
        (writer.keys, writer.dictionaries) = (0, 0);
        written = source().write_into(&mut writer);
    }
    if written.is_err() {
        out.truncate(start);
    }
    written
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    notation: Notation,
    /// Whether the next value is a key of an untyped Dictionary, in the lossless notation.
    key: Key,
    /// The number of keys that contain the next value.
    keys: usize,
    /// The number of Dictionaries that have started.
    dictionaries: usize,
    /// The numbers of the Dictionaries that start with a String key but also have keys of other types. Known
    /// after one pass.
    mixed: HashSet<usize>,
}

#[derive(Clone, Copy)]
enum Key {
    None,
    /// The first key of a Dictionary, which decides its form. Dictionaries are numbered.
    First {
        number: usize,
        is_alone: bool,
    },
    /// A later key: the Dictionary with this number is a JSON object so far.
    OfObject(usize),
}

/// A Dictionary that is being written.
struct Map {
    number: usize,
    len: usize,
    written: usize,
    form: Form,
    /// The offset of the current key in the output.
    key_start: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Not known before the first key.
    Open,
    /// A JSON object.
    Object,
    /// A list of pairs.
    Entries,
}

/// A list that is being written.
struct List {
    is_empty: bool,
    end: &'static str,
}

/// Whether this text, as a JSON object's only key, names the type of a value.
fn names_form(text: &str) -> bool {
    use VariantType as T;
    let ty = VariantType::ALL.into_iter().find(|ty| ty.name() == text);
    ty.is_some_and(|ty| !matches!(ty, T::Nil | T::Bool | T::Int | T::String))
}

/// A first key as a key of a JSON object; `None` if the Dictionary must be written as a list of pairs.
fn object_key(text: Text<'_>, is_name: bool, is_alone: bool) -> Option<Cow<'_, str>> {
    match text {
        Text::Utf8(text) => tag::to_map_key(text, is_name).filter(|key| !is_alone || !names_form(key)),
        text => (!is_name && !is_alone).then(|| text.to_lossy().into()),
    }
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn json(&mut self, value: impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut *self.out, &value).map_err(Error::other)
    }

    fn string(&mut self, text: Text<'_>) -> Result<()> {
        match text {
            Text::Utf8(text) => self.json(text),
            text => self.json(text.to_lossy()),
        }
    }

    /// Must be called before each value. Returns `true` if it has written the value: the first key of a JSON object.
    /// `text` is set if the value is text, `is_name` if that is a StringName.
    #[inline(always)]
    fn begin_text(&mut self, text: Option<Text<'_>>, is_name: bool) -> Result<bool> {
        match std::mem::replace(&mut self.key, Key::None) {
            Key::None => Ok(false),
            Key::First { number, is_alone } => {
                let key = text.filter(|_| !self.mixed.contains(&number));
                self.begin_first_key(key.and_then(|text| object_key(text, is_name, is_alone)))
            }
            Key::OfObject(number) => {
                if text.is_none() || is_name {
                    self.mixed.insert(number);
                }
                Ok(false)
            }
        }
    }

    /// Must be called before each value that is not text.
    #[inline(always)]
    fn begin(&mut self) -> Result<()> {
        self.begin_text(None, false).map(drop)
    }

    #[inline(never)]
    fn begin_first_key(&mut self, key: Option<Cow<'_, str>>) -> Result<bool> {
        let Some(key) = key else {
            self.put(r#"{"Dictionary":{"key":null,"value":null,"entries":[["#);
            return Ok(false);
        };
        self.put("{");
        self.json(key).map(|()| true)
    }

    /// Starts a value of a type that JSON lacks. Returns the text that ends it.
    fn tag(&mut self, ty: VariantType) -> &'static str {
        if self.notation == Notation::Plain {
            return "";
        }
        self.put("{\"");
        self.put(ty.name());
        self.put("\":");
        "}"
    }

    fn tagged(&mut self, ty: VariantType, value: impl Serialize) -> Result<()> {
        self.begin()?;
        let end = self.tag(ty);
        self.json(value)?;
        self.put(end);
        Ok(())
    }

    fn number(&mut self, value: f64) -> Result<()> {
        match self.notation {
            _ if value.is_finite() => self.json(value),
            Notation::Lossless => self.json(Value::Float(value)),
            Notation::Plain if value.is_nan() => self.json("nan"),
            Notation::Plain => self.json(if value > 0.0 { "inf" } else { "-inf" }),
        }
    }

    /// Writes the shortest text that `from-json` rounds to these 32 bits.
    fn single(&mut self, value: f32) -> Result<()> {
        /// The only `f32`, with either sign, that changes if its shortest text is read as `f64` and rounded.
        const ROUNDED_TWICE: f32 = f32::from_bits(0x15AE_43FD);

        if value.is_finite() && value.abs() != ROUNDED_TWICE {
            self.json(value)
        } else {
            self.number(widen(value))
        }
    }

    /// Writes a list of numbers, grouped in lists of `per_element` if that is more than 1.
    fn numbers<T>(
        &mut self,
        numbers: impl Iterator<Item = T>,
        per_element: usize,
        write: impl Fn(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        self.put("[");
        let mut in_element = 0;
        for (index, number) in numbers.enumerate() {
            if in_element == per_element {
                self.put("]");
                in_element = 0;
            }
            if index > 0 {
                self.put(",");
            }
            if in_element == 0 && per_element > 1 {
                self.put("[");
            }
            write(self, number)?;
            in_element += usize::from(per_element > 1);
        }
        self.put(if in_element > 0 { "]]" } else { "]" });
        Ok(())
    }

    fn lanes(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let (lane, per_element) = match ty.shape() {
            Shape::Packed(lane, count) => (lane, count),
            Shape::Fixed(lane, _) => (lane, 1),
            _ => return self.other(ty),
        };
        self.begin()?;
        let end = self.tag(ty);
        let is_wide = lane == Lane::Real && lanes.precision == Precision::Double;
        let is_marked = is_wide && self.notation == Notation::Lossless;
        if is_marked {
            self.put(r#"{"f64":"#);
        }
        match lane {
            Lane::Byte => self.numbers(lanes.le.iter(), per_element, |out, byte| out.json(byte)),
            Lane::Int32 => self.numbers(lanes.i32s(), per_element, |out, int| out.json(int)),
            Lane::Int64 => self.numbers(lanes.i64s(), per_element, |out, int| out.json(int)),
            Lane::Float64 => self.numbers(lanes.f64s(), per_element, Self::number),
            Lane::Real if is_wide => self.numbers(lanes.f64s(), per_element, Self::number),
            Lane::Float32 | Lane::Real => self.numbers(lanes.f32s(), per_element, Self::single),
        }?;
        if is_marked {
            self.put("}");
        }
        self.put(end);
        Ok(())
    }

    fn element_type(&mut self, element: ElementType<'_>) -> Result<()> {
        let (kind, name) = match element {
            ElementType::Untyped => return self.json(()),
            ElementType::Builtin(ty) => (r#"{"builtin":"#, Text::Utf8(ty.name())),
            ElementType::Class(name) => (r#"{"class":"#, name),
            ElementType::Script(path) => (r#"{"script":"#, path),
        };
        self.put(kind);
        self.string(name)?;
        self.put("}");
        Ok(())
    }

    fn comma(&mut self, list: &mut List) {
        if !std::mem::replace(&mut list.is_empty, false) {
            self.put(",");
        }
    }

    fn end(&mut self, list: &List) -> Result<()> {
        self.put(list.end);
        Ok(())
    }
}

impl Sink for Writer<'_> {
    type Array = List;
    type Dictionary = Map;
    type Object = List;
    type Strings = List;

    fn nil(&mut self) -> Result<()> {
        self.begin()?;
        self.json(())
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.begin()?;
        self.json(value)
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.begin()?;
        self.json(value)
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.begin()?;
        self.number(value)
    }

    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        let is_name = ty == VariantType::StringName;
        if self.begin_text(Some(text), is_name)? {
            return Ok(());
        }
        if !is_name {
            return self.string(text);
        }
        let end = self.tag(ty);
        self.string(text)?;
        self.put(end);
        Ok(())
    }

    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.lanes(ty, lanes)
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        self.lanes(ty, lanes)
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        let texts = |texts: &[Text<'_>]| texts.iter().map(|text| text.to_lossy()).collect::<Vec<_>>();
        let (names, subnames) = (texts(path.names), texts(path.subnames));
        let path = NodePath { absolute: path.absolute, names, subnames };
        match self.notation {
            Notation::Plain => self.tagged(VariantType::NodePath, path.to_string()),
            Notation::Lossless => {
                self.begin()?;
                self.json(Value::NodePath(path))
            }
        }
    }

    fn rid(&mut self, id: u64) -> Result<()> {
        self.tagged(VariantType::Rid, id.cast_signed())
    }

    fn callable(&mut self) -> Result<()> {
        self.tagged(VariantType::Callable, ())
    }

    fn signal(&mut self, name: Text<'_>, object: u64) -> Result<()> {
        match self.notation {
            Notation::Plain => self.tagged(VariantType::Signal, name.to_lossy()),
            Notation::Lossless => {
                self.begin()?;
                self.json(Value::Signal { name: name.to_lossy(), object })
            }
        }
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        self.tagged(VariantType::Object, (id > 0).then_some(id.cast_signed()))
    }

    fn begin_array(&mut self, _len: usize, element: ElementType<'_>) -> Result<List> {
        self.begin()?;
        if element == ElementType::Untyped || self.notation == Notation::Plain {
            self.put("[");
            return Ok(List { is_empty: true, end: "]" });
        }
        self.put(r#"{"Array":{"element":"#);
        self.element_type(element)?;
        self.put(r#","values":["#);
        Ok(List { is_empty: true, end: "]}}" })
    }

    fn begin_element(&mut self, array: &mut List) -> Result<()> {
        self.comma(array);
        Ok(())
    }

    fn end_array(&mut self, array: List) -> Result<()> {
        self.end(&array)
    }

    fn begin_dictionary(&mut self, len: usize, key: ElementType<'_>, value: ElementType<'_>) -> Result<Map> {
        self.begin()?;
        let number = self.dictionaries;
        self.dictionaries += 1;
        let is_typed = [key, value].iter().any(|ty| *ty != ElementType::Untyped);
        let form = match self.notation {
            Notation::Lossless if is_typed => {
                self.put(r#"{"Dictionary":{"key":"#);
                self.element_type(key)?;
                self.put(r#","value":"#);
                self.element_type(value)?;
                self.put(r#","entries":["#);
                Form::Entries
            }
            Notation::Lossless if len > 0 => Form::Open,
            Notation::Lossless | Notation::Plain => {
                self.put("{");
                Form::Object
            }
        };
        Ok(Map { number, len, written: 0, form, key_start: 0 })
    }

    fn begin_key(&mut self, map: &mut Map) -> Result<()> {
        if map.written > 0 {
            self.put(",");
        }
        map.written += 1;
        match (map.form, self.notation) {
            (Form::Open, _) => self.key = Key::First { number: map.number, is_alone: map.len == 1 },
            (Form::Object, Notation::Lossless) => self.key = Key::OfObject(map.number),
            (Form::Object, Notation::Plain) => {}
            (Form::Entries, _) => self.put("["),
        }
        map.key_start = self.out.len();
        self.keys += 1;
        Ok(())
    }

    fn begin_value(&mut self, map: &mut Map) -> Result<()> {
        self.keys -= 1;
        let key = self.out.get(map.key_start..).unwrap_or_default();
        if map.form == Form::Open {
            map.form = if key.starts_with(b"{\"Dictionary\":") { Form::Entries } else { Form::Object };
        } else if map.form == Form::Object && self.notation == Notation::Plain && !key.starts_with(b"\"") {
            // JSON keys are strings. Escape only the outermost nested key, because each level of escapes may
            // double the size.
            let is_plain = !key.iter().any(|byte| matches!(byte, b'"' | b'\\'));
            if is_plain {
                self.out.insert(map.key_start, b'"');
                self.put("\"");
            } else if self.keys == 0 {
                let key = String::from_utf8_lossy(key).into_owned();
                self.out.truncate(map.key_start);
                self.json(key)?;
            }
        }
        self.put(if map.form == Form::Object { ":" } else { "," });
        Ok(())
    }

    fn end_entry(&mut self, map: &mut Map) -> Result<()> {
        if map.form == Form::Entries {
            self.put("]");
        }
        Ok(())
    }

    fn end_dictionary(&mut self, map: Map) -> Result<()> {
        self.put(if map.form == Form::Entries { "]}}" } else { "}" });
        Ok(())
    }

    fn begin_object(&mut self, class: Text<'_>, properties: usize) -> Result<List> {
        self.begin()?;
        let (start, before_properties, end) = match self.notation {
            Notation::Lossless => (r#"{"Object":{"class":"#, r#","properties":["#, "]}}"),
            Notation::Plain if properties > 0 => (r#"{"@class":"#, ",", "}"),
            Notation::Plain => (r#"{"@class":"#, "", "}"),
        };
        self.put(start);
        self.string(class)?;
        self.put(before_properties);
        Ok(List { is_empty: true, end })
    }

    fn begin_property(&mut self, object: &mut List, name: Text<'_>) -> Result<()> {
        self.comma(object);
        let after = match self.notation {
            Notation::Lossless => {
                self.put("[");
                ","
            }
            Notation::Plain => ":",
        };
        self.string(name)?;
        self.put(after);
        Ok(())
    }

    fn end_property(&mut self, _object: &mut List) -> Result<()> {
        if self.notation == Notation::Lossless {
            self.put("]");
        }
        Ok(())
    }

    fn end_object(&mut self, object: List) -> Result<()> {
        self.end(&object)
    }

    fn begin_strings(&mut self, _len: usize) -> Result<List> {
        self.begin()?;
        let end = self.tag(VariantType::PackedStringArray);
        self.put("[");
        Ok(List { is_empty: true, end: if end.is_empty() { "]" } else { "]}" } })
    }

    fn string(&mut self, strings: &mut List, text: Text<'_>) -> Result<()> {
        self.comma(strings);
        Self::string(self, text)
    }

    fn end_strings(&mut self, strings: List) -> Result<()> {
        self.end(&strings)
    }
}

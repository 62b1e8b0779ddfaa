//! Writes a [`Value`] as events.

use super::types::{Object, Value};
use crate::error::{ErrorKind, Result, Step};
use crate::events::{NodePathParts, Sink, Source, Text};
use crate::format::{self, Shape};

impl Value {
    fn write_at<S: Sink>(&self, sink: &mut S, depth: u32) -> Result<()> {
        if depth > format::MAX_DEPTH {
            return Err(ErrorKind::TooDeep.into());
        }
        let ty = self.ty();
        match self {
            Self::Nil => sink.nil(),
            Self::Bool(value) => sink.bool(*value),
            Self::Int(value) => sink.int(*value),
            Self::Float(value) => sink.float(*value),
            Self::String(text) | Self::StringName(text) => sink.text(ty, text.as_str().into()),
            Self::NodePath(path) => {
                let (names, subnames) = (texts(&path.names), texts(&path.subnames));
                sink.node_path(NodePathParts { absolute: path.absolute, names: &names, subnames: &subnames })
            }
            Self::Rid(id) => sink.rid(*id),
            Self::Object(Object::Null) => sink.nil(),
            Self::Object(Object::Id(id)) => sink.object_id(*id),
            Self::Object(Object::Full { class, properties }) => {
                let mut object = sink.begin_object(class.as_str().into(), properties.len())?;
                for (name, value) in properties {
                    sink.begin_property(&mut object, name.as_str().into())?;
                    value.write_at(sink, depth + 1).map_err(|error| error.inside(Step::property(name)))?;
                    sink.end_property(&mut object)?;
                }
                sink.end_object(object)
            }
            Self::Callable => sink.callable(),
            Self::Signal { name, object } => sink.signal(name.as_str().into(), *object),
            Self::Dictionary(dictionary) => {
                let entries = &dictionary.entries;
                let (key, value) = (dictionary.key.borrowed(), dictionary.value.borrowed());
                let mut open = sink.begin_dictionary(entries.len(), key, value)?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    sink.begin_key(&mut open)?;
                    key.write_at(sink, depth + 1).map_err(|error| error.inside(Step::KeyAt(index)))?;
                    sink.begin_value(&mut open)?;
                    value.write_at(sink, depth + 1).map_err(|error| error.inside(key.as_step(index)))?;
                    sink.end_entry(&mut open)?;
                }
                sink.end_dictionary(open)
            }
            Self::Array(array) => {
                let mut open = sink.begin_array(array.values.len(), array.element.borrowed())?;
                let mut left = array.values.as_slice();
                while let Some((value, rest)) = left.split_first() {
                    let index = array.values.len() - left.len();
                    if depth < format::MAX_DEPTH && is_run(left) {
                        write_run(&mut left, sink, &mut open).map_err(|error| {
                            // The sink refused the element that was taken last.
                            error.inside(Step::Index((array.values.len() - left.len()).saturating_sub(1)))
                        })?;
                        continue;
                    }
                    sink.begin_element(&mut open)?;
                    value.write_at(sink, depth + 1).map_err(|error| error.inside(Step::Index(index)))?;
                    sink.end_element(&mut open)?;
                    left = rest;
                }
                sink.end_array(open)
            }
            Self::PackedStringArray(texts) => {
                let mut strings = sink.begin_strings(texts.len())?;
                for (index, text) in texts.iter().enumerate() {
                    let put = sink.string(&mut strings, text.as_str().into());
                    put.map_err(|error| error.inside(Step::Index(index)))?;
                }
                sink.end_strings(strings)
            }
            _ => {
                let Some(components) = self.components() else { unreachable!("{ty} has no components") };
                components.encoded(ty, |lanes| match ty.shape() {
                    Shape::Fixed(..) => sink.fixed(ty, lanes),
                    _ => sink.packed(ty, lanes),
                })
            }
        }
    }

    pub(crate) fn as_step(&self, index: usize) -> Step {
        match self {
            Self::String(text) | Self::StringName(text) => Step::text_key(text),
            Self::Int(int) => Step::int_key(*int),
            _ => Step::KeyAt(index),
        }
    }
}

impl Source for &Value {
    fn write_into<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        self.write_at(sink, 0)
    }
}

/// Whether the next two values are numbers of one type, so that a run pays off.
#[inline(always)]
fn is_run(values: &[Value]) -> bool {
    matches!(values, [Value::Int(_), Value::Int(_), ..] | [Value::Float(_), Value::Float(_), ..])
}

/// Writes the leading values that have the first one's type, and removes them from `values`.
#[inline(never)]
fn write_run<S: Sink>(values: &mut &[Value], sink: &mut S, array: &mut S::Array) -> Result<()> {
    match values {
        [Value::Float(_), ..] => {
            let mut floats = std::iter::from_fn(|| {
                let (&Value::Float(float), rest) = values.split_first()? else { return None };
                *values = rest;
                Some(float)
            });
            sink.floats(array, &mut floats)
        }
        _ => {
            let mut ints = std::iter::from_fn(|| {
                let (&Value::Int(int), rest) = values.split_first()? else { return None };
                *values = rest;
                Some(int)
            });
            sink.ints(array, &mut ints)
        }
    }
}

fn texts(parts: &[String]) -> Vec<Text<'_>> {
    parts.iter().map(|part| part.as_str().into()).collect()
}

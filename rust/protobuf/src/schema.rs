//! Tables of messages, fields and enums for encoders and decoders.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use variant_codec::VariantType;

use crate::components::Components;
use crate::error::{Error, Result};
use crate::kind::{Class, Kind};
use crate::wire::{Tag, Wire};

/// The key under which unknown fields are kept. No field can have this name.
pub const UNKNOWN_KEY: &str = "@unknown";

/// The messages and enums of a schema. Cheap to clone and to share.
///
/// ```
/// use variant_protobuf::{Schema, DecodeOptions, EncodeOptions};
/// use variant_codec::Value;
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let value = Value::from(vec![("name".into(), "Ada".into()), ("hp".into(), 7.into())]);
/// let bytes = player.encode(&value, &EncodeOptions::default())?;
/// assert_eq!(bytes, b"\x0a\x03Ada\x10\x07");
/// assert_eq!(player.decode(&bytes, &DecodeOptions::default())?, value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Schema(pub(crate) Arc<Tables>);

/// One message of a [`Schema`]. Cheap to clone and to share.
///
/// ```
/// use variant_protobuf::Schema;
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// assert_eq!(player.name(), "Player");
/// assert_eq!(player.fields().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Message {
    pub(crate) schema: Schema,
    pub(crate) index: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub messages: Vec<MessageTable>,
    pub enums: Vec<EnumTable>,
    /// Indexes of messages by full name, without a leading dot.
    pub by_name: HashMap<Box<str>, u32>,
    /// Indexes of messages by short name, without package and outer messages.
    pub by_short_name: HashMap<Box<str>, Vec<u32>>,
}

impl Tables {
    /// The initial predictions of the next field, as ranks. Each message has one entry for its start and one for
    /// each field. The encoder replaces an entry if a field other than the predicted one follows.
    pub fn followers(&self) -> Vec<u16> {
        self.messages.iter().flat_map(|message| 0..=message.fields.len() as u16).collect()
    }

    pub fn push(&mut self, message: MessageTable) {
        let first_follower =
            self.messages.last().map_or(0, |last| last.first_follower + last.fields.len() + 1);
        self.messages.push(MessageTable { first_follower, ..message });
    }
}

impl Schema {
    /// The message with this name: a full name such as `game.net.Player`, or a short one if it is unique.
    ///
    /// # Errors
    /// [`Error::NoMessage`], [`Error::Ambiguous`].
    pub fn message(&self, name: &str) -> Result<Message> {
        let message = |index| Message { schema: self.clone(), index };
        if let Some(&index) = self.0.by_name.get(name) {
            return Ok(message(index));
        }
        match self.0.by_short_name.get(name).map_or(&[][..], Vec::as_slice) {
            [] => Err(Error::NoMessage(name.to_owned())),
            &[index] => Ok(message(index)),
            several => {
                let full_name = |&index: &u32| self.0.messages[index as usize].name.to_string();
                let full_names = several.iter().map(full_name).collect();
                Err(Error::Ambiguous { name: name.to_owned(), full_names })
            }
        }
    }

    /// Makes a value of type `ty` stand for the message with this name: a Vector2, Vector3 or Vector4, with or without
    /// `i`, a Quaternion or a Color. The message must have exactly the fields of its components, such as `x` and `y`.
    /// Encoding still accepts a Dictionary.
    ///
    /// ```
    /// use variant_codec::value::Reals;
    /// use variant_codec::{Value, VariantType};
    /// use variant_protobuf::{DecodeOptions, EncodeOptions, Schema};
    ///
    /// let file = "syntax = \"proto3\"; message V2 { float x = 1; float y = 2; } message Unit { V2 at = 1; }";
    /// let mut schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
    /// schema.map_message("V2", VariantType::Vector2)?;
    /// let (unit, at) = (schema.message("Unit")?, Value::Vector2(Reals::Single([1.0, 2.0])));
    /// let bytes = unit.encode(&Value::from_iter([("at", at.clone())]), &EncodeOptions::default())?;
    /// assert_eq!(unit.decode(&bytes, &DecodeOptions::default())?["at"], at);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Schema::message`]; also [`Error::Unmappable`].
    pub fn map_message(&mut self, name: &str, ty: VariantType) -> Result<()> {
        let index = self.message(name)?.index as usize;
        let message = &self.0.messages[index];
        let fields = message.fields.iter().map(|field| {
            let is_single = matches!(field.label, Label::Implicit | Label::Explicit | Label::Required);
            (&*field.name, (is_single && field.oneof.is_none()).then_some(field.kind))
        });
        let components = Components::of(&message.name, &fields.collect::<Vec<_>>(), ty)?;
        Arc::make_mut(&mut self.0).messages[index].components = Some(components);
        Ok(())
    }

    /// All messages except map entries, in the order of the files.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        let is_message = |&index: &usize| !self.0.messages[index].is_map_entry;
        (0..self.0.messages.len())
            .filter(is_message)
            .map(|index| Message { schema: self.clone(), index: index as u32 })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.messages.iter().map(|message| &message.name)).finish()
    }
}

impl Message {
    /// The full name, with the package.
    pub fn name(&self) -> &str {
        &self.table().name
    }

    /// The fields, sorted by number.
    pub fn fields(&self) -> &[Field] {
        &self.table().fields
    }

    pub(crate) fn table(&self) -> &MessageTable {
        &self.schema.0.messages[self.index as usize]
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Message").field(&self.name()).finish()
    }
}

/// The cardinality and presence of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// One value without presence: the default is not written.
    Implicit,
    /// One value with presence.
    Explicit,
    /// One value.
    Required,
    /// A list.
    Repeated,
    /// A list whose elements share one record.
    Packed,
    /// Entries, which are messages with a key and a value.
    Map,
}

/// The value of an absent field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    /// Nothing: messages, lists and maps.
    None,
    /// A number, a bool or an enum.
    Int(i64),
    Float(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

/// A field of a message.
///
/// ```
/// use variant_protobuf::Schema;
///
/// let file = "syntax = \"proto3\"; message Player { string name = 1; int32 hp = 2; }";
/// let schema = Schema::compile("game.proto", |name| (name == "game.proto").then(|| file.to_owned()))?;
/// let player = schema.message("Player")?;
/// let hp = &player.fields()[1];
/// assert_eq!((hp.name(), hp.number(), hp.type_name()), ("hp", 2, "int32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    pub(crate) name: Box<str>,
    /// The name as code units, like keys in the engine.
    pub(crate) units: Box<[u32]>,
    pub(crate) number: u32,
    pub(crate) kind: Kind,
    pub(crate) label: Label,
    pub(crate) tag: Tag,
    /// The classes of records that are read as this field, in each wire format.
    pub(crate) classes: [u16; 2],
    /// The index of its oneof in the message, unless the oneof is the synthetic one of an `optional` field.
    pub(crate) oneof: Option<u16>,
    pub(crate) default: Default,
    /// The type as in the schema.
    pub(crate) type_name: Box<str>,
}

impl Field {
    pub(crate) fn new(name: &str, number: u32, kind: Kind, label: Label) -> Self {
        let repeated = matches!(label, Label::Repeated | Label::Packed) && kind.can_be_packed();
        let classes = kind.classes() | if repeated { Class::Bytes.bit() } else { 0 };
        Self {
            name: name.into(),
            units: name.chars().map(u32::from).collect(),
            number,
            kind,
            label,
            tag: Tag::new(number),
            classes: [classes; 2],
            oneof: None,
            default: Default::None,
            type_name: kind.keyword().into(),
        }
    }

    /// This field as a group: a message between two tags. This crate's wire format has no groups.
    pub(crate) fn delimited(self) -> Self {
        Self { classes: [Class::StartGroup.bit(), self.classes[1]], ..self }
    }

    /// Whether records of this class are read as this field.
    #[inline(always)]
    pub(crate) fn accepts(&self, class: Class, wire: Wire) -> bool {
        self.classes[wire as usize] & class.bit() != 0
    }

    /// The name. For a field declared with `group`, the name of the group in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The field number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The type as in the schema, such as `int32`, `game.Item` or `map<string, game.Item>`. For a list, the type of
    /// its elements.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Whether the field is a list. A map is not a list.
    pub fn is_repeated(&self) -> bool {
        matches!(self.label, Label::Repeated | Label::Packed)
    }

    /// Whether the field is a map.
    pub fn is_map(&self) -> bool {
        self.label == Label::Map
    }

    /// Whether the field has presence: absence differs from the default.
    pub fn has_presence(&self) -> bool {
        matches!(self.label, Label::Explicit | Label::Required)
    }

    /// Whether the field is required.
    pub fn is_required(&self) -> bool {
        self.label == Label::Required
    }
}

/// The rank that means no field.
pub(crate) const NONE: u16 = u16::MAX;

#[derive(Clone, Debug)]
pub(crate) struct MessageTable {
    pub name: Box<str>,
    /// The fields, sorted by number. A field's rank is its index here.
    pub fields: Vec<Field>,
    pub is_map_entry: bool,
    /// Present if a value with components stands for the message.
    pub components: Option<Components>,
    pub oneofs: Vec<Box<str>>,
    pub required: usize,
    /// The start of this message in [`Tables::followers`].
    pub first_follower: usize,
    /// The ranks of fields with small numbers, by number.
    dense: Box<[u16]>,
    /// A hash table of ranks by field name. Its length is a power of two, and it is never full.
    names: Box<[u16]>,
    /// Ranks of the fields that `Defaults::Implicit` and `Defaults::All` decode even if absent.
    pub always: [Box<[u16]>; 2],
}

impl MessageTable {
    /// The highest field number that is looked up directly.
    const DENSE: u32 = 1 << 10;
    /// The maximum number of fields of a message.
    pub const MAX_FIELDS: usize = 65535;

    pub fn new(name: &str, mut fields: Vec<Field>, oneofs: Vec<Box<str>>, is_map_entry: bool) -> Self {
        debug_assert!(fields.len() <= Self::MAX_FIELDS);
        fields.sort_by_key(|field| field.number);
        let last = fields.iter().map(|field| field.number).filter(|number| *number <= Self::DENSE).max();
        let mut dense = vec![NONE; last.map_or(0, |last| last as usize + 1)];
        let mut names = vec![NONE; (fields.len() * 2 + 1).next_power_of_two()];
        for (rank, field) in fields.iter().enumerate() {
            if let Some(slot) = dense.get_mut(field.number as usize) {
                *slot = rank as u16;
            }
            let mut slot = hash(field.units.iter().copied()) as usize % names.len();
            while names[slot] != NONE {
                slot = (slot + 1) % names.len();
            }
            names[slot] = rank as u16;
        }
        let ranks = |wanted: fn(&Field) -> bool| {
            (0..fields.len()).filter(|rank| wanted(&fields[*rank])).map(|rank| rank as u16).collect()
        };
        let always = [
            ranks(|field| !field.has_presence()),
            ranks(|field| {
                let has_default = field.oneof.is_none() && !matches!(field.kind, Kind::Message(_));
                !field.has_presence() || has_default
            }),
        ];
        Self {
            name: name.into(),
            required: fields.iter().filter(|field| field.is_required()).count(),
            fields,
            is_map_entry,
            components: None,
            oneofs,
            first_follower: 0,
            dense: dense.into(),
            names: names.into(),
            always,
        }
    }

    /// The rank of the field with this number, or [`NONE`].
    #[inline(always)]
    pub fn rank_of(&self, number: u32) -> u16 {
        match self.dense.get(number as usize) {
            Some(rank) => *rank,
            None => self.sparse_rank_of(number),
        }
    }

    #[inline(never)]
    fn sparse_rank_of(&self, number: u32) -> u16 {
        self.fields.binary_search_by_key(&number, |field| field.number).map_or(NONE, |rank| rank as u16)
    }

    /// The rank of the field whose name has these code units, or [`NONE`].
    pub fn rank_of_name(&self, units: impl Iterator<Item = u32> + Clone) -> u16 {
        let mut slot = hash(units.clone()) as usize % self.names.len();
        loop {
            let rank = self.names[slot];
            if rank == NONE || units.clone().eq(self.fields[usize::from(rank)].units.iter().copied()) {
                return rank;
            }
            slot = (slot + 1) % self.names.len();
        }
    }

    /// The key and value fields. The message must be a map entry.
    pub fn entry(&self) -> (&Field, &Field) {
        (&self.fields[0], &self.fields[1])
    }
}

/// The FNV-1a hash of code units.
fn hash(units: impl Iterator<Item = u32>) -> u32 {
    units.fold(0x811C_9DC5, |hash, unit| (hash ^ unit).wrapping_mul(0x0100_0193))
}

#[derive(Clone, Debug)]
pub(crate) struct EnumTable {
    pub name: Box<str>,
    /// Whether the enum accepts only listed numbers, as in proto2.
    pub is_closed: bool,
    /// The first name of each number, sorted by number.
    names: Vec<(i32, Box<str>)>,
    numbers: HashMap<Box<str>, i32>,
}

impl EnumTable {
    /// `values` must be in the order of the schema, because the first name of a number counts.
    pub fn new(name: &str, is_closed: bool, values: Vec<(Box<str>, i32)>) -> Self {
        let mut names: Vec<_> = values.iter().map(|(name, number)| (*number, name.clone())).collect();
        names.sort_by_key(|(number, _)| *number);
        names.dedup_by_key(|(number, _)| *number);
        Self { name: name.into(), is_closed, names, numbers: values.into_iter().collect() }
    }

    pub fn name_of(&self, number: i32) -> Option<&str> {
        let index = self.names.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.names[index].1)
    }

    pub fn number_of(&self, name: &str) -> Option<i32> {
        self.numbers.get(name).copied()
    }

    pub fn accepts(&self, number: i32) -> bool {
        !self.is_closed || self.name_of(number).is_some()
    }
}

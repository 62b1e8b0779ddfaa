//! [`Columns`]: the columns of a table while rows are read, as a sink of the codec's events.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_buffer::{BooleanBufferBuilder, MutableBuffer, NullBufferBuilder};
use variant_codec::stream::{ElementType, Header, Lanes, NodePathParts, Precision, Sink, Text};
use variant_codec::{Error, Limits, NodePath, Result, Value, VariantType, lanes, tag};

use super::column_type::{ColumnType, EXACT, LEVELS, StructType};

/// The index of a column. The first is that of the rows.
pub type Id = u32;
pub const ROWS: Id = 0;
/// No column: the value is ignored.
const NOWHERE: Id = Id::MAX;

/// A column. Those inside Dictionaries may be shorter than their parent, if the last rows do not have the key.
pub struct Column {
    pub len: usize,
    pub nulls: NullBufferBuilder,
    pub data: Data,
    /// The map whose keys it has. They are never null.
    key_of: Option<Id>,
    /// Whether the type was given, and did not follow from the values.
    is_given: bool,
}

/// The values of a column. A `Vec<i32>` has a zero and then the end of each value. Builders have the nulls, too.
pub enum Data {
    Unknown,
    Bool(BooleanBufferBuilder),
    Int { values: Vec<i64>, is_wide: bool },
    Float(Vec<f64>),
    Text(VariantType, StringBuilder),
    Bytes(BinaryBuilder),
    Id(VariantType, Vec<u64>),
    Vector(VariantType, Precision, MutableBuffer),
    Packed(VariantType, Precision, Vec<i32>, MutableBuffer),
    List(Vec<i32>, Id),
    Struct(Struct),
    Map(Vec<i32>, [Id; 2]),
    Json(StringBuilder),
}

fn push_text(texts: &mut StringBuilder, text: &str) -> Result<()> {
    end(texts.values_slice().len() + text.len())?;
    texts.append_value(text);
    Ok(())
}

fn end(count: usize) -> Result<i32> {
    i32::try_from(count)
        .map_err(|_| Error::argument("2^31 bytes or elements in a column of one batch of rows"))
}

/// The fields of Dictionaries.
pub struct Struct {
    pub fields: Vec<(Arc<str>, Id)>,
    places: HashMap<Arc<str>, usize>,
    /// The place of the field that probably comes next: the rows usually have the same keys in the same order.
    next: usize,
    is_closed: bool,
}

impl Struct {
    fn new(is_closed: bool) -> Self {
        Self { fields: Vec::new(), places: HashMap::new(), next: 0, is_closed }
    }

    /// The next field, if it has this name.
    #[inline]
    fn expected(&mut self, name: &[u8]) -> Option<Id> {
        let (expected, field) = self.fields.get(self.next)?;
        if expected.as_bytes() != name {
            return None;
        }
        self.next += 1;
        Some(*field)
    }

    fn find(&mut self, name: &str) -> Option<Id> {
        self.expected(name.as_bytes()).or_else(|| {
            let place = *self.places.get(name)?;
            self.next = place + 1;
            Some(self.fields[place].1)
        })
    }

    fn add(&mut self, name: Arc<str>, column: Id) {
        self.next = self.fields.len() + 1;
        self.places.insert(name.clone(), self.fields.len());
        self.fields.push((name, column));
    }
}

/// The bytes that nulls for missing keys may still take. A small file can have many rows and many keys.
pub struct Padding(AtomicI64);

impl Padding {
    pub fn new() -> Self {
        Self(AtomicI64::new(1 << 28))
    }

    /// Allows more, for an input of this size.
    pub fn add(&self, input: usize) {
        self.0.fetch_add(32 * input as i64, Ordering::Relaxed);
    }

    pub fn take(&self, bytes: u64) -> Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        match self.0.fetch_sub(bytes, Ordering::Relaxed) >= bytes {
            true => Ok(()),
            false => Err(Error::argument(
                "the table would take 32 times the memory of its input, because rows have few keys in common or refer to \
                 the same objects: pass the `columns` that you need, or a `schema` with dict[str, …] for Dictionaries of \
                 many keys",
            )),
        }
    }
}

/// The columns of some rows.
pub struct Columns<'a> {
    columns: Vec<Column>,
    /// The column of the next value.
    target: Id,
    /// The column of the open Dictionary, if the next value is a key in it.
    key_of: Option<Id>,
    level: u32,
    padding: &'a Padding,
    /// The bytes of nulls that have not been taken from `padding`.
    padded: u64,
    /// Whether values of types that do not unify become JSON.
    mixes: bool,
    /// Whether the last error was about the columns, not the bytes.
    pub is_misfit: bool,
    /// Whether a row may have had the same key twice.
    pub may_repeat_keys: bool,
    /// The offset of the last value that began.
    offset: usize,
    /// Whether columns are JSON.
    has_json: bool,
    /// The number of open values inside a value that becomes JSON.
    inside_json: u32,
    /// The column and the offset of the open value that becomes JSON.
    json: (Id, usize),
    /// Why a value could not become JSON.
    unrendered: Option<Error>,
    limits: &'a Limits,
    /// The bytes of the row.
    bytes: &'a [u8],
}

impl Column {
    #[inline]
    fn push_valid(&mut self) {
        self.len += 1;
        self.nulls.append_non_null();
    }

    pub fn push_nulls(&mut self, count: usize) {
        self.len += count;
        self.nulls.append_n_nulls(count);
        self.data.push_nothing(count);
    }

    /// The bytes of a null.
    fn width(&self) -> usize {
        match &self.data {
            Data::Vector(ty, precision, _) => ty.lanes_bytes(*precision),
            _ => 8,
        }
    }
}

impl Data {
    /// Appends what stands for nulls.
    fn push_nothing(&mut self, count: usize) {
        fn repeat(ends: &mut Vec<i32>, count: usize) {
            let last = ends.last().copied().unwrap_or_default();
            ends.resize(ends.len() + count, last);
        }
        match self {
            Self::Unknown | Self::Struct(_) => {}
            Self::Bool(bits) => bits.append_n(count, false),
            Self::Int { values, .. } => values.resize(values.len() + count, 0),
            Self::Float(values) => values.resize(values.len() + count, 0.0),
            Self::Id(_, values) => values.resize(values.len() + count, 0),
            Self::Vector(ty, precision, le) => le.extend_zeros(count * ty.lanes_bytes(*precision)),
            Self::Text(_, texts) | Self::Json(texts) => texts.append_nulls(count),
            Self::Bytes(bytes) => bytes.append_nulls(count),
            Self::Packed(_, _, ends, _) | Self::List(ends, _) | Self::Map(ends, _) => repeat(ends, count),
        }
    }
}

impl<'a> Columns<'a> {
    /// No rows yet, of this type.
    pub fn new(
        ty: &ColumnType,
        is_given: bool,
        mixes: bool,
        limits: &'a Limits,
        padding: &'a Padding,
    ) -> Self {
        let mut columns = Self {
            columns: Vec::new(),
            target: ROWS,
            key_of: None,
            level: 0,
            padding,
            padded: 0,
            mixes,
            is_misfit: false,
            may_repeat_keys: false,
            offset: 0,
            has_json: false,
            inside_json: 0,
            json: (ROWS, 0),
            unrendered: None,
            limits,
            bytes: &[],
        };
        columns.add(ty, None);
        columns
            .columns
            .iter_mut()
            .for_each(|column| column.is_given = is_given && !matches!(column.data, Data::Unknown));
        columns
    }

    fn add(&mut self, ty: &ColumnType, key_of: Option<Id>) -> Id {
        let id = self.columns.len() as Id;
        self.columns.push(Column {
            len: 0,
            nulls: NullBufferBuilder::new(0),
            data: Data::Unknown,
            key_of,
            is_given: false,
        });
        self.at(id).data = self.data_of(ty, id);
        id
    }

    /// No values of a type, for this column. Adds the columns inside it.
    fn data_of(&mut self, ty: &ColumnType, id: Id) -> Data {
        match ty {
            ColumnType::Unknown => Data::Unknown,
            ColumnType::Bool => Data::Bool(BooleanBufferBuilder::new(0)),
            ColumnType::Int { is_wide } => Data::Int { values: Vec::new(), is_wide: *is_wide },
            ColumnType::Float => Data::Float(Vec::new()),
            ColumnType::Text(ty) => Data::Text(*ty, StringBuilder::new()),
            ColumnType::Bytes => Data::Bytes(BinaryBuilder::new()),
            ColumnType::Json => {
                self.has_json = true;
                Data::Json(StringBuilder::new())
            }
            ColumnType::Id(ty) => Data::Id(*ty, Vec::new()),
            ColumnType::Vector(ty, precision) => Data::Vector(*ty, *precision, MutableBuffer::new(0)),
            ColumnType::Packed(ty, precision) => {
                Data::Packed(*ty, *precision, vec![0], MutableBuffer::new(0))
            }
            ColumnType::List(element) => Data::List(vec![0], self.add(element, None)),
            ColumnType::Map(entry) => {
                Data::Map(vec![0], [self.add(&entry[0], Some(id)), self.add(&entry[1], None)])
            }
            ColumnType::Struct(StructType { fields, is_closed }) => {
                let mut of = Struct::new(*is_closed);
                for (name, ty) in fields {
                    let column = self.add(ty, None);
                    of.add(name.clone(), column);
                }
                Data::Struct(of)
            }
        }
    }

    #[inline]
    fn at(&mut self, id: Id) -> &mut Column {
        &mut self.columns[id as usize]
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.columns[ROWS as usize].len
    }

    /// The columns themselves.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The type of a column.
    pub fn ty(&self, id: Id) -> ColumnType {
        match &self.columns[id as usize].data {
            Data::Unknown => ColumnType::Unknown,
            Data::Bool(_) => ColumnType::Bool,
            Data::Int { is_wide, .. } => ColumnType::Int { is_wide: *is_wide },
            Data::Float(_) => ColumnType::Float,
            Data::Text(ty, _) => ColumnType::Text(*ty),
            Data::Bytes(_) => ColumnType::Bytes,
            Data::Json(_) => ColumnType::Json,
            Data::Id(ty, _) => ColumnType::Id(*ty),
            Data::Vector(ty, precision, _) => ColumnType::Vector(*ty, *precision),
            Data::Packed(ty, precision, ..) => ColumnType::Packed(*ty, *precision),
            Data::List(_, element) => ColumnType::List(Box::new(self.ty(*element))),
            Data::Map(_, [key, value]) => ColumnType::Map(Box::new([self.ty(*key), self.ty(*value)])),
            Data::Struct(of) => ColumnType::Struct(StructType {
                fields: of.fields.iter().map(|(name, id)| (name.clone(), self.ty(*id))).collect(),
                is_closed: of.is_closed,
            }),
        }
    }

    /// The next value belongs to the field at this place in the row.
    pub fn select(&mut self, place: usize) -> Result<()> {
        if let Data::Struct(of) = &self.columns[ROWS as usize].data {
            let field = of.fields[place].1;
            self.aim(ROWS, field)?;
        }
        Ok(())
    }

    /// Renders the bytes of a value that becomes JSON.
    fn render(&mut self, id: Id, range: Range<usize>) -> Result<()> {
        let value = Value::decode(&self.bytes[range], self.limits)?;
        let column = self.at(id);
        match &mut column.data {
            _ if matches!(value, Value::Nil) && column.key_of.is_none() => column.push_nulls(1),
            Data::Json(texts) => {
                push_text(texts, &serde_json::to_string(&value).map_err(Error::other)?)?;
                column.push_valid();
            }
            _ => {}
        }
        Ok(())
    }

    /// Begins a row, which is read from `bytes`.
    pub fn begin_row(&mut self, bytes: &'a [u8]) {
        (self.target, self.level, self.bytes) = (ROWS, 0, bytes);
    }

    /// Opens the row, a Dictionary whose values [`Columns::select`] announces.
    pub fn open_row(&mut self) -> Result<()> {
        self.open(false).map(drop)
    }

    /// Ends a row.
    pub fn end_row(&mut self) -> Result<()> {
        self.unrendered.take().map_or(Ok(()), Err)
    }

    /// The column of the value that comes now, unless it is ignored.
    #[inline]
    fn next(&mut self) -> Result<Option<Id>> {
        if self.key_of.is_some() {
            self.other_key()?;
        }
        Ok((self.target != NOWHERE && self.inside_json == 0).then_some(self.target))
    }

    /// The next value belongs to a field of the open Dictionary in `parent`.
    #[inline]
    fn aim(&mut self, parent: Id, field: Id) -> Result<()> {
        let row = self.at(parent).len - 1;
        self.target = field;
        let column = self.at(field);
        if column.len < row {
            let (missing, width) = (row - column.len, column.width());
            column.push_nulls(missing);
            self.pad(missing * width)?;
        } else if column.len > row {
            // The codec finds the key that repeats.
            self.may_repeat_keys = true;
            self.target = NOWHERE;
        }
        Ok(())
    }

    /// Counts bytes of nulls.
    fn pad(&mut self, bytes: usize) -> Result<()> {
        self.padded += bytes as u64;
        if self.padded > 1 << 20 { self.settle() } else { Ok(()) }
    }

    /// Takes the bytes of nulls from what is allowed.
    pub fn settle(&mut self) -> Result<()> {
        let taken = self.padding.take(std::mem::take(&mut self.padded));
        self.is_misfit |= taken.is_err();
        taken
    }

    /// A text as a key of the open Dictionary in `parent`.
    fn key(&mut self, parent: Id, name: Text<'_>) -> Result<()> {
        let lossy;
        let name = match name {
            Text::Utf8(name) => name,
            Text::Utf32(_) => {
                lossy = name.to_lossy();
                &lossy
            }
        };
        let Data::Struct(of) = &mut self.at(parent).data else { return Ok(()) };
        let field = match of.find(name) {
            Some(field) => field,
            None if of.is_closed => {
                self.target = NOWHERE;
                return Ok(());
            }
            None => {
                let field = self.add(&ColumnType::Unknown, None);
                if let Data::Struct(of) = &mut self.at(parent).data {
                    of.add(name.into(), field);
                }
                field
            }
        };
        self.aim(parent, field)
    }

    /// A key other than text of the open Dictionary.
    #[cold]
    fn other_key(&mut self) -> Result<()> {
        let Some(id) = self.key_of.take() else { return Ok(()) };
        self.target = NOWHERE;
        let map = ColumnType::Map(Box::new([ColumnType::Unknown, ColumnType::Unknown]));
        match &self.at(id).data {
            Data::Struct(of) if of.is_closed => Ok(()),
            Data::Struct(of) if of.fields.is_empty() => {
                let mut data = self.data_of(&map, id);
                let column = self.at(id);
                data.push_nothing(column.len - 1);
                column.data = data;
                self.begin_key(&mut { id })
            }
            _ => self.misfit(id, &map),
        }
    }

    /// Changes the type of a column so that it holds values of `ty`, too. Returns whether it does.
    #[cold]
    fn change(&mut self, id: Id, ty: &ColumnType) -> Result<bool> {
        let (is_given, is_key) = (self.at(id).is_given, self.at(id).key_of.is_some());
        match (&mut self.at(id).data, ty) {
            (Data::Unknown, ty) => {
                let mut data = self.data_of(ty, id);
                let column = self.at(id);
                data.push_nothing(column.len);
                column.data = data;
                let bytes = column.len * column.width();
                self.pad(bytes)?;
            }
            (Data::Int { values, is_wide: false }, ColumnType::Float) if !is_given => {
                let floats = values.iter().map(|int| *int as f64).collect();
                self.at(id).data = Data::Float(floats);
            }
            // A key that is text belongs to a struct, unless it is a NodePath.
            (Data::Text(held, _), ColumnType::Text(_)) if !is_key => *held = VariantType::String,
            (Data::Vector(held, precision, le), ColumnType::Vector(found, _))
            | (Data::Packed(held, precision, _, le), ColumnType::Packed(found, _))
                if held == found =>
            {
                let narrow = std::mem::replace(le, MutableBuffer::new(0));
                lanes::convert(&narrow, *precision, |lane| le.extend_from_slice(lane));
                *precision = Precision::Double;
            }
            (Data::Json(_), _) => return Ok(false),
            (_, ty) => return self.misfit(id, ty).map(|()| false),
        }
        Ok(true)
    }

    /// A value that a column cannot hold: an error, or the column becomes JSON, whose texts another pass reads.
    #[cold]
    fn misfit(&mut self, id: Id, found: &ColumnType) -> Result<()> {
        // The columns of the rows were chosen.
        let is_row = id == ROWS && matches!(&self.at(id).data, Data::Struct(of) if of.is_closed);
        if self.mixes && !is_row {
            // The keys of a map have one type.
            let id = self.at(id).key_of.unwrap_or(id);
            self.at(id).data = self.data_of(&ColumnType::Json, id);
            return Ok(());
        }
        self.is_misfit = true;
        let held = self.ty(id).name();
        let offset = self.offset;
        let reason = match (self.at(id).key_of, found) {
            (Some(_), ColumnType::Unknown) => "Nil as a key of a map, which Arrow does not allow".to_owned(),
            _ if is_row => format!("columns of a row need a Dictionary, found {}", found.name()),
            _ => format!(
                "the column holds {held}, found {}; pass mixed=\"json\" to have such columns as JSON",
                found.name()
            ),
        };
        Err(Error::argument(reason).at(offset))
    }

    /// Adds the value that comes now to its column with `put`, which returns whether the column holds values of `ty`.
    #[inline(always)]
    fn add_value(
        &mut self,
        ty: impl Fn() -> ColumnType,
        mut put: impl FnMut(&mut Data) -> Result<bool>,
    ) -> Result<()> {
        let Some(id) = self.next()? else { return Ok(()) };
        loop {
            let column = self.at(id);
            if put(&mut column.data)? {
                column.push_valid();
                return Ok(());
            }
            if !self.change(id, &ty())? {
                return Ok(());
            }
        }
    }

    fn id(&mut self, ty: VariantType, value: u64) -> Result<()> {
        self.add_value(
            || ColumnType::Id(ty),
            |data| {
                let Data::Id(held, values) = data else { return Ok(false) };
                if *held == ty {
                    values.push(value);
                }
                Ok(*held == ty)
            },
        )
    }

    /// Opens a container in the next column: a list, or a Dictionary or object.
    fn open(&mut self, is_list: bool) -> Result<Id> {
        self.level += 1;
        if self.level > LEVELS {
            self.is_misfit = true;
            return Err(Error::argument(format!("nested deeper than {LEVELS} levels, the limit for tables"))
                .at(self.offset));
        }
        let Some(id) = self.next()? else { return Ok(NOWHERE) };
        loop {
            let column = self.at(id);
            let fits = match &mut column.data {
                Data::List(..) => is_list,
                Data::Map(..) => !is_list,
                Data::Struct(of) => {
                    of.next = 0;
                    !is_list
                }
                _ => false,
            };
            if fits {
                column.push_valid();
                return Ok(id);
            }
            let ty = match is_list {
                true => ColumnType::List(Box::new(ColumnType::Unknown)),
                false => ColumnType::Struct(StructType::default()),
            };
            if !self.change(id, &ty)? {
                return Ok(NOWHERE);
            }
        }
    }

    /// Closes a container.
    fn close(&mut self, id: Id) -> Result<()> {
        self.level -= 1;
        if id == NOWHERE {
            return Ok(());
        }
        let inner = match &self.at(id).data {
            Data::List(_, inner) | Data::Map(_, [inner, _]) => *inner,
            _ => return Ok(()),
        };
        let len = end(self.at(inner).len)?;
        let mut may_repeat_keys = false;
        match &mut self.at(id).data {
            Data::List(ends, _) => ends.push(len),
            Data::Map(ends, _) => {
                may_repeat_keys = ends.last().is_some_and(|last| len - last > 1);
                ends.push(len);
            }
            _ => {}
        }
        self.may_repeat_keys |= may_repeat_keys;
        Ok(())
    }
}

/// The precision of the components; not all types have two.
fn precision(ty: VariantType, lanes: Lanes<'_>) -> Precision {
    if ty.is_real() { lanes.precision } else { Precision::Single }
}

/// Appends components to those of a column that has this precision.
fn put(le: &mut MutableBuffer, held: Precision, found: Precision, lanes: Lanes<'_>) {
    match held == found {
        true => le.extend_from_slice(lanes.le),
        false => lanes::convert(lanes.le, found, |lane| le.extend_from_slice(lane)),
    }
}

/// Whether components of the second precision fit into the first.
fn holds(held: Precision, found: Precision) -> bool {
    held == found || held == Precision::Double
}

impl Sink for Columns<'_> {
    type Array = Id;
    type Dictionary = Id;
    type Object = Id;
    type Strings = Id;

    const WANTS_PLACES: bool = true;

    #[inline]
    fn value_starts(&mut self, at: usize, _header: Header) {
        self.offset = at;
        if self.inside_json > 0 {
            self.inside_json += 1;
        } else if self.has_json && self.key_of.is_none() && self.target != NOWHERE {
            let target = self.target;
            if matches!(self.at(target).data, Data::Json(_)) {
                (self.inside_json, self.json) = (1, (target, at));
            }
        }
    }

    #[inline]
    fn value_ends(&mut self, end: usize) {
        if self.inside_json > 0 {
            self.inside_json -= 1;
            if self.inside_json == 0
                && let Err(error) = self.render(self.json.0, self.json.1..end)
            {
                self.unrendered.get_or_insert(error);
            }
        }
    }

    fn nil(&mut self) -> Result<()> {
        let Some(id) = self.next()? else { return Ok(()) };
        let column = self.at(id);
        if column.key_of.is_some() {
            return self.misfit(id, &ColumnType::Unknown);
        }
        column.push_nulls(1);
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.add_value(
            || ColumnType::Bool,
            |data| {
                let Data::Bool(bits) = data else { return Ok(false) };
                bits.append(value);
                Ok(true)
            },
        )
    }

    fn int(&mut self, value: i64) -> Result<()> {
        let wide = value.unsigned_abs() > EXACT;
        self.add_value(
            || ColumnType::Int { is_wide: wide },
            |data| {
                match data {
                    Data::Int { values, is_wide } => {
                        values.push(value);
                        *is_wide |= wide;
                    }
                    Data::Float(values) if !wide => values.push(value as f64),
                    _ => return Ok(false),
                }
                Ok(true)
            },
        )
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.add_value(
            || ColumnType::Float,
            |data| {
                let Data::Float(values) = data else { return Ok(false) };
                values.push(value);
                Ok(true)
            },
        )
    }

    fn raw_text(&mut self, _ty: VariantType, bytes: &[u8]) -> Result<bool> {
        // A key that is expected needs no validation.
        let Some(parent) = self.key_of else { return Ok(false) };
        let Data::Struct(of) = &mut self.at(parent).data else { return Ok(false) };
        let Some(field) = of.expected(bytes) else { return Ok(false) };
        self.key_of = None;
        self.aim(parent, field).map(|()| true)
    }

    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        if let Some(parent) = self.key_of.take() {
            return self.key(parent, text);
        }
        self.add_value(
            || ColumnType::Text(ty),
            |data| {
                match data {
                    Data::Text(held, texts) if *held == ty || *held == VariantType::String => match text {
                        Text::Utf8(text) => push_text(texts, text)?,
                        text => push_text(texts, &text.to_lossy())?,
                    },
                    _ => return Ok(false),
                }
                Ok(true)
            },
        )
    }

    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let found = precision(ty, lanes);
        self.add_value(
            || ColumnType::Vector(ty, found),
            |data| {
                match data {
                    Data::Vector(held, precision, le) if *held == ty && holds(*precision, found) => {
                        put(le, *precision, found, lanes);
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            },
        )
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let found = precision(ty, lanes);
        let wanted = || match ty {
            VariantType::PackedByteArray => ColumnType::Bytes,
            ty => ColumnType::Packed(ty, found),
        };
        self.add_value(wanted, |data| {
            match data {
                Data::Bytes(bytes) if ty == VariantType::PackedByteArray => {
                    end(bytes.values_slice().len() + lanes.le.len())?;
                    bytes.append_value(lanes.le);
                }
                Data::Packed(held, precision, ends, le) if *held == ty && holds(*precision, found) => {
                    put(le, *precision, found, lanes);
                    ends.push(end(le.len() / ty.lanes_bytes(*precision))?);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        let owned = |parts: &[Text<'_>]| parts.iter().map(|part| part.to_lossy()).collect();
        let (names, subnames) = (owned(path.names), owned(path.subnames));
        let path = NodePath { absolute: path.absolute, names, subnames }.to_string();
        self.next()?;
        self.text(VariantType::NodePath, Text::Utf8(&path))
    }

    fn rid(&mut self, id: u64) -> Result<()> {
        self.id(VariantType::Rid, id)
    }

    fn callable(&mut self) -> Result<()> {
        self.nil()
    }

    fn signal(&mut self, name: Text<'_>, _object: u64) -> Result<()> {
        self.next()?;
        self.text(VariantType::Signal, name)
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        if id == 0 { self.nil() } else { self.id(VariantType::Object, id) }
    }

    fn begin_array(&mut self, _len: usize, _element: ElementType<'_>) -> Result<Id> {
        self.open(true)
    }

    fn begin_element(&mut self, array: &mut Id) -> Result<()> {
        self.target = NOWHERE;
        if *array != NOWHERE
            && let Data::List(_, element) = self.at(*array).data
        {
            self.target = element;
        }
        Ok(())
    }

    fn end_array(&mut self, array: Id) -> Result<()> {
        self.close(array)
    }

    fn begin_dictionary(
        &mut self,
        _len: usize,
        _key: ElementType<'_>,
        _value: ElementType<'_>,
    ) -> Result<Id> {
        self.open(false)
    }

    fn begin_key(&mut self, dictionary: &mut Id) -> Result<()> {
        self.target = NOWHERE;
        if *dictionary != NOWHERE {
            match self.at(*dictionary).data {
                Data::Struct(_) => self.key_of = Some(*dictionary),
                Data::Map(_, [key, _]) => self.target = key,
                _ => {}
            }
        }
        Ok(())
    }

    fn begin_value(&mut self, dictionary: &mut Id) -> Result<()> {
        if *dictionary != NOWHERE {
            match self.at(*dictionary).data {
                Data::Struct(_) => return Ok(()),
                Data::Map(_, [_, value]) => self.target = value,
                _ => self.target = NOWHERE,
            }
        } else {
            self.target = NOWHERE;
        }
        Ok(())
    }

    fn end_dictionary(&mut self, dictionary: Id) -> Result<()> {
        self.close(dictionary)
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<Id> {
        let object = self.open(false)?;
        self.begin_property(&mut { object }, Text::Utf8(tag::CLASS))?;
        self.text(VariantType::String, class)?;
        Ok(object)
    }

    fn begin_property(&mut self, object: &mut Id, name: Text<'_>) -> Result<()> {
        self.target = NOWHERE;
        if *object != NOWHERE { self.key(*object, name) } else { Ok(()) }
    }

    fn end_object(&mut self, object: Id) -> Result<()> {
        self.close(object)
    }

    fn begin_strings(&mut self, len: usize) -> Result<Id> {
        self.begin_array(len, ElementType::Untyped)
    }

    fn string(&mut self, strings: &mut Id, text: Text<'_>) -> Result<()> {
        self.begin_element(strings)?;
        self.text(VariantType::String, text)
    }

    fn end_strings(&mut self, strings: Id) -> Result<()> {
        self.close(strings)
    }
}

//! Columns as Arrow's arrays.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int64Array, ListArray, MapArray,
    PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray, StructArray, UInt64Array, new_null_array,
    types,
};
use arrow_buffer::{MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use variant_codec::format::Lane;
use variant_codec::stream::Precision;
use variant_codec::{Error, Result, VariantType, lanes};

use super::column_type::{ColumnType, StructType, item, number};
use super::columns::{Column, Data, Id, Padding, ROWS};
use crate::numbers::lane;

/// The columns of some rows while they become arrays.
pub struct Arrays<'a> {
    pub columns: Vec<Column>,
    pub padding: &'a Padding,
}

/// The bytes that an array takes beside its values.
const ARRAY: u64 = 512;

fn failed(error: ArrowError) -> Error {
    Error::other(error)
}

impl Arrays<'_> {
    /// The rows as a batch of this schema, which is that of `ty`. `file` is the value of the last column, if the schema
    /// has one more.
    pub fn batch(mut self, ty: &ColumnType, schema: SchemaRef, file: Option<&str>) -> Result<RecordBatch> {
        let rows = self.columns[ROWS as usize].len;
        let mut arrays = match ty {
            ColumnType::Struct(fields) => self.fields(ROWS, fields, rows)?,
            ty => vec![self.array(ROWS, ty)?],
        };
        if let Some(file) = file {
            arrays.push(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(file, rows))));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(failed)
    }

    /// The array of a column, as `ty`, which holds the type of the column.
    fn array(&mut self, id: Id, ty: &ColumnType) -> Result<ArrayRef> {
        let column = &mut self.columns[id as usize];
        let len = column.len;
        let nulls = column.nulls.finish();
        let data = std::mem::replace(&mut column.data, Data::Unknown);
        Ok(match (data, ty) {
            (Data::Unknown, ty) => self.nothing(ty, len)?,
            (Data::Bool(mut bits), _) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            (Data::Int { values, .. }, ColumnType::Float) => {
                let floats: ScalarBuffer<f64> = values.into_iter().map(|int| int as f64).collect();
                Arc::new(Float64Array::new(floats, nulls))
            }
            (Data::Int { values, .. }, _) => Arc::new(Int64Array::new(values.into(), nulls)),
            (Data::Float(values), _) => Arc::new(Float64Array::new(values.into(), nulls)),
            (Data::Id(_, values), _) => Arc::new(UInt64Array::new(values.into(), nulls)),
            (Data::Text(_, mut texts) | Data::Json(mut texts), _) => Arc::new(texts.finish()),
            (Data::Bytes(mut bytes), _) => Arc::new(bytes.finish()),
            (Data::Vector(_, held, le), ColumnType::Vector(ty, precision)) => {
                components(*ty, le, held, *precision, nulls)?
            }
            (Data::Packed(_, held, ends, le), ColumnType::Packed(ty, precision)) => {
                let elements = components(*ty, le, held, *precision, None)?;
                list(item(elements.data_type().clone()), ends, elements, nulls)?
            }
            (Data::List(ends, inner), ColumnType::List(element)) => {
                list(Arc::new(element.field("item")), ends, self.array(inner, element)?, nulls)?
            }
            (Data::Struct(_), ColumnType::Struct(StructType { fields, .. })) if fields.is_empty() => {
                self.map(vec![0; len + 1], None, ty, nulls)?
            }
            (Data::Struct(of), ColumnType::Struct(fields)) => {
                self.columns[id as usize].data = Data::Struct(of);
                let arrays = self.fields(id, fields, len)?;
                Arc::new(StructArray::try_new(fields.arrow_fields(), arrays, nulls).map_err(failed)?)
            }
            (Data::Struct(_), ty) => self.map(vec![0; len + 1], None, ty, nulls)?,
            (Data::Map(ends, entry), ColumnType::Map(types)) => {
                let entry = [self.array(entry[0], &types[0])?, self.array(entry[1], &types[1])?];
                self.map(ends, Some(entry), ty, nulls)?
            }
            _ => return Err(Error::argument("the file changed while it was read")),
        })
    }

    /// The arrays of the fields of a column of Dictionaries.
    fn fields(&mut self, id: Id, of: &StructType, len: usize) -> Result<Vec<ArrayRef>> {
        let mut found: std::collections::HashMap<Arc<str>, Id> = match &self.columns[id as usize].data {
            Data::Struct(of) => of.fields.iter().cloned().collect(),
            _ => Default::default(),
        };
        let field = |(name, ty): &(Arc<str>, ColumnType)| {
            let Some(id) = found.remove(name) else { return self.nothing(ty, len) };
            let missing = len - self.columns[id as usize].len;
            if missing > 0 {
                self.padding.take(missing as u64 * ty.width() * 8)?;
                self.columns[id as usize].push_nulls(missing);
            }
            self.array(id, ty)
        };
        of.fields.iter().map(field).collect()
    }

    /// Only nulls.
    fn nothing(&self, ty: &ColumnType, len: usize) -> Result<ArrayRef> {
        self.padding.take((len as u64 * 8 + ARRAY) * ty.width())?;
        Ok(new_null_array(&ty.data_type(), len))
    }

    /// Maps with these entries, or without any.
    fn map(
        &self,
        ends: Vec<i32>,
        entry: Option<[ArrayRef; 2]>,
        ty: &ColumnType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let DataType::Map(entries, _) = ty.data_type() else { unreachable!("{ty:?} is no map") };
        let DataType::Struct(fields) = entries.data_type() else { unreachable!("the entries of a map") };
        let entry = match entry {
            Some([key, value]) if key.data_type() == fields[0].data_type() => [key, value],
            _ => [0, 1].map(|at: usize| new_null_array(fields[at].data_type(), 0)),
        };
        let pairs = StructArray::try_new(fields.clone(), entry.to_vec(), None).map_err(failed)?;
        let map = MapArray::try_new(entries, OffsetBuffer::new(ends.into()), pairs, nulls, false);
        Ok(Arc::new(map.map_err(failed)?))
    }
}

fn list(
    element: FieldRef,
    ends: Vec<i32>,
    elements: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let list = ListArray::try_new(element, OffsetBuffer::new(ends.into()), elements, nulls);
    Ok(Arc::new(list.map_err(failed)?))
}

/// Numbers, or lists with the components of vectors.
fn components(
    ty: VariantType,
    le: MutableBuffer,
    held: Precision,
    precision: Precision,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let le = match held == precision {
        true => le,
        false => {
            let mut wide = MutableBuffer::new(2 * le.len());
            lanes::convert(&le, held, |lane| wide.extend_from_slice(lane));
            wide
        }
    };
    let (lane, count) = lane(ty);
    if count == 1 {
        return Ok(numbers(lane, precision, le, nulls));
    }
    let numbers = numbers(lane, precision, le, None);
    let ty = item(number(lane, precision));
    let vectors = FixedSizeListArray::try_new(ty, count as i32, numbers, nulls);
    Ok(Arc::new(vectors.map_err(failed)?))
}

fn numbers(lane: Lane, precision: Precision, le: MutableBuffer, nulls: Option<NullBuffer>) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(le: MutableBuffer, nulls: Option<NullBuffer>) -> ArrayRef {
        let len = le.len() / size_of::<T::Native>();
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(le.into(), 0, len), nulls))
    }
    match number(lane, precision) {
        DataType::UInt8 => of::<types::UInt8Type>(le, nulls),
        DataType::Int32 => of::<types::Int32Type>(le, nulls),
        DataType::Int64 => of::<types::Int64Type>(le, nulls),
        DataType::Float32 => of::<types::Float32Type>(le, nulls),
        _ => of::<types::Float64Type>(le, nulls),
    }
}

//! Columns: one field of every row, in the packed array for its type.

use godot::builtin::{
    Color, GString, PackedColorArray, PackedFloat64Array, PackedInt64Array, PackedStringArray,
    PackedVector2Array, PackedVector3Array, PackedVector4Array, VarArray, Variant, Vector2, Vector3, Vector4,
};
use godot::meta::{FromGodot, ToGodot};
use variant_codec::dialect::Dialect;
#[cfg(feature = "double")]
use variant_codec::lanes::doubles as reals;
#[cfg(not(feature = "double"))]
use variant_codec::lanes::singles as reals;
use variant_codec::{Error, Result, VariantType, View, lanes};
use variant_engine::Reader;

use super::fetching::Fetching;
use super::path::{Step, inside, words};
use super::rows::{EachRow, for_each_row, in_no_row};
use super::shown::Shown;

/// One field of every row.
pub struct Column {
    path: Vec<Step>,
    ty: VariantType,
    cells: Cells,
    default: Variant,
    /// Whether a row has the field with the type of the column.
    is_found: bool,
    /// The first row that has the field with another type, and that type.
    other: Option<(u64, VariantType)>,
}

/// The cells of a column, with one variant for each type that has a packed array, and `Any` for all other
/// types.
enum Cells {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<GString>),
    Vector2(Vec<Vector2>),
    Vector3(Vec<Vector3>),
    Vector4(Vec<Vector4>),
    Color(Vec<Color>),
    Any(VarArray),
}

impl Cells {
    fn of(ty: VariantType) -> Self {
        use VariantType as T;
        match ty {
            T::Int => Self::Int(Vec::new()),
            T::Float => Self::Float(Vec::new()),
            T::String | T::StringName => Self::Text(Vec::new()),
            T::Vector2 => Self::Vector2(Vec::new()),
            T::Vector3 => Self::Vector3(Vec::new()),
            T::Vector4 => Self::Vector4(Vec::new()),
            T::Color => Self::Color(Vec::new()),
            _ => Self::Any(VarArray::new()),
        }
    }

    /// Adds a value, or the type's own default for Nil.
    fn push(&mut self, value: &Variant, ty: VariantType) -> Result<()> {
        fn to<T: FromGodot + Default>(value: &Variant, ty: VariantType) -> Result<T> {
            if value.is_nil() {
                return Ok(T::default());
            }
            value.try_to_relaxed().map_err(|_| misfit(value, ty))
        }
        match self {
            Self::Int(cells) => cells.push(to(value, ty)?),
            Self::Float(cells) => cells.push(to(value, ty)?),
            Self::Text(cells) => cells.push(to(value, ty)?),
            Self::Vector2(cells) => cells.push(to(value, ty)?),
            Self::Vector3(cells) => cells.push(to(value, ty)?),
            Self::Vector4(cells) => cells.push(to(value, ty)?),
            Self::Color(cells) => cells.push(to(value, ty)?),
            Self::Any(cells) => cells.push(value),
        }
        Ok(())
    }

    /// Adds a field of the cells' type.
    #[inline]
    fn read<D: Dialect>(&mut self, field: &View<'_, D>, fetching: &mut Fetching<'_>) -> Result<()> {
        match self {
            Self::Any(cells) => cells.push(&fetching.value(field)?),
            Self::Int(cells) => cells.push(field.as_i64()?),
            Self::Float(cells) => cells.push(field.as_f64()?),
            Self::Text(cells) => cells.push(fetching.text(field)?),
            Self::Vector2(cells) => {
                let [x, y] = reals(field.as_lanes()?);
                cells.push(Vector2 { x, y });
            }
            Self::Vector3(cells) => {
                let [x, y, z] = reals(field.as_lanes()?);
                cells.push(Vector3 { x, y, z });
            }
            Self::Vector4(cells) => {
                let [x, y, z, w] = reals(field.as_lanes()?);
                cells.push(Vector4 { x, y, z, w });
            }
            Self::Color(cells) => {
                let [r, g, b, a] = lanes::singles(field.as_lanes()?);
                cells.push(Color { r, g, b, a });
            }
        }
        Ok(())
    }

    fn into_variant(self) -> Variant {
        match self {
            Self::Int(cells) => PackedInt64Array::from(&cells[..]).to_variant(),
            Self::Float(cells) => PackedFloat64Array::from(&cells[..]).to_variant(),
            Self::Text(cells) => PackedStringArray::from(&cells[..]).to_variant(),
            Self::Vector2(cells) => PackedVector2Array::from(&cells[..]).to_variant(),
            Self::Vector3(cells) => PackedVector3Array::from(&cells[..]).to_variant(),
            Self::Vector4(cells) => PackedVector4Array::from(&cells[..]).to_variant(),
            Self::Color(cells) => PackedColorArray::from(&cells[..]).to_variant(),
            Self::Any(cells) => cells.to_variant(),
        }
    }
}

impl Column {
    /// A column of the field at `path` in each row, of this type. Rows without such a field get `default`. If `default` is
    /// Nil, the cells of a packed array get the type's own default.
    ///
    /// # Errors
    /// Fails if there is a packed array for the type, and `default` cannot be converted to its elements.
    pub fn new(path: Vec<Step>, ty: VariantType, default: &Variant) -> Result<Self> {
        let mut cells = Cells::of(ty);
        let default = match (&cells, Reader::new().ty(default)) {
            // Converted here, because the engine would print an error for each row if the text is not a
            // color.
            (Cells::Color(_), Some(VariantType::String)) => {
                Color::from_string(&default.to::<GString>()).ok_or_else(|| misfit(default, ty))?.to_variant()
            }
            // Converted once, because each conversion takes its own memory.
            (Cells::Text(_), Some(VariantType::StringName | VariantType::NodePath)) => {
                default.stringify().to_variant()
            }
            _ => default.clone(),
        };
        // Each missing cell would fail in the same way, so fail now.
        cells.push(&default, ty)?;
        Ok(Self { path, ty, cells: Cells::of(ty), default, is_found: false, other: None })
    }

    /// Fails if no row has the field with the type of the column, and there is no default for such rows.
    fn check_found(&self) -> Result<()> {
        if self.is_found || !self.default.is_nil() {
            return Ok(());
        }
        let (path, ty) = (words(&self.path), self.ty);
        let field = match self.other {
            None => format!("a value at {path}"),
            Some((row, other)) => format!("{ty} at {path}, but row {row} has {other}"),
        };
        Err(in_no_row(&field, "correct the path or the type, or pass a default"))
    }

    /// The cells as a packed array, or as an Array if there is none for their type.
    pub fn into_variant(self) -> Variant {
        self.cells.into_variant()
    }
}

/// Fills the columns from the rows at a path, and returns the indexes of rows that lack a field, or have it with
/// another type.
///
/// # Errors
/// Fails if the path does not lead to an Array, the bytes are invalid, or there are rows, but none has the field of a
/// column without default.
pub fn fill(shown: &Shown, path: &[Step], columns: &mut [Column]) -> Result<Vec<usize>> {
    let paths: Vec<Vec<Step>> = columns.iter().map(|column| column.path.clone()).collect();
    let mut filling = Filling { columns, incomplete: Vec::new(), has_rows: false };
    for_each_row(shown, path, &paths, &mut filling)?;
    let Filling { columns, incomplete, has_rows, .. } = filling;
    if has_rows {
        columns.iter().try_for_each(Column::check_found)?;
    }
    Ok(incomplete)
}

struct Filling<'c> {
    columns: &'c mut [Column],
    incomplete: Vec<usize>,
    has_rows: bool,
}

impl EachRow for Filling<'_> {
    fn row<D: Dialect>(
        &mut self,
        index: u64,
        fields: &[Option<View<'_, D>>],
        fetching: &mut Fetching<'_>,
    ) -> Result<()> {
        self.has_rows = true;
        let mut is_complete = true;
        for (column, field) in self.columns.iter_mut().zip(fields) {
            let Column { path, ty, cells, default, is_found, other } = column;
            match field {
                Some(field) if field.ty() == *ty => {
                    *is_found = true;
                    cells.read(field, fetching).map_err(|error| inside(path, error))?;
                }
                field => {
                    is_complete = false;
                    if let (None, Some(field)) = (&other, field) {
                        *other = Some((index, field.ty()));
                    }
                    cells.push(default, *ty)?;
                }
            }
        }
        if !is_complete {
            self.incomplete.push(usize::try_from(index).unwrap_or(usize::MAX));
        }
        Ok(())
    }
}

#[cold]
fn misfit(default: &Variant, ty: VariantType) -> Error {
    let found = Reader::new().ty(default).map_or("a newer type", VariantType::name);
    Error::argument(format!("default of a column: expected {ty}, found {found}"))
}

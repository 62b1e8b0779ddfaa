//! Fields of many rows: of the elements of an Array, or of records.

use godot::builtin::{Variant, VariantOperator};
use variant_codec::dialect::{Dialect, Godot3, Godot4};
use variant_codec::view::{Fields, Key, Spot};
use variant_codec::{Error, ErrorKind, Result, VariantType, View};
use variant_engine::{ContainerType, Reader};

use super::fetching::{Fetching, Format};
use super::held::in_either;
use super::path::{Step, inside, words};
use super::quiet::sought;
use super::records::Records;
use super::shown::Shown;
use variant_live::nested::Nested;

/// A visitor of the fields of each row.
pub trait EachRow {
    /// Visits the row at `index`. `fields` has the row's fields in the order of the keys, and `fetching` builds them.
    ///
    /// # Errors
    /// Fails if the bytes are invalid.
    fn row<D: Dialect>(
        &mut self,
        index: u64,
        fields: &[Option<View<'_, D>>],
        fetching: &mut Fetching<'_>,
    ) -> Result<()>;
}

/// Calls `each` with the fields at `paths` of all rows at a path.
///
/// # Errors
/// Fails if the path does not lead to an Array, the bytes are invalid, or `each` fails.
pub fn for_each_row(
    shown: &Shown,
    path: &[Step],
    paths: &[Vec<Step>],
    each: &mut impl EachRow,
) -> Result<()> {
    let paths: Vec<Vec<Key<'_>>> = paths.iter().map(|path| path.iter().map(Step::key).collect()).collect();
    if let (Shown::Records(records), []) = (shown, path) {
        return match records.format() {
            Format::Godot4 => for_each_record::<Godot4>(records, paths, each),
            Format::Godot3 => for_each_record::<Godot3>(records, paths, each),
        };
    }
    shown.find(path, |found, held| {
        let mut fetching = held.fetching();
        in_either!(found, view => view.rows(&mut Fields::at(paths), |index, fields| {
            each.row(index as u64, fields, &mut fetching)
        }))
    })
}

fn for_each_record<D: Dialect>(
    records: &Records,
    paths: Vec<Vec<Key<'_>>>,
    each: &mut impl EachRow,
) -> Result<()> {
    let (limits, mut fields) = (records.limits(), Fields::at(paths));
    let mut fetching = limits.fetching(None);
    records.for_each(0..u64::MAX, |index, record| {
        let row = View::<D>::at_spot(record, &limits.finding, Spot::of(0..record.len()))?.following_tags()?;
        let mut found = Vec::new();
        fields.read(&row, &mut found)?;
        each.row(index, &found, &mut fetching)
    })
}

/// A comparison of a field.
pub struct Test {
    operator: VariantOperator,
    value: Variant,
    number: Option<Number>,
    /// For `in`: the type of the Array's elements, or of the Dictionary's keys.
    declared: Option<ContainerType>,
    /// For `in` with an Object: counts the call as nested, because `_get` of the Object runs.
    _running: Option<Nested>,
}

#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

impl Test {
    /// A test that compares a field with `value` by `operator`, as GDScript does.
    ///
    /// # Errors
    /// Fails if the operator is unknown, or too many calls are nested.
    pub fn new(operator: &str, value: &Variant) -> Result<Self> {
        let operator = match operator {
            "==" => VariantOperator::EQUAL,
            "!=" => VariantOperator::NOT_EQUAL,
            "<" => VariantOperator::LESS,
            "<=" => VariantOperator::LESS_EQUAL,
            ">" => VariantOperator::GREATER,
            ">=" => VariantOperator::GREATER_EQUAL,
            "in" => VariantOperator::IN,
            _ => {
                let message = format!("unknown operator \"{operator}\"; expected ==, !=, <, <=, >, >= or in");
                return Err(Error::argument(message));
            }
        };
        let reader = Reader::new();
        let number = match reader.ty(value) {
            Some(VariantType::Int) => Some(Number::Int(reader.int(value))),
            Some(VariantType::Float) => Some(Number::Float(reader.float(value))),
            _ => None,
        };
        let declared = match reader.ty(value).filter(|_| operator == VariantOperator::IN) {
            Some(VariantType::Array) => Some(reader.array_type(value)),
            Some(VariantType::Dictionary) => Some(reader.dictionary_types(value).0),
            _ => None,
        };
        let runs_scripts = operator == VariantOperator::IN && reader.ty(value) == Some(VariantType::Object);
        let _running = runs_scripts.then(Nested::enter).transpose()?;
        Ok(Self { operator, value: value.clone(), number, declared, _running })
    }

    fn is_met<D: Dialect>(&self, field: &View<'_, D>, fetching: &mut Fetching<'_>) -> Result<bool> {
        let found = match field.ty() {
            VariantType::Int => Some(Number::Int(field.as_i64()?)),
            VariantType::Float => Some(Number::Float(field.as_f64()?)),
            _ => None,
        };
        if let (Some(found), Some(wanted)) = (found, self.number)
            && let Some(is_met) = compare(found, self.operator, wanted)
        {
            return Ok(is_met);
        }
        use VariantOperator as Is;
        let is_order = !matches!(self.operator, Is::EQUAL | Is::NOT_EQUAL | Is::IN);
        // Arrays never pass `<` and the like, because each level of equal Arrays doubles the time of the
        // engine's comparison.
        if is_order && field.ty() == VariantType::Array {
            return Ok(false);
        }
        let mut found = fetching.value(field)?;
        if let Some(declared) = &self.declared {
            let Some(sought) = sought(declared, &found) else { return Ok(false) };
            found = sought;
        }
        let result = found.evaluate(&self.value, self.operator);
        Ok(result.is_some_and(|result| result.booleanize()))
    }
}

/// Compares numbers as the engine does: an int and a float as floats.
fn compare(found: Number, operator: VariantOperator, wanted: Number) -> Option<bool> {
    fn of<T: PartialOrd>(a: T, operator: VariantOperator, b: T) -> Option<bool> {
        Some(match operator {
            VariantOperator::EQUAL => a == b,
            VariantOperator::NOT_EQUAL => a != b,
            VariantOperator::LESS => a < b,
            VariantOperator::LESS_EQUAL => a <= b,
            VariantOperator::GREATER => a > b,
            VariantOperator::GREATER_EQUAL => a >= b,
            _ => return None,
        })
    }
    match (found, wanted) {
        (Number::Int(a), Number::Int(b)) => of(a, operator, b),
        (Number::Int(a), Number::Float(b)) => of(a as f64, operator, b),
        (Number::Float(a), Number::Int(b)) => of(a, operator, b as f64),
        (Number::Float(a), Number::Float(b)) => of(a, operator, b),
    }
}

/// The indexes of the rows at `path` in which the field at `field` passes the test.
///
/// # Errors
/// As [`for_each_row`]; also fails if there are rows, but none has the field.
pub fn matching(shown: &Shown, path: &[Step], field: Vec<Step>, test: &Test) -> Result<Vec<i64>> {
    struct Matching<'t> {
        path: &'t [Step],
        test: &'t Test,
        found: Vec<i64>,
        /// Whether all rows so far, at least one, lack the field.
        is_missing: bool,
    }
    impl EachRow for Matching<'_> {
        fn row<D: Dialect>(
            &mut self,
            index: u64,
            fields: &[Option<View<'_, D>>],
            fetching: &mut Fetching<'_>,
        ) -> Result<()> {
            let [Some(field)] = fields else {
                self.is_missing |= index == 0;
                return Ok(());
            };
            self.is_missing = false;
            let is_met = self.test.is_met(field, fetching);
            if is_met.map_err(|error| inside(self.path, error))? {
                self.found.push(index as i64);
            }
            Ok(())
        }
    }
    let paths = [field];
    let [field] = &paths;
    let mut matching = Matching { path: field, test, found: Vec::new(), is_missing: false };
    for_each_row(shown, path, &paths, &mut matching)?;
    if matching.is_missing {
        return Err(in_no_row(&format!("a value at {}", words(field)), "correct the path"));
    }
    Ok(matching.found)
}

/// The error for a field that no row has.
#[cold]
pub fn in_no_row(field: &str, advice: &str) -> Error {
    let key = format!("row with {field}; {advice}");
    Error::new(ErrorKind::NotFound { key, found: VariantType::Array })
}

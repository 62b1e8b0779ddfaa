//! The class FastVariantResult: a value or an error.

use godot::builtin::{GString, PackedInt32Array, PackedInt64Array, Variant};
use godot::classes::{IRefCounted, RefCounted};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, NewGd};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::{Error, ErrorKind};

use super::error_code::ErrorCode;
use super::guard::{OnFailure, guard};
use super::{report, summary};
use crate::files::{FileError, Holds, Saved};
use crate::jobs::Outcome;
use crate::saves::{Damaged, Loaded, Value};
use variant_live::batch::failed::Failed;
use variant_live::batch::records::Unpacked;
use variant_live::decode::built::CreatedObjects;

/// The result of a call that may fail, such as [method FastVariantCodec.try_decode]: a value or an error.
///
/// ```gdscript
/// var bytes := PackedByteArray([2, 0, 0, 0])
/// var result := FastVariantCodec.try_decode(bytes)
/// if not result.is_ok():
///     print("%s (byte %d)" % [result.message, result.offset])
/// ```
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantResult {
    /// The decoded value or the encoded bytes; [code]null[/code] if the call failed. An encoded or decoded
    /// batch still has the items that succeeded.
    #[var(no_set)]
    value: Variant,
    /// The error code; [constant FastVariantCodec.OK] if the call succeeded.
    #[var(no_set)]
    error: ErrorCode,
    /// The error message; empty if the call succeeded.
    #[var(no_set)]
    message: GString,
    /// When decoding, the byte of the error or the end of the value. When encoding, the number of bytes
    /// written. [code]-1[/code] if an error belongs to no byte.
    #[var(no_set)]
    offset: i64,
    /// The path to the error in the value, such as [code][3]."hp"[/code]; empty for the value itself.
    #[var(no_set)]
    path: GString,
    /// The number of bytes read; 0 if the call failed. For records, the number of bytes before the first
    /// invalid record.
    #[var(no_set)]
    bytes_read: i64,
    /// The indexes of the failed items of a batch. Indexes above 2147483647 appear as that number.
    #[var(no_set)]
    failed: PackedInt32Array,
    /// For [method FastVariantView.try_columns], the indexes of the rows that lack a field or have it with another type.
    #[var(no_set)]
    incomplete_rows: PackedInt64Array,
    /// A summary of what was written; empty if nothing was.
    written: String,
    /// The errors of all failed items, or only of the first.
    reasons: Vec<(usize, Error)>,
    /// Whether the message describes the only failed item.
    is_about_item: bool,
}

/// The editor recreates each object when it reloads the library; a result then loses its contents.
#[godot_api]
impl IRefCounted for FastVariantResult {
    fn init(_base: Base<RefCounted>) -> Self {
        Self { error: ErrorCode::Cancelled, message: GString::from(LOST), ..Self::new() }
    }

    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantResult.to_string", || {
            let holds = this.bind().summary();
            summary::of(&this, holds)
        })
    }
}

/// The message of results and jobs that the editor recreated or that a script created with `new()`.
const LOST: &str =
    "holds nothing: created by a script with new(), or emptied when the editor reloaded the extension";

const NO_OFFSET: i64 = -1;

#[godot_api]
impl FastVariantResult {
    /// Returns [code]true[/code] if the call succeeded.
    // `this` keeps the object alive, here and in all methods: printing an error runs Loggers, which are
    // scripts and may drop the last other reference.
    #[func(gd_self)]
    fn is_ok(this: Gd<Self>) -> bool {
        guard("FastVariantResult.is_ok", || this.bind().error == ErrorCode::Ok)
    }

    /// Returns the error message of the item at [param index] of a batch; empty if it succeeded. If values could not be
    /// saved, only the first failed item has a message.
    #[func(gd_self)]
    fn get_item_error(this: Gd<Self>, index: i64) -> GString {
        guard("FastVariantResult.get_item_error", || {
            let this = this.bind();
            let found = usize::try_from(index)
                .ok()
                .and_then(|index| this.reasons.binary_search_by_key(&index, |(failed, _)| *failed).ok());
            match found {
                Some(_) if this.is_about_item => this.message.clone(),
                Some(at) => GString::from(&this.reasons[at].1.to_string()),
                None => GString::new(),
            }
        })
    }
}

impl OnFailure for Gd<FastVariantResult> {
    fn failed(_method: &str, error: &Error) -> Self {
        FastVariantResult::failed(error)
    }
}

impl FastVariantResult {
    /// The result of reading `value` from the bytes between `start` and `end`.
    pub fn decoded(value: Variant, start: usize, end: usize) -> Gd<Self> {
        Gd::from_object(Self { value, offset: end as i64, bytes_read: (end - start) as i64, ..Self::new() })
    }

    /// The result of writing `value`, which has `bytes` bytes.
    pub fn encoded(value: Variant, bytes: usize) -> Gd<Self> {
        Gd::from_object(Self { value, offset: bytes as i64, ..Self::new() })
    }

    /// The result of writing records to a file.
    pub fn saved(Saved { holds, bytes, path }: Saved) -> Gd<Self> {
        let holds = match holds {
            Holds::Records(count) => summary::count(count, "record", "records"),
            Holds::Value => "1 value".to_owned(),
        };
        let bytes_written = summary::count(bytes, "byte", "bytes");
        let written = format!("{holds}, {bytes_written} written to {}", summary::short(path));
        Gd::from_object(Self { offset: bytes as i64, written, ..Self::new() })
    }

    /// The result of a call that failed.
    pub fn failed(error: &Error) -> Gd<Self> {
        Gd::from_object(Self::of_error(error))
    }

    /// The result of a call that failed because of a file.
    pub fn of_file(error: &FileError) -> Gd<Self> {
        let message = GString::from(&error.to_string());
        Gd::from_object(Self { error: ErrorCode::FileError, message, ..Self::new() })
    }

    /// The result of reading a file with this error.
    pub fn in_file(path: &str, error: &Error) -> Gd<Self> {
        let message = GString::from(&format!("{path}: {error}"));
        Gd::from_object(Self { message, ..Self::of_error(error) })
    }

    /// The result of loading a save, and the objects to free if the caller never receives it. If the save is damaged,
    /// the result has what could be read of its value.
    fn loaded(loaded: Result<Loaded, Damaged>, path: &str) -> (Gd<Self>, CreatedObjects) {
        match loaded {
            Ok(Loaded { value, bytes }) => {
                let (value, created) = value.into_parts();
                (Self::decoded(value, 0, bytes), created)
            }
            Err(Damaged { error, value }) => {
                let (value, created) = value.map(Value::into_parts).unwrap_or_default();
                let message = GString::from(&format!("{path}: {error}"));
                (Gd::from_object(Self { value, message, ..Self::of_error(&error) }), created)
            }
        }
    }

    /// The result of reading columns, with the rows that lack a field.
    pub fn columns(value: Variant, incomplete: &[usize]) -> Gd<Self> {
        let incomplete_rows = incomplete.iter().map(|&row| row as i64).collect();
        Gd::from_object(Self { value, incomplete_rows, ..Self::new() })
    }

    /// The result of a batch: one value per item, including failed items.
    pub fn batch(value: Variant, failed: Failed) -> Gd<Self> {
        let mut result = failed.reasons.first().map_or_else(Self::new, |(_, error)| Self::of_error(error));
        result.value = value;
        result.message =
            report::summary(&failed).map_or_else(GString::new, |summary| GString::from(&summary));
        result.failed = indexes(&failed.indexes);
        result.reasons = failed.reasons;
        Gd::from_object(result)
    }

    /// The result of reading records, from a file if there is a path. The result has the values before the
    /// first invalid record. Also returns the objects to free if the caller never receives the result.
    fn unpacked_with_created(unpacked: Unpacked, path: Option<&str>) -> (Gd<Self>, CreatedObjects) {
        let Unpacked { values, created, end, failed } = unpacked;
        let value = values.into_array().to_variant();
        let Some((index, error)) = failed else { return (Self::decoded(value, 0, end), created) };
        let path = path.map_or_else(String::new, |path| format!("{path}: "));
        let record = match error.kind() {
            ErrorKind::Foreign(_) => String::new(),
            _ => format!("record {index}: "),
        };
        let result = Gd::from_object(Self {
            value,
            bytes_read: end as i64,
            failed: indexes(&[index]),
            message: GString::from(&format!("{path}{record}{error}")),
            is_about_item: true,
            ..Self { reasons: vec![(index, error.clone())], ..Self::of_error(&error) }
        });
        (result, created)
    }

    /// As `unpacked_with_created`, for a result that the caller receives.
    pub fn unpacked(unpacked: Unpacked, path: Option<&str>) -> Gd<Self> {
        let (result, mut created) = Self::unpacked_with_created(unpacked, path);
        created.leave();
        result
    }

    /// The result that the caller receives.
    pub fn of(outcome: Outcome) -> Gd<Self> {
        let (result, mut created) = Self::of_job(outcome);
        created.leave();
        result
    }

    /// The result of a job, and the objects to free if the caller never receives it.
    pub fn of_job(outcome: Outcome) -> (Gd<Self>, CreatedObjects) {
        let result = match outcome {
            Outcome::Encoded(buffers, failed) => Self::batch(buffers.into_array().to_variant(), failed),
            Outcome::Decoded(values, failed, created) => {
                return (Self::batch(values.into_array().to_variant(), failed), created);
            }
            Outcome::Loaded(unpacked, path) => return Self::unpacked_with_created(unpacked, Some(&path)),
            Outcome::LoadedValue(loaded, path) => return Self::loaded(loaded, &path),
            Outcome::Saved(saved) => Self::saved(saved),
            Outcome::NotSaved(failed) => Self::batch(Variant::nil(), failed),
            Outcome::File(error) => Self::of_file(&error),
            Outcome::Failed(error) => Self::failed(&error),
            Outcome::Cancelled => {
                let message = GString::from("job cancelled");
                Gd::from_object(Self { error: ErrorCode::Cancelled, message, ..Self::new() })
            }
            Outcome::Lost => Self::new_gd(),
        };
        (result, CreatedObjects::default())
    }

    /// A brief description of the contents.
    pub fn summary(&self) -> String {
        let mut summary = match self.error {
            ErrorCode::Ok if !self.written.is_empty() => format!("ok: {}", self.written),
            ErrorCode::Ok => format!("ok: {}", summary::Value(&self.value)),
            error => format!("error {}: {}", error.name(), summary::short(&self.message)),
        };
        if self.error != ErrorCode::Ok && !self.value.is_nil() {
            summary += &format!("; {}", summary::Value(&self.value));
        }
        if self.bytes_read > 0 {
            summary += &format!(", {} bytes read", self.bytes_read);
        }
        summary
    }

    fn new() -> Self {
        Self {
            value: Variant::nil(),
            error: ErrorCode::Ok,
            message: GString::new(),
            offset: NO_OFFSET,
            path: GString::new(),
            bytes_read: 0,
            failed: PackedInt32Array::new(),
            incomplete_rows: PackedInt64Array::new(),
            written: String::new(),
            reasons: Vec::new(),
            is_about_item: false,
        }
    }

    fn of_error(error: &Error) -> Self {
        Self {
            error: ErrorCode::from(error),
            message: GString::from(&error.to_string()),
            offset: error.offset().map_or(NO_OFFSET, |offset| offset as i64),
            path: GString::from(&error.path()),
            ..Self::new()
        }
    }
}

fn indexes(indexes: &[usize]) -> PackedInt32Array {
    indexes.iter().map(|&index| i32::try_from(index).unwrap_or(i32::MAX)).collect()
}

//! The class FastVariantView: parts of encoded data.

use godot::builtin::{
    AnyArray, AnyDictionary, GString, PackedByteArray, PackedInt64Array, VarArray, Variant,
};
use godot::classes::{IRefCounted, RefCounted};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd};
use godot::prelude::{GodotClass, VarDictionary, godot_api};
use variant_codec::format::MAX_KEY_DEPTH;
use variant_codec::{Error, ErrorKind, Result};
use variant_engine::{ContainerType, DictionaryOrEmpty, Reader, ValueOrNull, text_of};

use super::arguments::{OptionalLimits, strict_limits, type_of};
use super::guard::guard;
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::view::{Column, Format, Shown, Step, Test, ViewLimits, fill, get, matching, sought, steps};

/// Reads parts of an encoded value, or of a file of encoded values, without decoding the rest.
///
/// ```gdscript
/// var view := FastVariantView.open(var_to_bytes({"players": [{"name": "Ada", "hp": 87}]}))
/// print(view.fetch("players/0/hp")) # 87
/// print(view.columns("players", {"name": TYPE_STRING})) # { "name": ["Ada"] }
/// ```
///
/// [b]Paths.[/b] A path is an Array of keys and indexes, [code]["players", 0, "hp"][/code]; a String of text keys and
/// indexes, [code]"players/0/hp"[/code]; or one int. An empty path means the value itself. Negative indexes count from
/// the end. In a String, a number means the text key if the Dictionary has it, otherwise the int key or the index. Use
/// an Array for keys that contain [code]/[/code]. Use names for properties of objects, and indexes for elements of
/// packed arrays.
///
/// [b]Objects of registered classes.[/b] In data of [FastVariantClasses], the path of a value is the same whether its
/// object is shared or not: [code]"0/bag/items/0/id"[/code]. The steps of a path follow references, and lead into
/// typed containers and plain Dictionaries as if they had no tag. An object is a Dictionary of its properties, with its
/// class at [code]@class[/code]. Values inside a value that you fetch are as they are encoded: references stay
/// [code]{&"@ref": index}[/code]. A whole record as it is encoded is an element of [code]slice("", index, index +
/// 1)[/code]; [method FastVariantClasses.from_plain] makes its objects.
///
/// [b]Reading on demand.[/b] Opening a view reads nothing, except for files in [code]res://[/code]. To find a
/// value, the view uses lengths and counts to skip the data before it. It remembers the offsets of skipped
/// elements and keys, so the next access is fast. It checks only the value that you ask for, as strictly as
/// [method FastVariantCodec.try_decode], within the limits, with the same errors at the same bytes. It never
/// creates objects, whatever the limits allow: fetch their properties instead. It never finds a value that
/// decoding would not return: if a Dictionary repeats the key, or a typed container holds a value of another
/// type, the result is an error.
///
/// Any thread may use a view. A view of a buffer keeps the bytes as they were when it was opened. A view of a
/// file keeps the file open and finds records that are appended later. If the file is replaced, the view
/// continues to read the old file. Do not change existing records in the file: the view remembers their
/// offsets.
///
/// [b]Files that grow.[/b] A view shows the records of [method FastVariantCodec.append_batch] once the append is done.
/// During an append, it shows the earlier records. Only the view's first access waits for the append to end, at most 5
/// seconds. A view ignores a truncated last record, because a writer may not have completed it yet, unless the file has
/// no other record; [method FastVariantCodec.load_batch] reports such a record.
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantView {
    /// `None` if a script created the view with `new()`, or if the editor recreated it.
    shown: Option<Shown>,
}

#[godot_api]
impl IRefCounted for FastVariantView {
    fn init(_base: Base<RefCounted>) -> Self {
        Self { shown: None }
    }

    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantView.to_string", || {
            let holds = this.bind().summary();
            summary::of(&this, holds)
        })
    }
}

#[godot_api]
impl FastVariantView {
    /// Opens a view of the value encoded in [param bytes], which are shared, not copied. With [param godot3], they are
    /// in the format of Godot 3's [code]var2bytes[/code].
    ///
    /// [param limits] apply to each access: to all values that one call returns, together. The default is
    /// [method FastVariantLimits.for_save_files].
    #[func]
    fn open(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] godot3: bool,
    ) -> Option<Gd<Self>> {
        guard("FastVariantView.open", || {
            Some(Self::of(Shown::value(bytes, ViewLimits::new(strict_limits(limits)), format(godot3))))
        })
    }

    /// Opens a view of the records in [param bytes], as written by [method FastVariantCodec.pack_batch] or
    /// [method FileAccess.store_var]. It shows them as one Array. [param limits] and [param godot3] are as for
    /// [method open]; [member FastVariantLimits.max_bytes] applies to each record, and [member FastVariantLimits.max_memory]
    /// also to the compressed records that one call reads.
    #[func]
    fn open_records(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] godot3: bool,
    ) -> Option<Gd<Self>> {
        guard("FastVariantView.open_records", || {
            Some(Self::of(Shown::records(bytes, ViewLimits::new(strict_limits(limits)), format(godot3))))
        })
    }

    /// Opens a view of the records in the file at [param path], as written by [method FastVariantCodec.save_batch] or
    /// [method FileAccess.store_var]. It shows them as one Array. [param limits] and [param godot3] are as in
    /// [method open_records].
    ///
    /// The file may be larger than memory: the view reads on demand, and holds at most 1 MiB or one longer record at
    /// a time, also of records that were compressed. If the first record is damaged, the view reads up to 64 MiB to identify another format. The call waits
    /// for saves started earlier by [method FastVariantCodec.save_batch_async]. Files in [code]res://[/code] may
    /// be packed, so they are read as a whole, and later appends are not shown. The file stays open as long as the
    /// view lives: the view shows appended records, but not a file that replaces it. If records are overwritten in
    /// place, the view may mix old and new ones.
    ///
    /// If the file cannot be opened or has another format, the result is still a view, but each access fails with the
    /// same reason as [method FastVariantCodec.load_batch]; [method try_fetch] returns it.
    #[func]
    fn open_file(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] godot3: bool,
    ) -> Option<Gd<Self>> {
        guard("FastVariantView.open_file", || {
            Some(Self::of(Shown::file(&path, ViewLimits::new(strict_limits(limits)), format(godot3))))
        })
    }

    /// Decodes and returns the value at [param path], or [param default] if the path leads nowhere.
    ///
    /// If the value cannot be decoded, the result is [param default] and one error is printed; see [method try_fetch].
    // `this` keeps the object alive, here and in all methods: printing an error runs Loggers, which are
    // scripts and may drop the last other reference.
    #[func(gd_self)]
    fn fetch(
        this: Gd<Self>,
        path: Variant,
        #[opt(default = ValueOrNull::null())] default: ValueOrNull,
    ) -> Variant {
        guard("FastVariantView.fetch", || {
            Self::look(&this, "FastVariantView.fetch", &path, Missing::Quiet, Shown::fetch)
                .unwrap_or_else(|| default.get())
        })
    }

    /// Decodes and returns the value at [param path], or an error: [constant FastVariantCodec.NOT_FOUND] if the path
    /// leads nowhere. Prints nothing.
    ///
    /// [member FastVariantResult.offset] is the offset of the error, or of the end of the value, in the whole buffer or
    /// file. In compressed records, it is that of the block. Bytes after the value of a record are an error, unless [member FastVariantLimits.allow_trailing_bytes] is
    /// set.
    #[func(gd_self)]
    fn try_fetch(this: Gd<Self>, path: Variant) -> Gd<FastVariantResult> {
        guard("FastVariantView.try_fetch", || {
            let fetched = Self::shown(&this).and_then(|shown| {
                let (value, range) = shown.fetch_with_range(&steps(&path)?)?;
                Ok((value, range.map(|at| usize::try_from(at).unwrap_or(usize::MAX))))
            });
            match fetched {
                Ok((value, [start, end])) => FastVariantResult::decoded(value, start, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Returns [code]true[/code] if [param path] leads to a value. Decodes nothing.
    #[func(gd_self)]
    fn has(this: Gd<Self>, path: Variant) -> bool {
        guard("FastVariantView.has", || {
            Self::look(&this, "FastVariantView.has", &path, Missing::Quiet, Shown::ty).is_some()
        })
    }

    /// Returns the [enum Variant.Type] of the value at [param path]; -1 if the path leads nowhere. Decodes
    /// nothing.
    #[func(gd_self)]
    fn type_of(this: Gd<Self>, path: Variant) -> i64 {
        guard("FastVariantView.type_of", || {
            let found = Self::look(&this, "FastVariantView.type_of", &path, Missing::Quiet, Shown::ty);
            found.map_or(-1, |ty| ty.id().into())
        })
    }

    /// Returns the number of elements, entries, properties or records of the value at [param path]; 0 if it has none,
    /// and -1 if the path leads nowhere. Decodes nothing.
    #[func(gd_self)]
    fn size_of(this: Gd<Self>, path: Variant) -> i64 {
        guard("FastVariantView.size_of", || {
            let found = Self::look(&this, "FastVariantView.size_of", &path, Missing::Quiet, Shown::len);
            found.map_or(-1, |len| i64::try_from(len).unwrap_or(i64::MAX))
        })
    }

    /// Returns, in order, the keys of the Dictionary or the property names of the object at [param path]; an
    /// empty Array for other values. If the path leads nowhere, one error is printed.
    #[func(gd_self)]
    fn keys(this: Gd<Self>, path: Variant) -> AnyArray {
        guard("FastVariantView.keys", || {
            Self::look(&this, "FastVariantView.keys", &path, Missing::Printed, Shown::keys)
                .unwrap_or_else(no_elements)
        })
    }

    /// Decodes the elements of the Array or packed array at [param path], or the records, from [param begin]
    /// (inclusive) to [param end] (exclusive). The slice of a typed Array is typed. As in [method Array.slice],
    /// negative indexes count from the end. If the path leads nowhere, the result is empty and one error is printed.
    #[func(gd_self)]
    fn slice(this: Gd<Self>, path: Variant, begin: i64, #[opt(default = i64::MAX)] end: i64) -> AnyArray {
        guard("FastVariantView.slice", || {
            Self::look(&this, "FastVariantView.slice", &path, Missing::Printed, |shown, path| {
                shown.slice(path, begin, end)
            })
            .unwrap_or_else(no_elements)
        })
    }

    /// Reads fields of rows in one pass, and returns a Dictionary from the path of each field to its column. The rows are
    /// the elements of the Array at [param path], or the records. [param types] maps the path of each field to its type,
    /// one of [enum Variant.Type]; the empty path means the row itself.
    ///
    /// A column is a [PackedInt64Array] for [constant TYPE_INT], a [PackedFloat64Array] for [constant TYPE_FLOAT], a
    /// [PackedStringArray] for [constant TYPE_STRING] and [constant TYPE_STRING_NAME], a packed array of [Vector2],
    /// [Vector3], [Vector4] or [Color] for those types, and an [Array] for any other type.
    ///
    /// Rows that lack a field, or have it with another type, get the value for its path in [param defaults]. If there is
    /// none, cells of a packed array get the type's default (0, empty text, a zero vector), and cells of an [Array] get
    /// [code]null[/code]. [method try_columns] lists these rows.
    ///
    /// If [param path] leads nowhere, the result is empty and one error is printed. So it is if there are rows, but none
    /// has one of the fields with its type, unless [param defaults] says what they get.
    ///
    /// ```gdscript
    /// var view := FastVariantView.open(var_to_bytes([{"id": 1, "hp": 87}, {"id": 2}]))
    /// print(view.columns("", {"id": TYPE_INT, "hp": TYPE_INT}, {"hp": 100})) # { "id": [1, 2], "hp": [87, 100] }
    /// ```
    #[func(gd_self)]
    fn columns(
        this: Gd<Self>,
        path: Variant,
        types: AnyDictionary,
        #[opt(default = DictionaryOrEmpty::empty())] defaults: DictionaryOrEmpty,
    ) -> VarDictionary {
        guard("FastVariantView.columns", || {
            Self::look(&this, "FastVariantView.columns", &path, Missing::Printed, |shown, path| {
                columns(shown, path, &types, defaults.get())
            })
            .map_or_else(VarDictionary::new, |(columns, _)| columns)
        })
    }

    /// Returns the columns as [method columns] does with the same [param path], [param types] and [param defaults], or
    /// an error: [constant FastVariantCodec.NOT_FOUND] if no row has one of the fields with its type, and there is no
    /// default. [member FastVariantResult.incomplete_rows] has the indexes of rows that lack a field or have it with another
    /// type. Prints nothing.
    #[func(gd_self)]
    fn try_columns(
        this: Gd<Self>,
        path: Variant,
        types: AnyDictionary,
        #[opt(default = DictionaryOrEmpty::empty())] defaults: DictionaryOrEmpty,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantView.try_columns", || {
            let found = Self::shown(&this).and_then(|shown| {
                let (columns, incomplete) = columns(&shown, &steps(&path)?, &types, defaults.get())?;
                Ok(FastVariantResult::columns(columns.to_variant(), &incomplete))
            });
            found.unwrap_or_else(|error| FastVariantResult::failed(&error))
        })
    }

    /// Returns the indexes of the rows for which the comparison of the field at the path [param key] with [param value]
    /// is true, as in GDScript. Rows are at [param path], as in [method columns]. [param operator] is [code]"=="[/code],
    /// [code]"!="[/code], [code]"<"[/code], [code]"<="[/code], [code]">"[/code], [code]">="[/code] or
    /// [code]"in"[/code]. Rows that lack the field, or whose field cannot be compared with the value, are left out.
    /// Arrays are compared with [code]"=="[/code], [code]"!="[/code] and [code]"in"[/code] only. If there are rows, but
    /// none has the field, the result is empty and one error is printed.
    ///
    /// ```gdscript
    /// var view := FastVariantView.open(var_to_bytes([{"hp": 3}, {"hp": 87}]))
    /// print(view.rows("", "hp", "<", 10)) # [0]
    /// ```
    #[func(gd_self)]
    fn rows(
        this: Gd<Self>,
        path: Variant,
        key: Variant,
        operator: GString,
        value: Variant,
    ) -> PackedInt64Array {
        guard("FastVariantView.rows", || {
            Self::look(&this, "FastVariantView.rows", &path, Missing::Printed, |shown, path| {
                let test = Test::new(&text_of(&operator), &value)?;
                let rows = matching(shown, path, steps(&key)?, &test)?;
                Ok(PackedInt64Array::from(rows))
            })
            .unwrap_or_default()
        })
    }

    /// Returns a view of the value at [param path], in the same bytes. If the path leads nowhere, the result is
    /// [code]null[/code] and one error is printed.
    #[func(gd_self)]
    fn view(this: Gd<Self>, path: Variant) -> Option<Gd<Self>> {
        guard("FastVariantView.view", || {
            Self::look(&this, "FastVariantView.view", &path, Missing::Printed, Shown::part).map(Self::of)
        })
    }
}

/// The handling of a path that leads nowhere.
#[derive(PartialEq)]
enum Missing {
    Printed,
    /// The caller handles it.
    Quiet,
}

impl FastVariantView {
    fn of(shown: Shown) -> Gd<Self> {
        Gd::from_object(Self { shown: Some(shown) })
    }

    /// The bytes of the value at a path, in the buffer or file.
    pub fn byte_range(this: &Gd<Self>, path: &Variant) -> Result<[u64; 2]> {
        Self::shown(this)?.range(&steps(path)?)
    }

    /// The contents, cloned so that the object is not bound while they are read.
    fn shown(this: &Gd<Self>) -> Result<Shown> {
        this.bind().shown.clone().ok_or_else(|| {
            Error::argument(
                "the view shows nothing: created by a script with new(), or emptied when the editor reloaded the extension",
            )
        })
    }

    /// Calls `look` with the steps of a path, and prints an error, if any. With [`Missing::Quiet`], does not
    /// print that the path leads nowhere.
    fn look<R>(
        this: &Gd<Self>,
        method: &str,
        path: &Variant,
        missing: Missing,
        look: impl FnOnce(&Shown, &[Step]) -> Result<R>,
    ) -> Option<R> {
        let found = Self::shown(this).and_then(|shown| look(&shown, &steps(path)?));
        found
            .map_err(|error| {
                if missing == Missing::Printed || !matches!(error.kind(), ErrorKind::NotFound { .. }) {
                    report::failure(method, &error);
                }
            })
            .ok()
    }

    fn summary(&self) -> String {
        let Some(shown) = &self.shown else { return "shows nothing".to_owned() };
        match (shown, shown.ty(&[])) {
            (Shown::Records(_), _) => "records".to_owned(),
            (_, Ok(ty)) => match shown.len(&[]) {
                Ok(len) if len > 0 => {
                    format!("{ty}, {}", summary::count(len as usize, "element", "elements"))
                }
                _ => ty.to_string(),
            },
            (_, Err(error)) => summary::short(error),
        }
    }
}

fn no_elements() -> AnyArray {
    VarArray::new().upcast_any_array()
}

fn format(godot3: bool) -> Format {
    if godot3 { Format::Godot3 } else { Format::Godot4 }
}

/// The columns by key, and the indexes of the rows that lack a field or have it with another type.
fn columns(
    shown: &Shown,
    path: &[Step],
    types: &AnyDictionary,
    defaults: &AnyDictionary,
) -> Result<(VarDictionary, Vec<usize>)> {
    let (reader, types) = (Reader::new(), types.to_variant());
    let (mut keys, mut columns) = (Vec::new(), Vec::new());
    let (mut entries, _) = reader.entries(&types, true);
    while let Some((key, ty)) = reader.next_entry(&mut entries) {
        let ty = type_of(ty.try_to::<i64>().map_err(|_| {
            Error::argument("the types of columns are a Dictionary of key and Variant.Type")
        })?)?;
        let limit = MAX_KEY_DEPTH;
        let key = sought(&ContainerType::Untyped, key).ok_or(ErrorKind::KeyTooDeep { limit })?;
        let default = get(defaults, &key).unwrap_or_default();
        columns.push(Column::new(steps(&key)?, ty, &default)?);
        keys.push(key);
    }
    let incomplete = fill(shown, path, &mut columns)?;
    let mut found = VarDictionary::new();
    for (key, column) in keys.iter().zip(columns) {
        found.set(key, &column.into_variant());
    }
    Ok((found, incomplete))
}

// The calls of FastVariantCodec as typed methods: Godot generates no C# classes for a GDExtension.
// The addon's tests check that each method called here exists. They do not run this file, which needs a .NET build
// of Godot.

using System.Threading.Tasks;
using Godot;
using Godot.Collections;

/// <summary>Encodes and decodes Variants. See the editor's help for FastVariantCodec (F1).</summary>
public static class FastVariant
{
    private static readonly StringName Codec = "FastVariantCodec";
    private static readonly StringName LimitsClass = "FastVariantLimits";
    private static readonly StringName ViewClass = "FastVariantView";
    private static readonly StringName PatchClass = "FastVariantPatch";

    /// <summary>The result of a call that may fail: a value, or an error with its reason.</summary>
    public sealed class Result
    {
        private readonly GodotObject _result;

        internal Result(GodotObject result)
        {
            _result = result;
        }

        public bool IsOk => Error == 0;
        /// <summary>The decoded value, or the encoded bytes. After an error in a record, the values of the records
        /// before it.</summary>
        public Variant Value => _result.Get("value");
        /// <summary>A code of FastVariantCodec.CodecError; 0 is OK.</summary>
        public long Error => _result.Get("error").AsInt64();
        /// <summary>The reason for the error, for your log.</summary>
        public string Message => _result.Get("message").AsString();
        /// <summary>The byte offset of the error, or -1.</summary>
        public long Offset => _result.Get("offset").AsInt64();
    }

    /// <summary>Reads parts of encoded data without decoding the rest.</summary>
    public sealed class View
    {
        private readonly GodotObject _view;

        internal View(GodotObject view)
        {
            _view = view;
        }

        /// <summary>The value at a path such as "players/0/hp", or a default if the path leads nowhere.</summary>
        public Variant Fetch(Variant path, Variant otherwise = default(Variant)) => _view.Call("fetch", path, otherwise);
        public Result TryFetch(Variant path) => new Result(_view.Call("try_fetch", path).AsGodotObject());
        public bool Has(Variant path) => _view.Call("has", path).AsBool();
        public long SizeOf(Variant path) => _view.Call("size_of", path).AsInt64();
        /// <summary>Fields of all rows: the path of each field, with its column. Types maps the paths to numbers of
        /// Variant.Type. A column is a packed array if the type has one, otherwise an Array.</summary>
        public Dictionary Columns(Variant path, Dictionary types) =>
            _view.Call("columns", path, types).AsGodotDictionary();
    }

    /// <summary>Limits for packets from untrusted peers.</summary>
    public static Resource LimitsForNetwork() => (Resource)Static(LimitsClass, "for_network").AsGodotObject();

    /// <summary>Limits for the game's own files, the default.</summary>
    public static Resource LimitsForSaveFiles() => (Resource)Static(LimitsClass, "for_save_files").AsGodotObject();

    public static byte[] Encode(Variant value, bool fullObjects = false) =>
        Call("encode", value, fullObjects).AsByteArray();

    public static Variant Decode(byte[] bytes, bool allowObjects = false) => Call("decode", bytes, allowObjects);

    public static Result TryEncode(Variant value, bool fullObjects = false) =>
        ResultOf(Call("try_encode", value, fullObjects));

    public static Result TryDecode(byte[] bytes, Resource limits = null) =>
        ResultOf(Call("try_decode", bytes, limits));

    /// <summary>Encodes each value to a buffer of its own, on all cores.</summary>
    public static Array<byte[]> EncodeBatch(Godot.Collections.Array values, bool fullObjects = false) =>
        Call("encode_batch", values, fullObjects).AsGodotArray<byte[]>();

    public static Godot.Collections.Array DecodeBatch(Array<byte[]> buffers, bool allowObjects = false) =>
        Call("decode_batch", buffers, allowObjects).AsGodotArray();

    /// <summary>Atomically replaces a file with one record per value.</summary>
    public static Result SaveBatch(string path, Godot.Collections.Array values, bool fullObjects = false) =>
        ResultOf(Call("save_batch", path, values, fullObjects));

    public static Result AppendBatch(string path, Godot.Collections.Array values, bool fullObjects = false) =>
        ResultOf(Call("append_batch", path, values, fullObjects));

    public static Result LoadBatch(string path, Resource limits = null) => ResultOf(Call("load_batch", path, limits));

    public static Task<Result> SaveBatchAsync(string path, Godot.Collections.Array values, bool fullObjects = false) =>
        ResultOfJob(Call("save_batch_async", path, values, fullObjects));

    public static Task<Result> LoadBatchAsync(string path, Resource limits = null) =>
        ResultOfJob(Call("load_batch_async", path, limits));

    public static View Open(byte[] bytes, Resource limits = null) =>
        new View(Static(ViewClass, "open", bytes, limits).AsGodotObject());

    public static View OpenFile(string path, Resource limits = null) =>
        new View(Static(ViewClass, "open_file", path, limits).AsGodotObject());

    /// <summary>A patch: the changes from one encoded value to another. TryApply applies it.</summary>
    public static byte[] Diff(byte[] old, byte[] now, Resource limits = null) =>
        Static(PatchClass, "diff", old, now, limits).AsByteArray();

    public static Result TryApply(byte[] old, byte[] patch, Resource limits = null) =>
        ResultOf(Static(PatchClass, "try_apply", old, patch, limits));

    /// <summary>Calls any other method of FastVariantCodec by its name.</summary>
    public static Variant Call(StringName method, params Variant[] arguments) => Static(Codec, method, arguments);

    private static Variant Static(StringName type, StringName method, params Variant[] arguments) =>
        ClassDB.ClassCallStatic(type, method, arguments);

    private static Result ResultOf(Variant result) => new Result(result.AsGodotObject());

    private static async Task<Result> ResultOfJob(Variant job)
    {
        GodotObject started = job.AsGodotObject();
        Variant[] emitted = await started.ToSignal(started, "completed");
        return ResultOf(emitted[0]);
    }
}

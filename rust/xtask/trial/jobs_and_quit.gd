extends SceneTree
## Quits with jobs of all kinds in all stages. Only the save must complete. A run with --check checks the
## saved file.

const PATH := "user://jobs_and_quit.dat"

## Jobs that are still held when the engine quits.
var held: Array[FastVariantJob] = []


func _initialize() -> void:
	if OS.get_cmdline_user_args().has("--check"):
		var saved: Variant = FastVariantCodec.load_batch(PATH).value
		DirAccess.remove_absolute(PATH)
		quit(0 if saved is Array and saved.size() == 200_000 else 1)
		return
	var values := range(200_000)
	var buffers := FastVariantCodec.encode_batch(values)
	held.append(FastVariantCodec.decode_batch_async(buffers))
	held.append(FastVariantCodec.decode_batch_async(_nodes(), _with_objects()))
	FastVariantCodec.encode_batch_async(values)
	FastVariantCodec.decode_batch_async(buffers).completed.connect(func(_result: FastVariantResult) -> void: pass)
	FastVariantCodec.load_batch_async("user://none")
	FastVariantCodec.save_batch_async(PATH, values)
	if OS.get_cmdline_user_args().has("--later"):
		await process_frame
	quit(0)


func _nodes() -> Array[PackedByteArray]:
	var node := Node.new()
	var buffers: Array[PackedByteArray] = []
	buffers.resize(20_000)
	buffers.fill(var_to_bytes_with_objects(node))
	node.free()
	return buffers


func _with_objects() -> FastVariantLimits:
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	return limits

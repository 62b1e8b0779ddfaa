@tool
extends RefCounted
## Replaces the addon's library while threads call it, and reloads it as the editor does when it regains the focus after
## a build.

const EXTENSION := "res://addons/fast_variant_codec/fast_variant_codec.gdextension"
const PATH := "user://reload.dat"
const ROUNDS := 5
const THREADS := 2
const NODES := 50

var _threads: Array[Thread] = []
var _batch: Array[Dictionary] = []
var _stopping := false
var _calls := 0


## Moves the file `replacement` to `library`, reloads the addon several times, and prints the results.
func run(library: String, replacement: String) -> void:
	for i in 5000:
		_batch.append({"id": i, "text": "text %d" % i, "numbers": [i, i, i]})
	var limits := FastVariantLimits.for_network()
	var saved := true
	DirAccess.rename_absolute(replacement, library)
	var calls := 0
	var freed := true
	for round in ROUNDS:
		var nodes := _orphans()
		var jobs := _start_jobs(round)
		jobs.append_array(_start_jobs_with_nodes())
		freed = freed and _orphans() > nodes + NODES
		_reload()
		calls += _calls
		jobs.clear()
		freed = freed and _orphans() <= nodes
		saved = saved and FastVariantCodec.load_batch(PATH).value == [round] + _batch
	DirAccess.remove_absolute(PATH)
	print("reload: calls during all reloads: %s, saved: %s, Nodes freed: %s, limits kept: %s, message: %s" % [
		calls >= ROUNDS, saved, freed, limits.max_bytes == 1 << 20, FastVariantCodec.try_decode(PackedByteArray([99, 0, 0, 0])).message,
	])


## Jobs in all stages, and a result, which exist during the reload.
func _start_jobs(round: int) -> Array[RefCounted]:
	var buffers := FastVariantCodec.encode_batch(_batch)
	var jobs: Array[RefCounted] = [
		FastVariantCodec.save_batch_async(PATH, [round] + _batch), FastVariantCodec.decode_batch_async(buffers),
		FastVariantCodec.encode_batch_async(_batch), FastVariantCodec.load_batch_async(PATH),
		FastVariantCodec.try_decode(buffers[0]),
	]
	FastVariantCodec.decode_batch_async(buffers)
	(jobs[1] as FastVariantJob).completed.connect(func(_result: FastVariantResult) -> void: pass)
	return jobs


## Two jobs that create Nodes: one done, one with Nodes left to create. Nothing has requested their results.
func _start_jobs_with_nodes() -> Array[RefCounted]:
	var node := Node.new()
	var buffers: Array[PackedByteArray] = []
	buffers.resize(100_000)
	buffers.fill(var_to_bytes_with_objects(node))
	node.free()
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	var jobs: Array[RefCounted] = []
	for count: int in [NODES, buffers.size()]:
		var job := FastVariantCodec.decode_batch_async(buffers.slice(0, count), limits)
		job.progressed.connect(func(_done: int, _total: int) -> void: pass)
		# Simulates the next frames. Another thread decodes first, so the first frames may have nothing to do.
		while job.get_progress() == 0.0 or count == NODES and not job.is_completed():
			job.call(&"_frame", job)
		jobs.append(job)
	return jobs


func _orphans() -> int:
	return roundi(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT))


func _reload() -> void:
	_stopping = false
	_calls = 0
	for i in THREADS:
		_threads.append(Thread.new())
		_threads[i].start(_call)
	while _calls == 0:
		OS.delay_msec(1)
	GDExtensionManager.extension_unloading.connect(_stop, CONNECT_ONE_SHOT)
	if GDExtensionManager.reload_extension(EXTENSION) != GDExtensionManager.LOAD_STATUS_OK:
		push_error("The extension was not reloaded.")


## Ends the threads. A script whose threads call an extension must end them before the editor unloads the
## extension.
func _stop(_extension: GDExtension) -> void:
	_stopping = true
	for thread in _threads:
		thread.wait_to_finish()
	_threads.clear()


func _call() -> void:
	while not _stopping:
		if FastVariantCodec.decode_batch(FastVariantCodec.encode_batch(_batch)) != _batch:
			push_error("A batch did not come back as it was.")
		_calls += 1

## What a load in the background does to the frames of a scene, for `cargo xtask frames`: a window, some thousand moving
## things, and frame times without and with a file of 200 MB being loaded.
extends SceneTree

const PATH := "user://frames.dat"
const BYTES := 200_000_000
const THINGS := 3000
const CAPS: Array[int] = [60, 0]
## Frames without a load.
const FRAMES := 600


## Things that move and are drawn anew in each frame.
class Field:
	extends Node2D
	var _places := PackedVector2Array()
	var _speeds := PackedVector2Array()

	func _init() -> void:
		for index in THINGS:
			_places.append(Vector2(randf() * 1152, randf() * 648))
			_speeds.append(Vector2.from_angle(randf() * TAU) * 60)

	func _process(delta: float) -> void:
		for index in _places.size():
			_places[index] = (_places[index] + _speeds[index] * delta).posmodv(Vector2(1152, 648))
		queue_redraw()

	func _draw() -> void:
		for place in _places:
			draw_rect(Rect2(place, Vector2(4, 4)), Color.CORNFLOWER_BLUE)


func _initialize() -> void:
	if DisplayServer.get_name() == "headless":
		printerr("frames.gd needs a window; run `cargo xtask frames`")
		quit(1)
		return
	DisplayServer.window_set_vsync_mode(DisplayServer.VSYNC_DISABLED)
	root.add_child(Field.new())
	_run()


func _run() -> void:
	print("Godot %s, %s, %d processors, %d things drawn" % [
		Engine.get_version_info()["string"], RenderingServer.get_video_adapter_name(), OS.get_processor_count(), THINGS,
	])
	var values := _write_file()
	print("%d values in %d bytes" % [values, FileAccess.get_file_as_bytes(PATH).size()])
	print("%-32s %8s %10s %10s %10s %10s" % ["frames", "count", "mean ms", "95 % ms", "99 % ms", "longest"])
	for cap in CAPS:
		Engine.max_fps = cap
		var label := "at most %d a second" % cap if cap else "as many as there can be"
		for index in 30:
			await process_frame
		var idle := await _measure(func(frame: int) -> bool: return frame < FRAMES)
		_print_row(label, idle)
		var started := Time.get_ticks_msec()
		var job := FastVariantCodec.load_batch_async(PATH)
		var busy := await _measure(func(_frame: int) -> bool: return not job.is_done())
		var took := Time.get_ticks_msec() - started
		var result := job.wait()
		_print_row("  while %.1f s of loading" % (took / 1000.0), busy)
		print("  more on average: %.2f ms" % (_mean(busy) - _mean(idle)))
		if not result.is_ok() or result.value.size() != values:
			printerr("the load failed: %s" % result.message)
			quit(1)
			return
	DirAccess.remove_absolute(PATH)
	quit(0)


## Frame times in milliseconds, as long as `goes_on` says so.
func _measure(goes_on: Callable) -> PackedFloat64Array:
	var times := PackedFloat64Array()
	await process_frame
	var before := Time.get_ticks_usec()
	while goes_on.call(times.size()):
		await process_frame
		var now := Time.get_ticks_usec()
		times.append((now - before) / 1000.0)
		before = now
	return times


func _print_row(label: String, times: PackedFloat64Array) -> void:
	var sorted := times.duplicate()
	sorted.sort()
	print("%-32s %8d %10.2f %10.2f %10.2f %10.2f" % [
		label, sorted.size(), _mean(times), sorted[int(sorted.size() * 0.95)], sorted[int(sorted.size() * 0.99)], sorted[-1],
	])


func _mean(times: PackedFloat64Array) -> float:
	var sum := 0.0
	for time in times:
		sum += time
	return sum / maxi(times.size(), 1)


func _write_file() -> int:
	var batch: Array = []
	for index in 10_000:
		batch.append({
			"id": index, "name": "entity %d" % index, "position": Vector3(index, 1, 2), "hp": 87.5, "alive": true,
			"tags": ["enemy", "boss"], "inventory": {"gold": 12, "items": PackedInt32Array([1, 5, 9])},
		})
	var times := ceili(float(BYTES) / FastVariantCodec.pack_batch(batch).size())
	DirAccess.remove_absolute(PATH)
	for index in times:
		FastVariantCodec.append_batch(PATH, batch)
	return times * batch.size()

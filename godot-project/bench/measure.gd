## Times one direction of a form in rounds of three samples: engine, codec, and an idle loop.
extends RefCounted

## The minimum duration of a sample, so that the clock's resolution of microseconds does not matter.
const SAMPLE_USEC := 2000.0
const MOST_CALLS := 10000
const MOST_PAIRS := 300


## Nanoseconds per call, for the call and for freeing its result.
class Samples:
	extends RefCounted
	var times: Array[float] = []
	var free_times: Array[float] = []

	## Times `action`, which fills `kept` with one result per call. Then times freeing the results.
	func add(action: Callable, kept: Array) -> void:
		var started := Time.get_ticks_usec()
		action.call(kept)
		var ended := Time.get_ticks_usec()
		kept.fill(null)
		var freed := Time.get_ticks_usec()
		times.append((ended - started) * 1000.0 / kept.size())
		free_times.append((freed - ended) * 1000.0 / kept.size())


## Takes at least `pairs` rounds of samples, and more, up to MOST_PAIRS, until `seconds` have passed.
static func of(form: RefCounted, op: String, pairs: int, seconds: float) -> Dictionary:
	var engine_call := Callable(form, op + "_engine")
	var codec_call := Callable(form, op + "_codec")
	var kept := []
	kept.resize(_calls_in_a_sample(engine_call))
	for warm_up in 2:
		engine_call.call(kept)
		kept.fill(null)
		codec_call.call(kept)
		kept.fill(null)

	var engine := Samples.new()
	var codec := Samples.new()
	var idle := Samples.new()
	var started := Time.get_ticks_usec()
	while engine.times.size() < pairs or (
			engine.times.size() < MOST_PAIRS and Time.get_ticks_usec() - started < seconds * 1e6):
		engine.add(engine_call, kept)
		codec.add(codec_call, kept)
		idle.add(form.idle, kept)
	return {
		"engine": engine.times, "codec": codec.times, "idle": idle.times,
		"engine_free": engine.free_times, "codec_free": codec.free_times,
	}


static func _calls_in_a_sample(action: Callable) -> int:
	var kept := []
	kept.resize(1)
	action.call(kept)
	var samples := Samples.new()
	while samples.times.size() < 5:
		samples.add(action, kept)
	return clampi(int(SAMPLE_USEC * 1000.0 / maxf(samples.times.min(), 1.0)), 1, MOST_CALLS)

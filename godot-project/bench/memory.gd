## What one call adds to the memory of this process, as Linux counts it; nulls elsewhere.
##
## In a process of its own: memory that an earlier call has freed may be used again without being counted.
extends RefCounted


## `peak`: the most that was used at any time during the call. `held`: what remains with the result, which is alive.
## `kept`: what remains without it.
static func of(form: RefCounted, side: String, op: String) -> Dictionary:
	form.wake_workers()
	var action := Callable(form, "%s_%s" % [op, side])
	var results := [null]
	if not _reset_peak():
		return {"peak": null, "held": null, "kept": null}
	var before := bytes("VmRSS")
	action.call(results)
	var peak := bytes("VmHWM")
	var held := bytes("VmRSS")
	results.fill(null)
	return {"peak": peak - before, "held": held - before, "kept": bytes("VmRSS") - before}


static func _reset_peak() -> bool:
	var file := FileAccess.open("/proc/self/clear_refs", FileAccess.WRITE)
	return file != null and file.store_string("5")


## What this process has of a field of /proc/self/status now, in bytes; 0 where there is no such file.
static func bytes(field: String) -> int:
	var file := FileAccess.open("/proc/self/status", FileAccess.READ)
	while file and not file.eof_reached():
		var line := file.get_line()
		if line.begins_with(field + ":"):
			return int(line) * 1024
	return 0

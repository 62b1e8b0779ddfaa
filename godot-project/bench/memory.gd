## The memory of this process, as Linux counts it.
extends RefCounted


## A field of /proc/self/status now, in bytes; 0 if there is no such file.
static func bytes(field: String) -> int:
	var file := FileAccess.open("/proc/self/status", FileAccess.READ)
	while file and not file.eof_reached():
		var line := file.get_line()
		if line.begins_with(field + ":"):
			return int(line) * 1024
	return 0

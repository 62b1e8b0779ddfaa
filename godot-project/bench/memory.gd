## The memory of this process, as Linux counts it.
extends RefCounted


## The present value of a field of /proc/self/status in bytes; 0 if the file does not exist.
static func bytes(field: String) -> int:
	var file := FileAccess.open("/proc/self/status", FileAccess.READ)
	while file and not file.eof_reached():
		var line := file.get_line()
		if line.begins_with(field + ":"):
			return int(line) * 1024
	return 0

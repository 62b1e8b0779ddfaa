## Reads and writes values with the plain engine: `--script res://echo.gd -- INPUT OUTPUT`.
##
## Each record of the input file is a value's bytes after their length (u32). Each of the output is the number of bytes
## that the engine reads, 0 where it refuses them (u32), then the value written again after its length (u32).
extends SceneTree


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	var files := OS.get_cmdline_user_args()
	var input := FileAccess.open(files[0], FileAccess.READ)
	var output := FileAccess.open(files[1], FileAccess.WRITE)
	Engine.print_error_messages = false
	while input.get_position() < input.get_length():
		var bytes := input.get_buffer(input.get_32())
		var consumed := bytes.decode_var_size(0) if bytes.has_encoded_var(0) else 0
		var again := var_to_bytes(bytes_to_var(bytes)) if consumed > 0 else PackedByteArray()
		output.store_32(consumed)
		output.store_32(again.size())
		output.store_buffer(again)
	Engine.print_error_messages = true
	output.close()
	quit(0)

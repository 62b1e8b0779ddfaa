# Reads and writes values: godot3-server --path tests/godot3 -s res://echo.gd --input FILE --output FILE
#
# Each input record is the length-prefixed bytes of a value. Each output record is a number, the
# length-prefixed rewritten value, and its length-prefixed text. The number is 1. If the engine refuses the
# bytes, the number is 0, and the value and the text are empty. On refusal, the engine ends the calling
# function with a script error.
extends SceneTree

const Describe := preload("res://describe.gd")
const Options := preload("res://options.gd")


func _init() -> void:
	OS.exit_code = 1  # The exit code if a script error ends this function early.
	var input := File.new()
	var output := File.new()
	input.open(Options.read("input"), File.READ)
	output.open(Options.read("output"), File.WRITE)
	while input.get_position() < input.get_len():
		var read = _read(input.get_buffer(input.get_32()))
		output.store_32(0 if read == null else 1)
		var again := PoolByteArray() if read == null else var2bytes(read[0])
		output.store_32(again.size())
		output.store_buffer(again)
		output.store_pascal_string("" if read == null else Describe.of(read[0]))
	output.close()
	print("@@ end")
	quit(0)


# The value in an Array; null if the engine refuses.
func _read(bytes: PoolByteArray):
	var value = bytes2var(bytes)
	return [value]

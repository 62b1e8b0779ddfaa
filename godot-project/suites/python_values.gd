## Exchanges random values and compressed files with `rust/python/tests/exchange.py`, for `cargo xtask test`.
## `-- write FILE COUNT` writes them, and `-- compare FILE OTHER` compares them with what Python read and wrote.
extends SceneTree

const RandomValues := preload("res://suites/random_values.gd")
const ROWS := 5000


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	var arguments := OS.get_cmdline_user_args()
	if arguments[0] == "write":
		quit(_write(arguments[1], arguments[2].to_int()))
	else:
		quit(_compare(arguments[1], arguments[2]))


func _write(path: String, count: int) -> int:
	var generator := RandomNumberGenerator.new()
	generator.seed = 1
	var random := RandomValues.new(generator)
	var file := FileAccess.open(path, FileAccess.WRITE)
	for i in count:
		# The values of all types in turn, and the containers that may hold them; every fourth value with its objects.
		file.store_var(random.nested() if i % 2 else random.of_type((i >> 1) % TYPE_MAX, 0), i % 8 > 5)
	FastVariantCodec.save_batch(path + ".blocks", _rows(), false, true)
	FastVariantCodec.save(path + ".save", _rows(), {"rows": ROWS}, true)
	print("%d records" % count)
	return 0


## Values for compressed files.
func _rows() -> Array:
	return range(ROWS).map(func(i: int) -> Dictionary: return {"id": i, &"name": "row %d" % i, "at": Vector2(i, 0.5)})


func _compare(path: String, other: String) -> int:
	var written := _records(path)
	var returned := _records(other)
	var passed := 0
	for i in mini(written.size(), returned.size()):
		if written[i] == returned[i]:
			passed += 1
		else:
			print("record %d: %s\n%s" % [i, written[i].hex_encode(), returned[i].hex_encode()])
	var failed := maxi(written.size(), returned.size()) - passed
	for saved: FastVariantResult in [FastVariantCodec.load(other + ".save"), FastVariantCodec.load_batch(other + ".rows")]:
		if saved.value == _rows():
			passed += 1
		else:
			print(saved.message)
			failed += 1
	print("\n%d passed, %d failed" % [passed, failed])
	return 0 if failed == 0 else 1


func _records(path: String) -> Array[PackedByteArray]:
	var file := FileAccess.open(path, FileAccess.READ)
	var records: Array[PackedByteArray] = []
	while file.get_position() < file.get_length():
		records.append(file.get_buffer(file.get_32()))
	return records

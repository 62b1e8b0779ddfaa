extends RefCounted
## Compares a batch's bytes with the engine's, encodes a message with a schema of the project, and loads a resource.

## The example of the official protobuf documentation (150 in field 1), wrapped in field 1 of another message.
const MESSAGE: PackedByteArray = [0x0a, 0x03, 0x08, 0x96, 0x01]


## Prints the verdict and returns the exit code.
static func run() -> int:
	var values := [1, "two", {"three": 3}]
	for i in 20_000:
		values.append({"id": i, "name": "item %d" % i, "at": Vector2(i, -i)})
	var buffers := FastVariantCodec.encode_batch(values)
	var failed := absi(values.size() - buffers.size())
	for i in mini(values.size(), buffers.size()):
		if buffers[i] != var_to_bytes(values[i]):
			failed += 1
	var schema := FastProtobufSchema.load_file("res://messages/snapshot.proto")
	if not schema or schema.encode("Snapshot", {"numbers": [{"a": 150}]}) != MESSAGE:
		failed += 1
	var classes := FastVariantClasses.new()
	classes.allow_resources("res://", ["TrialStats"])
	# The resource is not loaded yet, and is a binary file in an exported game.
	var read := classes.try_from_plain({&"@resource": "", "path": "res://stats.tres"})
	if not read.is_ok() or read.value.hp != 7:
		print("a resource: %s" % read.message)
		failed += 1
	print("%d passed, %d failed" % [values.size() + 2 - failed, failed])
	return 1 if failed else 0

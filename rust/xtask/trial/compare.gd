extends RefCounted
## A batch, compared with the engine's own function.


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
	print("%d passed, %d failed" % [values.size() - failed, failed])
	return 1 if failed else 0

## Batches: order, sizes, argument types, failing items, and one call in place of a loop over var_to_bytes.
extends "res://suites/suite.gd"


func test_empty_and_tiny_batches() -> bool:
	checks.subject(TYPE_ARRAY, "empty batch")
	checks.same_value("encode", buffers_of([]), FastVariantCodec.encode_batch([]))
	checks.same_value("decode", [], FastVariantCodec.decode_batch([]))
	checks.same_value("decode, typed argument", [], FastVariantCodec.decode_batch(buffers_of([])))
	for size in range(1, 40):
		checks.subject(TYPE_ARRAY, "batch of %d" % size)
		_check_batch(range(size))
	return true


func test_order_is_kept() -> bool:
	checks.subject(TYPE_INT, "batch of 20000")
	_check_batch(range(20000))
	checks.subject(TYPE_STRING, "batch of 10000, sizes mixed")
	_check_batch(range(10000).map(func(i: int) -> String: return "x".repeat((i * 37) % 211)))
	checks.subject(TYPE_ARRAY, "batch with a few large items")
	var mixed: Array = []
	for i in 300:
		mixed.append(range(20000) if i % 100 == 50 else [i])
	_check_batch(mixed)
	return true


func test_typed_arguments() -> bool:
	var ints: Array[int] = []
	var dictionaries: Array[Dictionary] = []
	var typed_dictionaries: Array[Dictionary] = []
	var bytes: Array[PackedByteArray] = []
	var objects: Array[RefCounted] = []
	for i in 1000:
		ints.append(i * i)
		dictionaries.append({"id": i})
		typed_dictionaries.append(Dictionary({"id": i}, TYPE_STRING, "", null, TYPE_INT, "", null))
		bytes.append(var_to_bytes(i))
		objects.append(RefCounted.new() if i % 2 else null)
	var batches: Dictionary[String, Array] = {
		"Array[int]": ints, "Array[Dictionary]": dictionaries, "Array[Dictionary] of typed ones": typed_dictionaries,
		"Array[PackedByteArray]": bytes, "Array[RefCounted]": objects, "read-only": values.READ_ONLY_ARRAY,
		"read-only, typed": values.READ_ONLY_TYPED_ARRAY,
	}
	for batch_name in batches:
		checks.subject(TYPE_ARRAY, "argument " + batch_name)
		_check_batch(batches[batch_name])
	checks.subject(TYPE_ARRAY, "decode_batch takes Array and Array[PackedByteArray]")
	checks.same_value("untyped", range(1000), FastVariantCodec.decode_batch(Array(bytes, TYPE_NIL, "", null)))
	checks.same_value("typed", range(1000), FastVariantCodec.decode_batch(bytes))
	return true


func test_result_types() -> bool:
	checks.subject(TYPE_ARRAY, "result types")
	var buffers := FastVariantCodec.encode_batch([1, 2])
	checks.same_int("encode_batch gives Array[PackedByteArray]", TYPE_PACKED_BYTE_ARRAY, buffers.get_typed_builtin())
	checks.truth("decode_batch gives an untyped Array", not FastVariantCodec.decode_batch(buffers).is_typed())
	buffers.append(PackedByteArray([1]))
	buffers[0][0] = 9
	checks.same_value("buffers are the caller's own", var_to_bytes(2), buffers[1])
	return true


func test_argument_is_left_alone() -> bool:
	checks.subject(TYPE_ARRAY, "argument unchanged")
	var batch: Array = [[1, {"a": "b"}], {"k": PackedStringArray(["x"])}, "text"]
	var before := batch.duplicate(true)
	var buffers := FastVariantCodec.encode_batch(batch)
	checks.same_value("values", before, batch)
	var copies := buffers.duplicate()
	FastVariantCodec.decode_batch(buffers)
	checks.same_value("buffers", copies, buffers)
	return true


## The slot of a failed item contains what the engine's function returns for this item.
func test_failing_items() -> bool:
	var batch: Array = []
	var buffers: Array = []
	var broken := PackedByteArray([0x27, 0, 0, 0])
	for i in 500:
		batch.append(Values.nested_arrays(1026) if i % 7 == 3 else [i])
		buffers.append(broken if i % 11 == 5 else var_to_bytes({i: "value"}))
	var encoded := Oracle.codec_encode_batch(batch)
	var decoded := Oracle.codec_decode_batch(buffers)
	for i in 500:
		checks.subject(TYPE_ARRAY, "batch with failing items")
		checks.same_bytes("encoded slot %d" % i, Oracle.engine_encode(batch[i]), encoded[i])
		checks.same_value("decoded slot %d" % i, Oracle.engine_decode(buffers[i]), decoded[i])
	checks.subject(TYPE_ARRAY, "items that are no buffers")
	var decoded_all := Oracle.codec_decode_batch([var_to_bytes(1), 5, "text", null, var_to_bytes(2)])
	checks.same_value("their slots are null", [1, null, null, null, 2], decoded_all)
	checks.subject(TYPE_ARRAY, "batch of failing items only")
	checks.same_value("encoded", Values.filled(50, PackedByteArray()), Array(
			Oracle.codec_encode_batch(Values.filled(50, Values.nested_arrays(1026))), TYPE_NIL, "", null))
	checks.same_value("decoded", Values.filled(50, null), Oracle.codec_decode_batch(Values.filled(50, broken)))
	return true


func test_loop_replaced_for_50000_dictionaries() -> bool:
	checks.subject(TYPE_DICTIONARY, "50000 dictionaries")
	var entities: Array[Dictionary] = []
	for i in 50000:
		entities.append({
			"id": i, "name": "entity_%d" % i, "hp": i * 0.1, "alive": i % 3 != 0, "position": Vector3(i, i * 0.5, -i),
			"tags": PackedStringArray(["a", "é%d" % (i % 10)]), &"team": &"red" if i % 2 else &"blue",
		})
	var expected: Array[PackedByteArray] = []
	for entity in entities:
		expected.append(var_to_bytes(entity))
	var buffers := FastVariantCodec.encode_batch(entities)
	checks.same_int("count", 50000, buffers.size())
	checks.truth("all buffers are identical", buffers == expected)
	var decoded := FastVariantCodec.decode_batch(buffers)
	checks.same_value("decoded", Array(entities, TYPE_NIL, "", null), decoded)
	return true


func _check_batch(batch: Array) -> void:
	var expected := buffers_of(batch)
	var buffers := FastVariantCodec.encode_batch(batch)
	checks.same_value("encode_batch", expected, buffers)
	var values_back: Array = []
	for buffer in expected:
		values_back.append(bytes_to_var(buffer))
	checks.same_value("decode_batch", values_back, FastVariantCodec.decode_batch(expected))


## One buffer for a batch: the engine reads what the codec packs, and vice versa.
func test_packed_batches() -> bool:
	checks.subject(TYPE_PACKED_BYTE_ARRAY, "packed batches")
	for count: int in [0, 1, 3, 500, 5000]:
		var batch: Array = []
		for i in count:
			batch.append({"i": i, "text": "x".repeat(i % 7), "place": Vector3(i, 1, 2)} if i % 3 else i)
		var stream := StreamPeerBuffer.new()
		for value: Variant in batch:
			stream.put_var(value)
		var expected := stream.data_array
		checks.same_bytes("packed as the engine frames it, %d values" % count, expected, FastVariantCodec.pack_batch(batch))
		var outcome := FastVariantCodec.unpack_batch(expected)
		checks.truth("is_ok", outcome.is_ok(), outcome.message)
		checks.same_value("unpacked", batch, outcome.value)
		checks.same_int("bytes_read", expected.size(), outcome.bytes_read)
	return true

## The one door through which the suites and the demo reach the extension under test.
##
## Without the extension this script does not compile, and neither does anything that preloads it: such a run ends at
## once with exit code 1.
extends RefCounted


static func encode(value: Variant, full_objects := false) -> PackedByteArray:
	return FastVariantCodec.encode(value, full_objects)


static func decode(bytes: PackedByteArray, allow_objects := false) -> Variant:
	return FastVariantCodec.decode(bytes, allow_objects)


static func encoded_size(value: Variant, full_objects := false) -> int:
	return FastVariantCodec.encoded_size(value, full_objects)


static func encode_batch(values: Array, full_objects := false) -> Array[PackedByteArray]:
	return FastVariantCodec.encode_batch(values, full_objects)


static func decode_batch(buffers: Array, allow_objects := false) -> Array:
	return FastVariantCodec.decode_batch(buffers, allow_objects)


## Gives a FastVariantResult.
static func try_encode(value: Variant, full_objects := false) -> RefCounted:
	return FastVariantCodec.try_encode(value, full_objects)


## Gives a FastVariantResult; the limits are those of save files.
static func try_decode(bytes: PackedByteArray, offset := 0) -> RefCounted:
	return FastVariantCodec.try_decode(bytes, null, offset)


static func pack_batch(values: Array, full_objects := false) -> PackedByteArray:
	return FastVariantCodec.pack_batch(values, full_objects)


static func unpack_batch(bytes: PackedByteArray) -> RefCounted:
	return FastVariantCodec.unpack_batch(bytes)


static func inspect(bytes: PackedByteArray, max_nodes := 10000) -> Dictionary:
	return FastVariantCodec.inspect(bytes, max_nodes)


static func describe(bytes: PackedByteArray) -> String:
	return FastVariantCodec.describe(bytes)

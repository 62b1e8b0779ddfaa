## Inputs that cost the engine much time or memory for their size.
extends RefCounted

const Wire := preload("res://suites/wire.gd")

## Pairs of characters that contribute equally to the hash, so that texts made of them collide.
const EQUAL_PAIRS: PackedStringArray = ["ab", "bA"]


## The number of nested keys. The limits for the network allow one more level, for a value inside the
## innermost key.
const KEY_LEVELS := 31


static func inputs(bytes: int) -> Dictionary[String, PackedByteArray]:
	var nil := Wire.header(TYPE_NIL)
	var array := Wire.header(TYPE_ARRAY)
	var dictionary := Wire.header(TYPE_DICTIONARY)
	var one := Wire.word(1)
	var none := Wire.word(0)
	var rows: Dictionary[String, PackedByteArray] = {
		"Nils": array_of(nil, bytes),
		"ints": array_of(Wire.header(TYPE_INT) + one, bytes),
		"bools": array_of(Wire.header(TYPE_BOOL) + one, bytes),
		"empty Arrays": array_of(array + none, bytes),
		"Arrays of one Nil": array_of(array + one + nil, bytes),
		"Arrays in Arrays": array_of(Wire.repeated(array + one, 20) + nil, bytes),
		"empty Dictionaries": array_of(dictionary + none, bytes),
		"Dictionaries of one entry": array_of(dictionary + one + nil + nil, bytes),
		"objects by id": array_of(Wire.header(TYPE_OBJECT, 1) + Wire.word(5) + none, bytes),
		"typed objects by id": Wire.header(TYPE_ARRAY, 2) + Wire.text("EncodedObjectAsID") + counted(
				Wire.header(TYPE_OBJECT, 1) + Wire.word(5) + none, bytes),
		"empty texts": array_of(Wire.header(TYPE_STRING) + none, bytes),
		"short texts": array_of(Wire.header(TYPE_STRING) + Wire.text("a"), bytes),
		"one text": Wire.header(TYPE_STRING) + Wire.text("a".repeat(bytes - 8)),
		"one text, not ASCII": Wire.header(TYPE_STRING) + Wire.text("é".repeat((bytes - 8) / 2)),
		"empty names": array_of(Wire.header(TYPE_STRING_NAME) + none, bytes),
		"names": each_different(Wire.header(TYPE_STRING_NAME) + Wire.word(4), PackedByteArray(), bytes),
		"signals": each_different(Wire.header(TYPE_SIGNAL) + Wire.word(4), none + none, bytes),
		"empty NodePaths": array_of(Wire.header(TYPE_NODE_PATH) + Wire.word(1 << 31) + none + none, bytes),
		"NodePaths": each_different(
				Wire.header(TYPE_NODE_PATH) + Wire.word(1 | 1 << 31) + none + none + Wire.word(4), PackedByteArray(), bytes),
		"a NodePath of empty names": Wire.header(TYPE_NODE_PATH)
				+ Wire.word((bytes - 16) / 4 | 1 << 31) + none + none + Wire.repeated(none, (bytes - 16) / 4),
		"callables": array_of(Wire.header(TYPE_CALLABLE), bytes),
		"AABBs": array_of(var_to_bytes(AABB()), bytes),
		"Transform3Ds": array_of(var_to_bytes(Transform3D()), bytes),
		"Projections": array_of(var_to_bytes(Projection()), bytes),
		"empty packed arrays": array_of(Wire.header(TYPE_PACKED_INT64_ARRAY) + none, bytes),
		"packed arrays of one byte": array_of(Wire.header(TYPE_PACKED_BYTE_ARRAY) + one + one, bytes),
		"one packed array": Wire.header(TYPE_PACKED_BYTE_ARRAY) + Wire.text("a".repeat(bytes - 8)),
		"packed texts": Wire.header(TYPE_PACKED_STRING_ARRAY) + counted(one + none, bytes),
		"a Dictionary of ints": Wire.header(TYPE_DICTIONARY) + entries(ints((bytes - 8) / 12)),
		"Dictionaries of 2000 ints": wrapped(
				array, _all(dictionary + entries(ints(2000)), maxi(1, bytes / 24_008))),
		"keys in keys": in_keys(
				array_of(Wire.header(TYPE_BOOL) + Wire.word(1), mini(bytes, 780_000) - 12 * KEY_LEVELS)),
		"a text in keys in keys": in_keys(
				Wire.header(TYPE_STRING) + Wire.text("a".repeat(bytes - 8 - 12 * KEY_LEVELS))),
		"crowded keys": array_of(dictionary + entries(crowded_ints(290, 389)), bytes),
		"colliding keys": wrapped(array, _all(dictionary + entries(colliding_texts(2000)), maxi(1, bytes / 88_008))),
		"few colliding keys": array_of(dictionary + entries(colliding_texts(16)), bytes),
		"few long colliding keys": array_of(dictionary + entries(colliding_texts(16, "x".repeat(1000))), bytes),
		"some colliding keys": array_of(dictionary + entries(colliding_texts(32)), bytes),
		"long colliding keys": dictionary + entries(colliding_texts(1_000, "x".repeat(maxi(4, bytes / 1_000 - 100)))),
		"colliding names": array + counted_values(colliding_texts(bytes / 44), TYPE_STRING_NAME),
	}
	return rows


## An Array with as many copies of `value` as fit in `bytes` bytes.
static func array_of(value: PackedByteArray, bytes: int) -> PackedByteArray:
	return Wire.header(TYPE_ARRAY) + counted(value, bytes)


## A count, and as many copies of `value` as fit in `bytes` bytes.
static func counted(value: PackedByteArray, bytes: int) -> PackedByteArray:
	var count := (bytes - 40) / value.size()
	return Wire.word(count) + Wire.repeated(value, count)


static func counted_values(texts: PackedStringArray, type: Variant.Type) -> PackedByteArray:
	var values := PackedByteArray()
	for content in texts:
		values.append_array(Wire.header(type) + Wire.text(content))
	return Wire.word(texts.size()) + values


## An Array of values that differ in four letters.
static func each_different(start: PackedByteArray, end: PackedByteArray, bytes: int) -> PackedByteArray:
	var count := (bytes - 8) / (start.size() + 4 + end.size())
	var values := Wire.header(TYPE_ARRAY) + Wire.word(count)
	for i in count:
		values.append_array(start)
		values.append_array([97 + i % 26, 97 + i / 26 % 26, 97 + i / 676 % 26, 97 + i / 17576 % 26])
		values.append_array(end)
	return values


## The entries of a Dictionary: their count, and each key with the value Nil.
static func entries(keys: Array) -> PackedByteArray:
	var bytes := Wire.word(keys.size())
	for key: Variant in keys:
		bytes.append_array(var_to_bytes(key) + Wire.header(TYPE_NIL))
	return bytes


static func ints(count: int) -> Array:
	return range(count)


## Numbers that all map to the first slot of a table with `places` slots.
static func crowded_ints(count: int, places: int) -> Array:
	var found: Array = []
	var number := 0
	while found.size() < count:
		if hash(number) % places == 0:
			found.append(number)
		number += 1
	return found


static func colliding_texts(count: int, start := "") -> Array:
	var texts: Array = []
	for i in count:
		var content := start
		for bit in 14:
			content += EQUAL_PAIRS[i >> bit & 1]
		texts.append(content)
	return texts


## Ints with the hash 1 in the engine, computed by inverting its `hash_one_uint64`.
static func colliding_ints(count: int) -> Array:
	var ints: Array = []
	for index in count:
		var hashed := index << 32 | 1
		hashed = _unshifted(hashed, 22) * _inverse(65)
		hashed = _unshifted(hashed, 11) * _inverse(21)
		ints.append((_unshifted(hashed, 31) + 1) * _inverse((1 << 18) - 1))
	return ints


## The number x for which x ^ (x >> bits), with an unsigned shift, is `number`.
static func _unshifted(number: int, bits: int) -> int:
	var found := number
	for round in 64 / bits:
		found = number ^ (found >> bits & ~(-1 << 64 - bits))
	return found


## The multiplicative inverse of an odd number.
static func _inverse(number: int) -> int:
	var found := number
	for round in 6:
		found *= 2 - number * found
	return found


## Nested Dictionaries. Each one is the only key of the Dictionary around it. The innermost key is `value`.
static func in_keys(value: PackedByteArray) -> PackedByteArray:
	return (Wire.repeated(Wire.header(TYPE_DICTIONARY) + Wire.word(1), KEY_LEVELS) + value
			+ Wire.repeated(Wire.header(TYPE_NIL), KEY_LEVELS))


static func wrapped(header: PackedByteArray, values: Array[PackedByteArray]) -> PackedByteArray:
	var bytes := header + Wire.word(values.size())
	for value in values:
		bytes.append_array(value)
	return bytes


static func _all(value: PackedByteArray, count: int) -> Array[PackedByteArray]:
	var values: Array[PackedByteArray] = []
	values.resize(count)
	values.fill(value)
	return values

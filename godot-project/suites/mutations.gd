## Seeded damage to encoded values.
extends RefCounted

const Wire := preload("res://suites/wire.gd")

const COUNTS: Array[int] = [
	0, 1, 2, 3, 4, 5, 8, 16, 0x7f, 0xff, 0x100, 0xffff, 0x10000, 0x10000000, 0x20000000, 0x40000000, 0x7ffffffc,
	0x7fffffff, 0x80000000, 0x80000001, 0xc0000000, 0xfffffffc, 0xffffffff,
]
## Depths around the engine's limits of nesting, in total and within keys.
const DEPTHS: Array[int] = [1, 2, 3, 50, 98, 99, 100, 101, 102, 1022, 1023, 1024, 1025, 1026]

var _generator: RandomNumberGenerator


func _init(generator: RandomNumberGenerator) -> void:
	_generator = generator


## Returns the bytes with one to three changes. Some changes insert pieces of `other`.
func mutated(bytes: PackedByteArray, other: PackedByteArray) -> PackedByteArray:
	var changed := bytes.duplicate()
	for i in _generator.randi_range(1, 3):
		if changed.size() < 4:
			break
		match _generator.randi() % 8:
			0:
				changed = _resized(changed)
			1, 2:
				changed = _rearranged(changed, other)
			3:
				changed = nested(changed, other)
			_:
				_overwrite(changed, other)
	return changed


## A container that holds `bytes`, usually followed by another value. A reader that does not stop exactly at
## the end of `bytes` misreads that value.
func nested(bytes: PackedByteArray, other: PackedByteArray) -> PackedByteArray:
	var array := Wire.header(TYPE_ARRAY)
	var dictionary := Wire.header(TYPE_DICTIONARY) + Wire.word(1)
	var declared := Wire.word(bytes[0] if _generator.randi() % 2 else _generator.randi() % TYPE_MAX)
	match _generator.randi() % 8:
		0:
			return array + Wire.word(2) + bytes + Wire.header(TYPE_NIL)
		1:
			return array + Wire.word(2) + bytes + other
		2:
			return Wire.header(TYPE_ARRAY, 1) + declared + Wire.word(2) + bytes + bytes
		3:
			return dictionary + bytes + other
		4:
			return dictionary + Wire.header(TYPE_NIL) + bytes
		5:
			return Wire.header(TYPE_DICTIONARY, 1) + declared + Wire.word(1) + bytes + Wire.header(TYPE_NIL)
		6:
			return Wire.header(TYPE_DICTIONARY, 4) + declared + Wire.word(1) + Wire.header(TYPE_NIL) + bytes
	if _generator.randi() % 8:
		return array + Wire.word(1) + bytes
	return Wire.repeated(array + Wire.word(1), DEPTHS[_generator.randi() % DEPTHS.size()]) + bytes


func random_bytes(length: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(length)
	for i in length:
		bytes[i] = _generator.randi() & 0xff
	return bytes


## Words that resemble counts, type ids and short texts.
func random_words(count: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	for i in count:
		match _generator.randi() % 4:
			0:
				bytes += Wire.word(_generator.randi() % 4)
			1:
				bytes += Wire.word(_generator.randi() % TYPE_MAX)
			2:
				bytes += Wire.header(_generator.randi() % TYPE_MAX, _generator.randi() & 0xf)
			3:
				bytes += Wire.word(0x61626364)
	return bytes


func _overwrite(bytes: PackedByteArray, other: PackedByteArray) -> void:
	var at := _generator.randi() % bytes.size()
	var word := _place(bytes)
	match _generator.randi() % 9:
		0:
			bytes[at] ^= 1 << (_generator.randi() & 7)
		1:
			bytes[at] = _generator.randi() & 0xff
		2:
			bytes.encode_u32(word, _generator.randi() % 40)
		3:
			bytes.encode_u32(word, COUNTS[_generator.randi() % COUNTS.size()])
		4:
			bytes.encode_u32(word, (bytes.decode_u32(word) + _generator.randi_range(-4, 4)) & 0xffffffff)
		5:
			# Sets a random type, occasionally one of the same size.
			bytes[word] = _generator.randi() % TYPE_MAX
		6:
			# Flips a flag of a header.
			bytes[word + 2] ^= 1 << (_generator.randi() & 3)
		7:
			bytes.encode_u32(word, bytes.decode_u32(_place(bytes)))
		8:
			if other.size() >= 4:
				bytes.encode_u32(word, other.decode_u32(_place(other)))


func _resized(bytes: PackedByteArray) -> PackedByteArray:
	match _generator.randi() % 4:
		0:
			return bytes.slice(0, _generator.randi() % bytes.size())
		1:
			return bytes.slice(0, -(_generator.randi_range(1, 4)))
		2:
			return bytes + random_bytes(_generator.randi_range(1, 8))
	return bytes + random_words(1)


## Removes, inserts, repeats and swaps pieces, mostly at word boundaries.
func _rearranged(bytes: PackedByteArray, other: PackedByteArray) -> PackedByteArray:
	var any := _generator.randi() % bytes.size()
	var a := _generator.randi_range(0, bytes.size()) & ~3
	var b := _generator.randi_range(0, bytes.size()) & ~3
	var from := mini(a, b)
	var to := maxi(a, b)
	var cut := _generator.randi_range(0, other.size()) & ~3
	match _generator.randi() % 8:
		0:
			return bytes.slice(0, any) + bytes.slice(mini(any + 4, bytes.size()))
		1:
			return bytes.slice(0, from) + random_words(1) + bytes.slice(from)
		2:
			return bytes.slice(0, from) + bytes + bytes.slice(from)
		3:
			return bytes.slice(0, from) + bytes.slice(to)
		4:
			return bytes.slice(0, to) + bytes.slice(from)
		5:
			return bytes.slice(0, from) + other.slice(cut)
		6:
			return bytes.slice(0, from) + other + bytes.slice(to)
	var middle := _generator.randi_range(from, to) & ~3
	return bytes.slice(0, from) + bytes.slice(middle, to) + bytes.slice(from, middle) + bytes.slice(to)


## The offset of a random word. Half of the choices are among the first four words, which matter most.
func _place(bytes: PackedByteArray) -> int:
	var words := bytes.size() / 4
	return _generator.randi() % (mini(words, 4) if _generator.randi() % 2 else words) * 4

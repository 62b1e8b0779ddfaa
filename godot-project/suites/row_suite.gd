## Rows: Dictionaries with the same keys. The codec copies the keys of a known row as a whole. Among the rows
## are Dictionaries that differ in some keys.
extends "res://suites/suite.gd"

const KEYS: Array = ["id", "name", "position_x", "position_y", "hp", "größe"]
## The number of rows after which the codec knows the keys.
const LEARNING := 12
const RANDOM_LISTS := 60
const RANDOM_DICTIONARIES := 80


## Rows that differ from the known row in one or two keys: other keys, keys as StringNames, repeated keys,
## reordered keys, fewer keys.
func test_rows_that_differ() -> bool:
	var others: Array = ["other", "x".repeat(100), "", null, 7, 0.5, ["id"], {"id": 1, "name": 2}, NAN]
	for place in KEYS.size():
		checks.subject(TYPE_DICTIONARY, "rows that differ at place %d" % place)
		for other: Variant in others + KEYS + KEYS.map(func(key: String) -> StringName: return StringName(key)):
			var keys := KEYS.duplicate()
			keys[place] = other
			_check("with %s" % [other], _known(KEYS) + [_row(keys), _row(KEYS), _row(keys), _row(keys), _row(keys)])
			_check("with %s, always" % [other], _known(keys) + [_row(KEYS), _row(keys)])
			if other is String and other in KEYS and other != KEYS[place]:
				var is_taken: bool = FastVariantCodec.try_decode(_list(_known(KEYS) + [_row(keys)])).is_ok()
				checks.truth("a key twice is strictly refused", not is_taken)
		for other in place:
			var keys := KEYS.duplicate()
			keys[place] = KEYS[other]
			keys[other] = KEYS[place]
			_check("%d and %d in turn" % [other, place], _known(KEYS) + [_row(keys), _row(KEYS)] + _known(keys))
		var part := KEYS.slice(0, place)
		_check("the first keys", _known(KEYS) + [_row(part), _row(KEYS)] + _known(part) + [_row(KEYS), _row(part)])
	return true


func test_lengths_of_rows() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows of many lengths")
	for length: int in [1, 2, 3, 16, 17, 18, 23, 35, 36, 100, 255, 256, 257, 1000]:
		var keys := range(length).map(func(index: int) -> String: return "key %d" % index)
		_check("%d keys" % length, _known(keys))
		var last := keys.duplicate()
		last[-1] = "another"
		_check("%d keys, the last another" % length, _known(keys) + [_row(last), _row(keys)])
	return true


func test_rows_in_rows() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows in rows")
	var deep := _row(KEYS)
	for depth in 6:
		for place in KEYS.size():
			var row_values: Array[PackedByteArray] = []
			for index in KEYS.size():
				row_values.append(deep if index == place else var_to_bytes(index))
			var row := _dictionary(KEYS, row_values)
			_check("depth %d, place %d" % [depth, place], _known(KEYS) + [row, row, _row(KEYS)])
			var other_keys := KEYS.duplicate()
			other_keys[-1] = "other"
			_check("depth %d, place %d, of another" % [depth, place],
					_known(KEYS) + [_dictionary(other_keys, row_values), row, _dictionary(other_keys, row_values)])
			if place == KEYS.size() - 1:
				deep = row
	checks.subject(TYPE_DICTIONARY, "rows as keys")
	for place in KEYS.size():
		var pieces: Array[PackedByteArray] = []
		for index in KEYS.size():
			pieces.append(_row(KEYS) if index == place else var_to_bytes(KEYS[index]))
			pieces.append(var_to_bytes(index))
		var row := Wire.header(TYPE_DICTIONARY) + Wire.word(KEYS.size())
		for piece in pieces:
			row += piece
		_check("at place %d" % place, _known(KEYS) + [row, _row(KEYS), row])
	return true


func test_rows_with_types() -> bool:
	checks.subject(TYPE_DICTIONARY, "typed Dictionaries with the same keys")
	var typed_keys: Dictionary[String, Variant] = {}
	var typed_values: Dictionary[Variant, int] = {}
	var typed_names: Dictionary[StringName, int] = {}
	for dictionary: Dictionary in [typed_keys, typed_values, typed_names]:
		for index in KEYS.size():
			dictionary[KEYS[index]] = index
		var bytes := var_to_bytes(dictionary)
		_check("between", _known(KEYS) + [bytes, bytes, _row(KEYS), bytes])
		_check("first", Array(Values.filled(LEARNING, bytes)) + [_row(KEYS), bytes])
	return true


func test_texts_that_reading_changes() -> bool:
	checks.subject(TYPE_DICTIONARY, "keys that reading changes")
	for place in KEYS.size():
		for changed: PackedByteArray in [
			PackedByteArray([0xef, 0xbb, 0xbf]) + KEYS[place].to_utf8_buffer(),
			KEYS[place].to_utf8_buffer() + PackedByteArray([0]),
			KEYS[place].to_utf8_buffer() + PackedByteArray([0, 0x61]),
			KEYS[place].to_utf8_buffer() + PackedByteArray([0xff]),
			KEYS[place].to_utf8_buffer().slice(1),
		]:
			var row := Wire.header(TYPE_DICTIONARY) + Wire.word(KEYS.size())
			for index in KEYS.size():
				var key: PackedByteArray = changed if index == place else KEYS[index].to_utf8_buffer()
				var padded := key.duplicate()
				padded.resize((key.size() + 3) & ~3)
				row += Wire.header(TYPE_STRING) + Wire.word(key.size()) + padded + var_to_bytes(index)
			_check("at place %d" % place, _known(KEYS) + [row, _row(KEYS), row, row, row])
	return true


func test_rows_cut_short() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows cut short")
	var known := _list(_known(KEYS))
	for end in range(known.size() - _row(KEYS).size() * 2, known.size()):
		checks.no_problem("at byte %d" % end, Oracle.disagreement(known.slice(0, end)))
	return true


func test_random_rows() -> bool:
	var generator := seeded("rows")
	checks.subject(TYPE_DICTIONARY, "random rows")
	for list in RANDOM_LISTS:
		var words: Array[String] = []
		for index in generator.randi_range(1, 6):
			words.append("word %d" % index if generator.randi() % 4 else "x".repeat(20 + index))
		var rows: Array[Array] = []
		for index in generator.randi_range(1, 5):
			rows.append(_random_keys(words, generator))
		var dictionaries: Array[PackedByteArray] = []
		for index in RANDOM_DICTIONARIES:
			var keys := rows[generator.randi() % rows.size()]
			if generator.randi() % 8 == 0:
				keys = _random_keys(words, generator)
			dictionaries.append(_row(keys))
		_check("list %d" % list, dictionaries)
	return true


func test_decoded_rows_are_independent() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows that are changed after decoding")
	var rows: Array = FastVariantCodec.decode(_list(_known(KEYS)))
	for index in rows.size():
		rows[index]["hp"] = index
		rows[index].erase(KEYS[index % 3])
		rows[index]["new %d" % index] = rows
	for index in rows.size():
		var expected := {}
		for key in KEYS.size():
			expected[KEYS[key]] = key
		expected["hp"] = index
		expected.erase(KEYS[index % 3])
		rows[index].erase("new %d" % index)
		checks.same_value("row %d" % index, expected, rows[index])
		checks.truth("finds its keys", rows[index].has_all(expected.keys()) and rows[index].size() == expected.size())
	return true


func test_batches_of_rows() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows in a batch")
	var other := KEYS.duplicate()
	other[3] = 3
	var buffers: Array[PackedByteArray] = []
	for index in 500:
		match index % 50:
			20: buffers.append(_row(other))
			30: buffers.append(_row(KEYS).slice(0, -4))
			40: buffers.append(_list(_known(KEYS)))
			_: buffers.append(_row(KEYS))
	var decoded := Oracle.codec_decode_batch(buffers)
	for index in buffers.size():
		checks.same_value("item %d" % index, Oracle.engine_decode(buffers[index]), decoded[index])
	return true


func test_objects_in_rows() -> bool:
	checks.subject(TYPE_DICTIONARY, "rows with objects")
	var object := Values.PlainData.new()
	var rows: Array = []
	for index in LEARNING:
		rows.append({"id": index, "object": object, "list": [object], "row": {"id": 1, "object": object, "list": [], "row": {}}})
	var bytes := var_to_bytes_with_objects(rows)
	checks.no_problem("decode", Oracle.disagreement(bytes, true))
	checks.no_problem("cut short", Oracle.disagreement(bytes.slice(0, -8), true))
	return true


## Checks the Dictionaries as one list, and as items of a batch, which keeps known rows from item to item.
func _check(what: String, dictionaries: Array) -> void:
	checks.no_problem(what, Oracle.disagreement(_list(dictionaries)))
	var decoded := Oracle.codec_decode_batch(dictionaries)
	for index in dictionaries.size():
		checks.same_value("%s, item %d of a batch" % [what, index], Oracle.codec_decode(dictionaries[index]), decoded[index])


## The row of these keys, repeated until the codec knows it.
static func _known(keys: Array) -> Array:
	return Array(Values.filled(LEARNING, _row(keys)))


static func _random_keys(words: Array[String], generator: RandomNumberGenerator) -> Array:
	var keys: Array = []
	for index in generator.randi_range(0, 7):
		keys.append(words[generator.randi() % words.size()] if generator.randi() % 10 else generator.randi() % 3)
	return keys


static func _list(elements: Array) -> PackedByteArray:
	return Wire.header(TYPE_ARRAY) + Wire.word(elements.size()) + Wire.joined(Array(elements, TYPE_PACKED_BYTE_ARRAY, "", null))


## A Dictionary of these keys in this order, even if they repeat; the values are consecutive numbers.
static func _row(keys: Array) -> PackedByteArray:
	var numbers: Array[PackedByteArray] = []
	for index in keys.size():
		numbers.append(var_to_bytes(index))
	return _dictionary(keys, numbers)


static func _dictionary(keys: Array, encoded_values: Array[PackedByteArray]) -> PackedByteArray:
	var bytes := Wire.header(TYPE_DICTIONARY) + Wire.word(keys.size())
	for index in keys.size():
		bytes += var_to_bytes(keys[index]) + encoded_values[index]
	return bytes

## Single values that are large enough for several threads: however they are split, the result equals the
## result of one thread.
extends "res://suites/suite.gd"

## The number of elements from which several threads pay off.
const LARGE := 40000
## The number of entries from which several threads pay off.
const MANY := 12000
## The size of a packed array; two such arrays are too large to encode together.
const HALF := 1 << 30
## The free memory that `test_results_that_are_too_large` needs.
const MEMORY := 5 << 30


func test_shapes() -> bool:
	var entries := {}
	for i in MANY:
		entries["k%d" % i] = [i, i * 0.5, "v%d" % (i % 100)]
	var texts := PackedStringArray()
	for i in LARGE:
		texts.append("é%d" % i if i % 3 else "text")
	var mixed := []
	for i in MANY:
		mixed.append([i, "t%d" % i, i * 0.5, {i: [i]}, null, Vector3(i, 0, 1), texts if i == MANY / 2 else &"name"][i % 7])
	var uneven := []
	for i in 100:
		uneven.append(range(i * i))
	var large: Dictionary[String, Variant] = {
		"array of ints": range(LARGE), "array of dictionaries": _small_dictionaries(MANY),
		"dictionary": entries, "large value inside of small ones": [1, {"a": [entries]}, 2],
		"typed array": Array(range(LARGE), TYPE_INT, "", null),
		"typed array of arrays": Array(uneven, TYPE_ARRAY, "", null), "packed strings": texts,
		"packed strings inside": {"a": [texts, [texts]], "b": texts}, "mixed": mixed, "elements of rising size": uneven,
		"arrays behind each other": [range(LARGE), mixed, [], range(LARGE + 1), {"last": mixed}, 5],
		"one very large element": [1, 2, mixed, 3, 4], "nested in many levels": _levels(12, mixed),
		"dictionary of dictionaries": {"a": entries, "b": {"c": entries, "d": mixed}, "e": entries},
		"typed dictionary": Dictionary(entries, TYPE_STRING, "", null, TYPE_ARRAY, "", null),
		"references to nothing": Values.filled(2 * LARGE, Callable()),
	}
	for case_name in large:
		checks.subject(typeof(large[case_name]), case_name)
		var expected := var_to_bytes(large[case_name])
		checks.same_bytes("encode", expected, FastVariantCodec.encode(large[case_name]))
		checks.same_bytes("encode in a batch", expected, FastVariantCodec.encode_batch([1, large[case_name]])[1])
		checks.same_bytes("encode in a pack", expected, FastVariantCodec.pack_batch([large[case_name]]).slice(4))
		checks.same_int("encoded_size", expected.size(), FastVariantCodec.encoded_size(large[case_name]))
		checks.same_bytes("decode, encoded again", expected, var_to_bytes(FastVariantCodec.decode(expected)))
		checks.same_bytes("try_decode, encoded again", expected, var_to_bytes(FastVariantCodec.try_decode(expected).value))
		checks.truth("decode equals bytes_to_var", FastVariantCodec.decode(expected) == bytes_to_var(expected))
		checks.truth("truncated by one byte is refused", Oracle.codec_decode(expected.slice(0, -1)) == null)
	return true


## The error is the same as for small values: the first error, with its offset and path.
func test_one_bad_element() -> bool:
	var good := var_to_bytes({"a": "text"})
	var bad := Wire.header(TYPE_STRING) + Wire.word(2) + PackedByteArray([0xff, 0xff, 0, 0])
	for place: int in [0, 1, LARGE / 2, LARGE - 2, LARGE - 1]:
		checks.subject(TYPE_ARRAY, "one bad element, at %d" % place)
		var bytes := Wire.header(TYPE_ARRAY) + Wire.word(LARGE) + Wire.repeated(good, place) + bad
		var offset := bytes.size() - bad.size()
		bytes += Wire.repeated(good, LARGE - place - 1)
		checks.no_problem("accepted or refused", Oracle.disagreement(bytes))
		var outcome := FastVariantCodec.try_decode(bytes)
		checks.same_value("path", "[%d]" % place, outcome.path)
		checks.same_int("offset", offset + 4, outcome.offset)
		var two := bytes + bytes
		checks.no_problem("cut short behind it", Oracle.disagreement(two.slice(0, bytes.size() - 8)))
	return true


## A later entry replaces an earlier entry with the same key, even if other threads still process the elements
## of the earlier entry.
func test_repeated_keys() -> bool:
	var large := var_to_bytes(_small_dictionaries(MANY))
	var one := var_to_bytes(1)
	var two := var_to_bytes("two")
	checks.subject(TYPE_DICTIONARY, "repeated keys of large values")
	checks.no_problem("replaced", Oracle.disagreement(Wire.header(TYPE_DICTIONARY) + Wire.word(5)
			+ one + large + one + var_to_bytes(null) + two + large + two + one + one + large))
	checks.no_problem("replaced, then broken", Oracle.disagreement(Wire.header(TYPE_DICTIONARY) + Wire.word(3)
			+ one + large + one + one + two + PackedByteArray([0x77, 0, 0, 0])))
	return true


func test_keys() -> bool:
	checks.subject(TYPE_DICTIONARY, "large values as keys")
	var large := _small_dictionaries(MANY)
	var value := {large: 1, range(LARGE): large, "text": range(LARGE)}
	checks.same_bytes("encode", var_to_bytes(value), FastVariantCodec.encode(value))
	checks.no_problem("decode", Oracle.disagreement(var_to_bytes(value)))
	return true


## The engine drops elements that a typed Array does not accept.
func test_elements_of_other_types() -> bool:
	var number := var_to_bytes(7)
	for other: Variant in ["text", 1.5, null, [1], 8]:
		for place: int in [0, LARGE / 2, LARGE - 1]:
			checks.subject(TYPE_ARRAY, "a %s in a large Array[int]" % type_string(typeof(other)))
			checks.no_problem("decode", Oracle.disagreement(
					Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_INT) + Wire.word(LARGE)
					+ Wire.repeated(number, place) + var_to_bytes(other) + Wire.repeated(number, LARGE - place - 1)))
	return true


func test_depth() -> bool:
	for levels: int in [0, 1, 1022, 1023, 1024, 1025]:
		checks.subject(TYPE_ARRAY, "large value below %d levels" % levels)
		var bytes := Wire.repeated(Wire.header(TYPE_ARRAY) + Wire.word(1), levels) + var_to_bytes(range(LARGE))
		checks.no_problem("decode", Oracle.disagreement(bytes))
		var two := Wire.repeated(Wire.header(TYPE_ARRAY) + Wire.word(2) + var_to_bytes(1), levels)
		checks.no_problem("decode, not alone", Oracle.disagreement(two + var_to_bytes(_small_dictionaries(MANY))))
		var value: Variant = _levels(levels, range(LARGE))
		checks.same_bytes("encode", Oracle.engine_encode(value), Oracle.codec_encode(value))
	return true


func test_values_that_cannot_be_encoded() -> bool:
	var too_deep := Values.nested_arrays(1024)
	for place: int in [0, LARGE / 2, LARGE - 1]:
		checks.subject(TYPE_ARRAY, "one element too deep, at %d" % place)
		var value := _small_dictionaries(LARGE)
		value[place] = {"deep": too_deep}
		checks.same_bytes("encode", Oracle.engine_encode(value), Oracle.codec_encode(value))
		var outcome := FastVariantCodec.try_encode(value)
		checks.truth("path", outcome.path.begins_with("[%d].\"deep\"[0][0]" % place), outcome.path)
		value[place] = Values.lone_surrogates()
		outcome = FastVariantCodec.try_encode(value)
		checks.same_value("path of a text", "[%d]" % place, outcome.path)
	return true


## Results beyond the limits of the format are refused. The engine writes them as corrupt data.
func test_results_that_are_too_large() -> bool:
	if OS.get_memory_info()["available"] < MEMORY:
		print("  not enough memory for results that are too large")
		return true
	checks.subject(TYPE_PACKED_BYTE_ARRAY, "too large")
	var half := PackedByteArray()
	half.resize(HALF)
	var too_large: Array = [half, half]
	var outcome := FastVariantCodec.try_encode(too_large)
	checks.same_value("try_encode", [FastVariantCodec.TOO_LARGE, null, "[1]"], [outcome.error, outcome.value, outcome.path])
	checks.same_int("encoded_size", -1, FastVariantCodec.encoded_size(too_large))
	checks.truth("just one is written", FastVariantCodec.encoded_size([half]) == HALF + 16)
	return true


static func _small_dictionaries(count: int) -> Array:
	var array := []
	for i in count:
		array.append({"id": i, "v": i % 7})
	return array


## The value inside `count` nested Arrays.
static func _levels(count: int, value: Variant) -> Variant:
	for i in count:
		value = [value]
	return value

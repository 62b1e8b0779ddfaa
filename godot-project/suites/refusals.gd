## The inputs that the engine accepts and the codec refuses on purpose, by name.
##
## These inputs can occur in arbitrary bytes without objects. object_suite.gd lists the inputs that need
## objects. The tests never pass those inputs to the engine, because it would run their code or crash.
extends RefCounted

## Name of the refusal → reason.
const REASONS: Dictionary[String, String] = {
	"typed dictionary value": "the engine stores a value of any type in a typed Dictionary; scripts then crash",
	"key that cannot be compared": "the engine prints a line whenever it compares keys of over 50 levels",
	"text that doubles": "the engine turns typed Arrays in each other into text, which doubles at each level until memory ends",
	"Signal of an object as text": "the engine prints an error, and so may run a Logger, for each Signal whose object does not exist",
	"dropped": "one of these inside a part that the engine throws away after decoding it",
}

## The maximum number of nested containers in a key.
const DEEPEST_KEY := 50

## The limit on text that containers are converted to, in characters: a fixed number, and an additional number
## per byte of input.
const FREE_TEXT := 1 << 16
const TEXT_PER_BYTE := 16

## The number of occurrences of each refusal in this run.
static var met: Dictionary[String, int] = {}


## The name of the refusal that applies to a value decoded by the engine, or an empty text.
static func applying_to(value: Variant) -> String:
	var refusal := ""
	if _any_dictionary(value, _has_wrong_typed_value):
		refusal = "typed dictionary value"
	elif _any_dictionary(value, _has_deep_key):
		refusal = "key that cannot be compared"
	if refusal:
		_count(refusal)
	return refusal


## Returns whether an input contains a refused part that the engine's result does not show. The engine drops
## dictionaries that a typed array does not accept, drops entries whose keys do not fit, and overwrites
## entries with equal keys. Values begin at multiples of four bytes, so each offset at which a dictionary may
## start is checked.
static func hidden_in(bytes: PackedByteArray, allow_objects: bool) -> bool:
	Engine.print_error_messages = false
	var found := false
	for at in range(0, bytes.size() - 8, 4):
		if bytes[at] == TYPE_DICTIONARY:
			found = found or _has_wrong_entry(bytes, at, allow_objects)
	Engine.print_error_messages = true
	if found:
		_count("dropped")
	return found


## Returns whether a value decoded by the engine contains text beyond the codec's limit. The threshold is half
## the limit, because the codec also counts the text of inner levels, which the result does not contain.
static func has_doubled_text(value: Variant, bytes: PackedByteArray) -> bool:
	var characters := 0
	for text in _texts_in(value):
		characters += text.length()
	var too_much := characters > FREE_TEXT / 2 + TEXT_PER_BYTE / 2 * bytes.size()
	if too_much:
		_count("text that doubles")
	return too_much


## Returns whether the engine converted the Signal of an object to text. The codec drops the Array around it.
static func has_signal_as_text(value: Variant, bytes: PackedByteArray) -> bool:
	if not "::[signal]" in "".join(_texts_in(value)):
		return false
	for at in range(0, bytes.size() - 12, 4):
		if bytes[at] == TYPE_SIGNAL:
			var id := at + 8 + ((bytes.decode_u32(at + 4) + 3) & ~3)
			if id + 8 <= bytes.size() and bytes.decode_u64(id) != 0:
				_count("Signal of an object as text")
				return true
	return false


## The elements of all PackedStringArrays in a value.
static func _texts_in(value: Variant) -> PackedStringArray:
	var texts := PackedStringArray()
	var pending: Array = [value]
	while not pending.is_empty():
		var current: Variant = pending.pop_back()
		if current is PackedStringArray:
			texts.append_array(current)
		elif current is Array:
			pending.append_array(current)
		elif current is Dictionary:
			pending.append_array(current.keys())
			pending.append_array(current.values())
	return texts


static func _count(refusal: String) -> void:
	met[refusal] = met.get(refusal, 0) + 1


## Returns whether the dictionary at `at` has an entry that the codec refuses. Decodes the entries one by one.
static func _has_wrong_entry(bytes: PackedByteArray, at: int, allow_objects: bool) -> bool:
	var position := at + 4
	for kind in [bytes[at + 2] & 0x03, bytes[at + 2] >> 2 & 0x03]:
		position += _declared_type_size(bytes, position, kind)
	var declared: Variant = (bytes.slice(at, position) + PackedByteArray([0, 0, 0, 0])).decode_var(0, allow_objects)
	position += 4
	if declared is not Dictionary:
		return false
	while position < bytes.size():
		var key_size := bytes.decode_var_size(position, allow_objects)
		if key_size == 0:
			return false
		var key: Variant = bytes.decode_var(position, allow_objects)
		if _levels_at(bytes, position, allow_objects) > DEEPEST_KEY:
			return true
		position += key_size
		var value_size := bytes.decode_var_size(position, allow_objects)
		if value_size == 0:
			return false
		if (declared.is_typed_value() and _takes_key(declared, key)
				and not _fits(bytes.decode_var(position, allow_objects), declared)):
			return true
		position += value_size
	return false


## The number of nested containers in the value at `at`, at most `most`. Counts those that the engine drops, too.
static func _levels_at(bytes: PackedByteArray, at: int, allow_objects: bool, most := DEEPEST_KEY + 1) -> int:
	if at + 8 > bytes.size() or most == 0 or bytes[at] not in [TYPE_ARRAY, TYPE_DICTIONARY]:
		return 0
	var is_array := bytes[at] == TYPE_ARRAY
	var position := at + 4
	for kind: int in [bytes[at + 2] & 0x03] + ([] if is_array else [bytes[at + 2] >> 2 & 0x03]):
		position += _declared_type_size(bytes, position, kind)
	if position + 4 > bytes.size():
		return 1
	var count := (bytes.decode_u32(position) & 0x7fffffff) * (1 if is_array else 2)
	position += 4
	var below := 0
	for index in count:
		var size := bytes.decode_var_size(position, allow_objects) if position < bytes.size() else 0
		if size == 0:
			break
		below = maxi(below, _levels_at(bytes, position, allow_objects, most - 1))
		position += size
	return 1 + below


## Returns whether the engine keeps an entry with this key.
static func _takes_key(declared: Dictionary, key: Variant) -> bool:
	var empty := declared.duplicate()
	empty.get_or_add(key, type_convert(null, declared.get_typed_value_builtin()))
	return not empty.is_empty()


static func _declared_type_size(bytes: PackedByteArray, position: int, kind: int) -> int:
	if kind == 0 or position + 4 > bytes.size():
		return 0
	return 4 if kind == 1 else 4 + ((bytes.decode_u32(position) + 3) & ~3)


## Returns whether `applies` holds for any dictionary in a value, including keys.
static func _any_dictionary(value: Variant, applies: Callable) -> bool:
	var pending: Array = [value]
	while not pending.is_empty():
		var current: Variant = pending.pop_back()
		if current is Array:
			if current.get_typed_builtin() in [TYPE_NIL, TYPE_ARRAY, TYPE_DICTIONARY]:
				pending.append_array(current)
		elif current is Dictionary:
			if applies.call(current):
				return true
			pending.append_array(current.keys())
			pending.append_array(current.values())
	return false


static func _has_wrong_typed_value(dictionary: Dictionary) -> bool:
	return dictionary.is_typed_value() and dictionary.values().any(
			func(element: Variant) -> bool: return not _fits(element, dictionary))


static func _has_deep_key(dictionary: Dictionary) -> bool:
	return dictionary.keys().any(
			func(key: Variant) -> bool: return _is_container(key) and _levels(key) > DEEPEST_KEY)


## The number of nested containers.
static func _levels(container: Variant) -> int:
	var levels := 0
	var current: Array = [container]
	while not current.is_empty():
		var below: Array = []
		for element: Variant in current:
			if element is Array:
				below.append_array(element.filter(_is_container))
			else:
				below.append_array(element.keys().filter(_is_container))
				below.append_array(element.values().filter(_is_container))
		levels += 1
		current = below
	return levels


static func _is_container(value: Variant) -> bool:
	return value is Array or value is Dictionary


static func _fits(element: Variant, dictionary: Dictionary) -> bool:
	var type := dictionary.get_typed_value_builtin()
	if type != TYPE_OBJECT:
		return typeof(element) == type
	if element == null:
		return true
	if typeof(element) != TYPE_OBJECT:
		return false
	var wanted_class := dictionary.get_typed_value_class_name()
	if wanted_class and not (element as Object).is_class(wanted_class):
		return false
	var wanted_script: Script = dictionary.get_typed_value_script()
	return wanted_script == null or is_instance_of(element, wanted_script)

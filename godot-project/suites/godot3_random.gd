## A seeded generator of nested values that Godot 3 can represent, of every type with a counterpart there.
extends "res://suites/random_values.gd"

const Godot3 := preload("res://suites/godot3.gd")

## Types whose keys are equal in Godot 4 if they are equal in Godot 3.
const KEYS: Array[int] = [
	TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_STRING, TYPE_VECTOR2, TYPE_COLOR, TYPE_NODE_PATH, TYPE_ARRAY,
]


const DECLARED_KEYS: Array[int] = [
	TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_STRING_NAME, TYPE_VECTOR2I, TYPE_COLOR, TYPE_NODE_PATH,
]
const WHOLE_WORDS: Array[NodePath] = [^"", ^"/root", ^"root/Player01:Node", ^"水 /a b ", ^":name:text"]

## Whether NodePaths contain only names whose sizes are multiples of 4 bytes. Other names need padding, which
## changes in a round trip.
var whole_words := false


func nested() -> Variant:
	var made: Variant = super()
	while not Godot3.has(made):
		made = super()
	return made


func value(depth: int) -> Variant:
	return of_type(_type(), depth)


func of_type(type: int, depth: int) -> Variant:
	match type:
		TYPE_RID:
			return RID()
		TYPE_OBJECT:
			return null
		TYPE_NODE_PATH when whole_words:
			return WHOLE_WORDS[_generator.randi() % WHOLE_WORDS.size()]
		TYPE_VECTOR2I:
			return Vector2i(_exact(), _exact())
		TYPE_RECT2I:
			return Rect2i(_exact(), _exact(), _exact(), _exact())
		TYPE_VECTOR3I:
			return Vector3i(_exact(), _exact(), _exact())
	return super(type, depth)


## Makes a Dictionary whose declared key type is in DECLARED_KEYS. For some keys of other types that
## contain NaN, Godot 3 writes "[Deleted Object]" in place of the value.
func _dictionary(depth: int) -> Dictionary:
	var made := super(depth)
	while made.get_typed_key_builtin() not in DECLARED_KEYS:
		made = super(depth)
	return made


func _key(_depth: int) -> Variant:
	return of_type(KEYS[_generator.randi() % KEYS.size()], MAX_DEPTH)


func _declared_type(depth: int) -> int:
	var declared := super(depth)
	return TYPE_NIL if declared in Godot3.ONLY_HERE else declared


func _type() -> int:
	while true:
		var type := _generator.randi() % TYPE_MAX
		if type not in Godot3.ONLY_HERE:
			return type
	return TYPE_NIL


func _exact() -> int:
	return _generator.randi_range(-Godot3.EXACT, Godot3.EXACT)

## A resource whose getter and setter do what they are told, once.
extends Resource

static var deed := Callable()

@export var value: int:
	set(new_value):
		value = new_value
		_meddle()
	get:
		_meddle()
		return value


static func _meddle() -> void:
	var now := deed
	deed = Callable()
	if now.is_valid():
		now.call()

## An object with as many properties as an entity has keys.
extends Resource

@export var id := 0
@export var name := ""
@export var hp := 0.0
@export var alive := false
@export var position := Vector3()
@export var tint := Color()
@export var tags: Array = []

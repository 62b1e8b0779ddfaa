## An object with properties of its own, for objects.gd.
extends Resource

@export var number := 5
@export var text := "ß"
@export var inner: Resource
@export var others: Array[Resource]
@export var by_name: Dictionary[StringName, Resource]

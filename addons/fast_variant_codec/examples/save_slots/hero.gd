extends RefCounted
## The state of the example's game. Scripts of your own project can have a `class_name`, and need no preload.

const ExampleItem := preload("item.gd")

var name := "Ren"
var level := 1
var position := Vector2(120, 120)
var items: Array[ExampleItem] = []
## The item in hand: one of `items`, and still the same object after loading.
var in_hand: ExampleItem

## An object with a nested object, and its hand-written conversion.
extends RefCounted

const Item := preload("res://bench/item.gd")

@export_storage var id := 0
@export_storage var hp := 0.0
@export_storage var name := ""
@export_storage var position := Vector3()
@export_storage var alive := false
@export_storage var tags: Array = []
@export_storage var stats: Dictionary = {}
@export_storage var tint := Color()
@export_storage var level := 0
@export_storage var item: Item


func to_dict() -> Dictionary:
	return {
		"id": id, "hp": hp, "name": name, "position": position, "alive": alive, "tags": tags, "stats": stats, "tint": tint, "level": level,
		"item": {"kind": item.kind, "count": item.count},
	}


static func from_dict(data: Dictionary) -> RefCounted:
	var hero := new()
	hero.id = data["id"]
	hero.hp = data["hp"]
	hero.name = data["name"]
	hero.position = data["position"]
	hero.alive = data["alive"]
	hero.tags = data["tags"]
	hero.stats = data["stats"]
	hero.tint = data["tint"]
	hero.level = data["level"]
	hero.item = Item.new()
	hero.item.kind = data["item"]["kind"]
	hero.item.count = data["item"]["count"]
	return hero

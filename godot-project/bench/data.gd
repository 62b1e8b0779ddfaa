## The inputs of the workloads.
extends RefCounted

const Hero := preload("res://bench/hero.gd")

const WORDS: PackedStringArray = [
	"příliš", "žluťoučký", "kůň", "úpěl", "ďábelské", "ódy", "the", "quick", "brown", "fox", "straße", "für", "über",
	"быстрая", "лиса", "прыгает", "через", "собаку", "日本", "勇者", "竜の洞窟", "🐎", "🗡️🛡️", "ñandú", "corazón",
]


## The input; null if the kind is unknown.
static func make(kind: String, count: int) -> Variant:
	match kind:
		"int":
			return 5
		"string":
			return "hello"
		"message":
			return {"type": "move", "player": 42, "position": Vector3(1, 2.5, -3)}
		"entities":
			return range(count).map(_entity)
		"events":
			return range(count).map(_event)
		"objects":
			return range(count).map(_object)
		"messages":
			return {"entities": range(count).map(_message)}
		"ints":
			return range(count).map(func(i: int) -> int: return i * 37 - 500000)
		"floats":
			# One number in five fits in 32 bits and is written with 32 bits.
			return range(count).map(func(i: int) -> float: return i * (0.5 if i % 5 == 0 else 0.1))
		"vectors":
			return range(count).map(func(i: int) -> Vector3: return Vector3(i, i * 0.5, -i))
		"ascii":
			return range(count).map(_ascii)
		"unicode":
			return range(count).map(_unicode)
		"packed strings":
			return PackedStringArray(range(count).map(_ascii))
		"packed vectors":
			return PackedVector3Array(range(count).map(func(i: int) -> Vector3: return Vector3(i, i * 0.5, -i)))
		"packed bytes":
			return _bytes(count)
	return null


static func _entity(i: int) -> Dictionary:
	return {
		"id": i, "name": "entity_%d" % i, "hp": 100.0 - i % 97, "alive": i % 5 != 0,
		"position": Vector3(i % 640, 1.5, i / 640.0), "tint": Color.from_hsv(i % 100 / 100.0, 0.5, 1.0),
		"tags": ["enemy", "boss"] if i % 50 == 0 else ["enemy"],
	}


## Events as web services report them: many small Dictionaries with different keys, and short texts.
static func _event(i: int) -> Dictionary:
	var player := "player_%d" % (i % 97)
	var event := {
		"id": "%010d" % (i * 7919), "type": "", "public": true, "created_at": "2026-11-%02dT10:%02d:00Z" % [i % 30 + 1, i % 60],
		"actor": {
			"id": i % 97, "login": player, "gravatar_id": "%x" % hash(player), "url": "https://example.org/users/" + player,
			"avatar_url": "https://example.org/avatars/%x?size=40" % hash(player),
		},
		"repo": {"id": i % 31, "name": "guild/map_%d" % (i % 31), "url": "https://example.org/maps/%d" % (i % 31)},
		"payload": {},
	}
	match i % 4:
		0:
			event["type"] = "push"
			event["payload"] = {
				"ref": "refs/heads/main", "size": 2, "distinct_size": 2, "head": "%x" % hash(i), "before": "%x" % hash(i + 1),
				"commits": range(2).map(func(c: int) -> Dictionary: return {
					"sha": "%x" % hash(i * 2 + c), "message": "Move tree %d" % c, "distinct": true,
					"author": {"name": player, "email": player + "@example.org"},
				}),
			}
		1:
			event["type"] = "create"
			event["payload"] = {"ref": null, "ref_type": "map", "master_branch": "main", "description": "Level %d" % i}
		2:
			event["type"] = "watch"
			event["payload"] = {"action": "started"}
		3:
			event["type"] = "comment"
			event["org"] = {"id": i % 7, "login": "guild_%d" % (i % 7), "url": "https://example.org/guilds/%d" % (i % 7)}
			event["payload"] = {
				"action": "created", "issue": {"number": i % 200, "title": "Door %d" % i, "state": "open", "labels": []},
				"comment": {"id": i, "body": "The door does not open.", "user": {"login": player, "id": i % 97}},
			}
	return event


static func _object(i: int) -> Hero:
	var hero := Hero.new()
	hero.id = i
	hero.hp = 100.0 - i % 97
	hero.name = "hero_%d" % i
	hero.position = Vector3(i % 640, 1.5, i / 640.0)
	hero.alive = i % 5 != 0
	hero.tags = ["enemy", "boss"] if i % 50 == 0 else ["enemy"]
	hero.stats = {"strength": i % 20}
	hero.tint = Color.from_hsv(i % 100 / 100.0, 0.5, 1.0)
	hero.level = i % 60
	hero.item = Hero.Item.new()
	hero.item.kind = i % 300
	return hero


## An entity whose values have types that messages support.
static func _message(i: int) -> Dictionary:
	var entity := _entity(i)
	entity["position"] = PackedFloat32Array([entity.position.x, entity.position.y, entity.position.z])
	entity["tint"] = (entity.tint as Color).to_rgba32()
	entity["tags"] = PackedStringArray(entity.tags)
	return entity


static func _ascii(i: int) -> String:
	return "res://levels/forest/%08d/enemies/goblin_archer.tres" % i


## Words of several scripts in an unpredictable order.
static func _unicode(i: int) -> String:
	var text := "č. %d" % i
	var mix := hash(i)
	for word in 4:
		text += " " + WORDS[mix % WORDS.size()]
		mix /= WORDS.size()
	return text


## Doubles the array until it is long enough, because appending single elements takes seconds.
static func _bytes(count: int) -> PackedByteArray:
	var bytes := PackedByteArray(range(256))
	while bytes.size() < count:
		bytes.append_array(bytes.duplicate())
	bytes.resize(count)
	return bytes


static func _floats(count: int) -> PackedFloat32Array:
	var floats := PackedFloat32Array(range(256))
	while floats.size() < count:
		floats.append_array(floats.duplicate())
	floats.resize(count)
	return floats

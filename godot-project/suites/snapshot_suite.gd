## Snapshots: rows of every kind of field, resources, RPC packets; writers and readers beside a network that loses packets.
extends "res://suites/suite.gd"

const PATH := "user://snapshot_suite.tres"


## An entity with getters and setters.
class Unit:
	extends RefCounted
	var position := Vector3.ZERO
	var heading := 0.0
	var hp := 100:
		set(value):
			hp = value
			times_set += 1
	var name := "unit"
	var times_set := 0


func _schema() -> FastSnapshotSchema:
	var schema := FastSnapshotSchema.new()
	schema.add_bool("bool")
	schema.add_int("int", -5, 100)
	schema.add_int("wide", -9223372036854775808, 9223372036854775807)
	schema.add_float("float", -10, 10, 0.25)
	schema.add_vector2("vector2", -100, 100, 0.5)
	schema.add_vector3("vector3", 0, 100, 0.125)
	schema.add_angle("angle", 8)
	schema.add_quaternion("rotation", 10)
	schema.add_variant("any", 64)
	return schema


func _row() -> Dictionary:
	return {
		"bool": true, "int": 7, "wide": -9223372036854775807, "float": 2.25, "vector2": Vector2(3.5, -100), "vector3": Vector3(1, 2.125, 100),
		"angle": PI / 2, "rotation": Quaternion.IDENTITY, "any": {"items": ["rope"]},
	}


func test_rows() -> bool:
	checks.subject(checks.MIXED, "rows")
	var schema := _schema()
	var row := _row()
	# Numbers that are steps stay as they are.
	checks.same_value("quantized", row, schema.quantized(row))
	checks.same_value("try_unpack", row, schema.try_unpack(schema.pack(row)).value)
	row.merge({"int": 1000, "float": 2.26, "vector2": Vector2(-1e9, 0.2), "angle": PI * 2.5, "any": null}, true)
	var seen := schema.quantized(row)
	checks.same_value("numbers outside", [100, 2.25, Vector2(-100, 0), PI / 2, null], [seen["int"], seen["float"], seen["vector2"], seen["angle"], seen["any"]])
	checks.same_value("quantized again", seen, schema.quantized(seen))
	checks.same_bytes("the same bytes", schema.pack(row), schema.pack(seen))
	checks.same_value("a series", [seen, seen, _row()], Array(schema.try_unpack_series(schema.pack_series([row, seen, _row()])).value, TYPE_NIL, "", null))
	checks.truth("rows that are the same cost little", schema.pack_series([row, row, row]).size() <= schema.pack(row).size() + 4)
	# Scripts often have a number of another type.
	var loose := {"bool": 1, "int": 6.6, "vector2": Vector2i(3, -100), "vector3": Vector3i(1, 2, 100), "float": 2}
	var strict := {"bool": true, "int": 7, "vector2": Vector2(3, -100), "vector3": Vector3(1, 2, 100), "float": 2.0}
	checks.same_value("numbers of other types", schema.quantized(_row().merged(strict, true)), schema.quantized(_row().merged(loose, true)))
	# Packed rows are arguments of RPCs.
	var packet := FastVariantCodec.encode(schema.pack(row))
	checks.same_value("in a packet", seen, schema.try_unpack(FastVariantCodec.decode(packet)).value)
	return true


func test_resources() -> bool:
	checks.subject(TYPE_OBJECT, "schemas")
	var schema := _schema()
	checks.same_int("saved", OK, ResourceSaver.save(schema, PATH))
	var loaded: FastSnapshotSchema = ResourceLoader.load(PATH, "", ResourceLoader.CACHE_MODE_IGNORE)
	checks.same_value("fields", schema.fields, loaded.fields)
	checks.same_int("hash", schema.get_hash(), loaded.get_hash())
	checks.same_value("rows", _row(), loaded.try_unpack(schema.pack(_row())).value)
	loaded.add_bool("another")
	checks.truth("another hash", loaded.get_hash() != schema.get_hash())
	DirAccess.remove_absolute(PATH)
	Engine.print_error_messages = false
	var fields := schema.fields
	schema.add_bool("int")
	schema.add_float("x", 1, 0, 1)
	schema.add_vector3("x", 0, 1e9, 0.1)
	schema.add_angle("x", -1)
	schema.add_quaternion("x", 99)
	schema.add_variant("x", 0)
	for wrong: Dictionary in [{}, {"name": "x", "type": "vec"}, {"name": "x", "type": "int", "min": "a", "max": 1}, {"name": "", "type": "bool"}]:
		schema.fields = [wrong] as Array[Dictionary]
	checks.same_value("nothing has changed", fields, schema.fields)
	for wrong: Variant in [null, 7, {}, _row().merged({"int": "7"}, true), _row().merged({"int": NAN}, true), _row().merged({"float": NAN}, true), _row().merged({"any": "x".repeat(99)}, true), _row().merged({"any": {[1]: 2}}, true), _row().merged({"any": self}, true)]:
		checks.truth("pack", schema.pack(wrong).is_empty() and schema.quantized(wrong).is_empty())
	checks.truth("pack_series", schema.pack_series([]).is_empty() and schema.pack_series([_row(), 1]).is_empty())
	Engine.print_error_messages = true
	for damaged: PackedByteArray in [PackedByteArray(), schema.pack(_row()).slice(1), schema.pack(_row()) + PackedByteArray([0])]:
		for tried: FastVariantResult in [schema.try_unpack(damaged), schema.try_unpack_series(damaged)]:
			checks.truth("damaged", tried.error != FastVariantCodec.OK and tried.message != "", tried.message)
	return true


## A server and a client; packets and acknowledgements are lost, late and repeated.
func test_a_network() -> bool:
	checks.subject(checks.MIXED, "a network")
	var schema := FastSnapshotSchema.new()
	schema.add_vector3("position", -100, 100, 0.01)
	schema.add_angle("heading", 9)
	schema.add_int("hp", 0, 100)
	schema.add_variant("name", 32)
	var random := seeded("a network")
	var writer := FastSnapshotWriter.new()
	var reader := FastSnapshotReader.new()
	# Reads what the other one applies.
	var rows := FastSnapshotReader.new()
	writer.schema = schema
	reader.schema = schema
	rows.schema = schema
	checks.truth("schema", writer.schema == schema and reader.schema == schema)
	var units: Dictionary[int, Unit] = {}
	var world := {}
	var copies := {}
	var worlds: Dictionary[int, Dictionary] = {}
	var bytes := 0
	var accepted := 0
	var late: Array[PackedByteArray] = []
	for tick in range(65_500, 65_900):
		if random.randf() < 0.2 and units.size() < 30:
			units[random.randi_range(0, 60)] = Unit.new()
		if random.randf() < 0.05 and units.size() > 2:
			units.erase(units.keys()[random.randi() % units.size()])
		for id: int in units:
			var unit := units[id]
			unit.heading += random.randf_range(-0.1, 0.1)
			unit.position += Vector3.FORWARD.rotated(Vector3.UP, unit.heading) * 0.1
			unit.hp -= int(random.randf() < 0.01)
			unit.name = "unit %d" % (unit.hp / 5)
		var packet := writer.write(tick, units)
		bytes += packet.size()
		var seen := {}
		for id: int in units:
			seen[id] = schema.quantized(units[id])
		worlds[tick] = _sorted(seen)
		late.append(packet)
		if random.randf() < 0.3:
			continue
		# A few packets arrive late, and some twice.
		for index in random.randi_range(1, 2):
			var arrived: PackedByteArray = late[-1] if random.randf() < 0.8 else late[random.randi_range(maxi(0, late.size() - 6), late.size() - 1)]
			var result := reader.apply(arrived, copies)
			if not result.is_ok():
				checks.truth("an old packet", result.error == FastVariantCodec.SKIPPED_SNAPSHOT and "not newer" in result.message, result.message)
				continue
			accepted += 1
			var value: Dictionary = rows.read(arrived).value
			checks.same_value("changed", PackedInt64Array(value["changed"].keys()), result.value["changed"])
			checks.same_value("added", value["added"], result.value["added"])
			for id: int in value["removed"]:
				world.erase(id)
				copies.erase(id)
			for id: int in value["added"]:
				world[id] = value["added"][id]
				copies[id] = Unit.new() if id % 2 else value["added"][id].duplicate()
				if id % 2:
					for property: String in value["added"][id]:
						copies[id].set(property, value["added"][id][property])
			for id: int in value["changed"]:
				checks.truth("only what differs", value["changed"][id].size() > 0)
				world[id] = world[id].merged(value["changed"][id], true)
			checks.same_value("the world", worlds[value["tick"]], _sorted(world))
			for id: int in world:
				for property: String in world[id]:
					checks.truth("applied", is_same(world[id][property], copies[id].get(property)) or world[id][property] == copies[id].get(property))
		if random.randf() < 0.7:
			checks.truth("acknowledged", writer.acknowledge(reader.get_acknowledgement()).is_ok())
	checks.truth("many are accepted", accepted > 150, str(accepted))
	checks.truth("few bytes", bytes < 400 * 30 * 8, str(bytes))
	checks.truth("print", "tick 65899" in str(writer) and "tick" in str(reader), str(writer))
	return true


## Columns are the same entities as rows, for each kind of field.
func test_columns() -> bool:
	checks.subject(checks.MIXED, "columns")
	var schema := _schema()
	var writers: Array[FastSnapshotWriter] = [FastSnapshotWriter.new(), FastSnapshotWriter.new()]
	var readers: Array[FastSnapshotReader] = [FastSnapshotReader.new(), FastSnapshotReader.new()]
	for side: RefCounted in writers + readers:
		side.set(&"schema", schema)
	var random := seeded("columns")
	var world: Dictionary[int, Dictionary] = {}
	for tick in range(1, 60):
		var row := _row()
		row.merge({
			"bool": tick % 3 == 0, "int": tick, "wide": -tick, "float": random.randf_range(-9, 9), "angle": random.randf_range(-3, 3),
			"vector2": Vector2(tick, 1), "rotation": Quaternion(Vector3.UP, random.randf()), "any": [tick],
		}, true)
		world[random.randi_range(0, 20)] = row
		if tick % 9 == 0:
			world.erase(world.keys()[0])
		var ids := PackedInt64Array(world.keys())
		var columns := _columns(world)
		if tick % 2:
			# Smaller arrays and Arrays hold the same.
			var flags := Array(columns["bool"]).map(func(flag: int) -> bool: return flag == 1)
			columns.merge({"int": PackedInt32Array(Array(columns["int"])), "bool": flags, "float": Array(columns["float"])}, true)
		var packets := [writers[0].write(tick, world, 20_000), writers[1].write_columns(tick, ids, columns, 20_000)]
		# The first ones are full, and begin with the writers' sessions; the others begin with 8 bits of it.
		checks.same_bytes("written", packets[0].slice(9 if tick == 1 else 2), packets[1].slice(9 if tick == 1 else 2))
		var by_rows: Dictionary = readers[0].read(packets[0]).value
		var value: Dictionary = readers[1].read_columns(packets[1]).value
		checks.same_value("tick and removed", [by_rows["tick"], by_rows["removed"]], [value["tick"], value["removed"]])
		for list: String in ["changed", "added"]:
			checks.same_value(list, PackedInt64Array(by_rows[list].keys()), value[list])
		var seen := {}
		for id: int in world:
			seen[id] = schema.quantized(world[id])
		seen = _sorted(seen)
		checks.same_value("ids", PackedInt64Array(seen.keys()), value["ids"])
		checks.same_value("columns", _columns(seen), value["columns"])
		for index in 2:
			writers[index].acknowledge(readers[index].get_acknowledgement())
	return true


## One array for each field, of the values of all entities.
func _columns(world: Dictionary) -> Dictionary:
	var columns := {
		"bool": PackedByteArray(), "int": PackedInt64Array(), "wide": PackedInt64Array(), "float": PackedFloat64Array(), "vector2": PackedVector2Array(),
		"vector3": PackedVector3Array(), "angle": PackedFloat64Array(), "rotation": PackedVector4Array(), "any": [],
	}
	for id: int in world:
		for field: String in columns:
			var value: Variant = world[id][field]
			if value is Quaternion:
				value = Vector4(value.x, value.y, value.z, value.w)
			columns[field].append(value)
	return columns


func _sorted(world: Dictionary) -> Dictionary:
	var ids := world.keys()
	ids.sort()
	var sorted := {}
	for id: int in ids:
		sorted[id] = world[id]
	return sorted


func test_budget_and_errors() -> bool:
	checks.subject(checks.MIXED, "budgets")
	var schema := FastSnapshotSchema.new()
	schema.add_vector3("position", -1000, 1000, 0.01)
	var writer := FastSnapshotWriter.new()
	var reader := FastSnapshotReader.new()
	for tried: FastVariantResult in [reader.read(PackedByteArray()), reader.apply(PackedByteArray(), {}), writer.acknowledge(PackedByteArray())]:
		checks.truth("without a schema", "set `schema` first" in tried.message, tried.message)
	writer.schema = schema
	reader.schema = schema
	var entities := {}
	for id in 200:
		entities[id] = {"position": Vector3(id, id * 2, 3)}
	var received := {}
	var rounds := 0
	while received.size() < 200 and rounds < 50:
		rounds += 1
		var packet := writer.write(rounds, entities, 200, {150: 50.0})
		checks.truth("at most 200 bytes", packet.size() <= 200, str(packet.size()))
		received.merge(reader.read(packet).value["added"])
		if rounds == 1:
			checks.truth("the most important one is first", received.has(150))
		writer.acknowledge(reader.get_acknowledgement())
	checks.truth("all arrive", received.size() == 200 and rounds > 3, str(rounds))
	Engine.print_error_messages = false
	for wrong: Array in [
		[rounds, entities], [-1, entities], [1 << 40, entities], [99, {-1: {}}], [99, {"a": {}}], [99, {1: {}}], [99, {1: {"position": 7}}],
		[99, {1: null}], [99, entities, 3], [99, entities, 200, {"a": 1.0}], [99, entities, 200, {1: "x"}],
	]:
		checks.truth("write%s" % [wrong.slice(0, 1)], writer.callv(&"write", wrong).is_empty())
	var columns := {"position": PackedVector3Array([Vector3.ONE, Vector3.ZERO])}
	for wrong: Array in [
		[[1, 1], columns], [[1, -1], columns], [[1], columns], [[1, 2, 3], columns], [[1, 2], {}], [[1, 2], {"position": PackedVector2Array()}],
		[[1, 2], {"position": [Vector3.ONE, 7]}], [[1, 2], {"position": PackedVector3Array([Vector3.ONE, Vector3(NAN, 0, 0)])}],
	]:
		checks.truth("write_columns%s" % [wrong], writer.write_columns(99, PackedInt64Array(wrong[0]), wrong[1]).is_empty())
	Engine.print_error_messages = true
	entities[0]["position"] = Vector3.ONE
	entities[1]["position"] = Vector3.ONE
	var packet := writer.write(99, entities)
	var typed: Dictionary[String, Vector3] = {}
	var locked := {}
	locked.make_read_only()
	for wrong: Variant in [7, null, typed, locked]:
		var refused := reader.apply(packet, {0: wrong})
		checks.truth("applied to %s" % [wrong], "expected an object or a Dictionary without types" in refused.message, refused.message)
	var gone := Node3D.new()
	var copies := {0: {}, 1: gone}
	gone.free()
	var applied := reader.apply(packet, copies)
	checks.truth("a freed object is written as removed", reader.read(writer.write(100, entities.merged({0: gone}, true), 5000)).value["removed"].has(0))
	checks.truth("after the refusals, and without the freed object", applied.is_ok() and copies[0]["position"] == Vector3.ONE, applied.message)
	checks.same_int("damaged", FastVariantCodec.BAD_SNAPSHOT, reader.read(PackedByteArray([1, 2])).error)
	checks.same_int("acknowledged by a stranger", FastVariantCodec.BAD_SNAPSHOT, writer.acknowledge(PackedByteArray([0xf9, 255, 255])).error)
	var other := FastSnapshotReader.new()
	other.schema = _schema()
	var foreign := other.read(_full_snapshot(schema, entities))
	checks.truth("another schema", foreign.error == FastVariantCodec.BAD_SCHEMA and "another schema" in foreign.message, foreign.message)
	return true


## An entity whose accessors use the writer and the reader that access it.
class Meddler:
	extends RefCounted
	static var on_get: Callable
	static var on_set: Callable
	var position := Vector3.ZERO:
		get:
			if on_get:
				on_get.call()
			return position
		set(value):
			position = value
			if on_set:
				on_set.call()


func test_accessors() -> bool:
	checks.subject(TYPE_OBJECT, "accessors")
	var schema := FastSnapshotSchema.new()
	schema.add_vector3("position", -10, 10, 0.01)
	var writer := FastSnapshotWriter.new()
	var reader := FastSnapshotReader.new()
	writer.schema = schema
	reader.schema = schema
	var copies := {1: Meddler.new()}
	var packets: Array[PackedByteArray] = []
	for tick in 3:
		packets.append(writer.write(tick, {1: {"position": Vector3(tick, 0, 0)}}))
	reader.read(packets[0])
	var inner: Array[FastVariantResult] = []
	Meddler.on_set = func() -> void: inner.append(reader.apply(packets[2], copies))
	checks.truth("the outer call", reader.apply(packets[1], copies).is_ok() and copies[1].position == Vector3(1, 0, 0))
	checks.truth("the inner call", inner.size() == 1 and "a setter reads" in inner[0].message)
	Meddler.on_set = Callable()
	checks.truth("later", reader.apply(packets[2], copies).is_ok() and copies[1].position == Vector3(2, 0, 0))
	Meddler.on_get = func() -> void: writer.schema = FastSnapshotSchema.new()
	Engine.print_error_messages = false
	checks.truth("another schema", writer.write(9, {1: Meddler.new()}).is_empty())
	Engine.print_error_messages = true
	Meddler.on_get = Callable()
	return true


## Few bits stand for many Variants.
func test_much_from_little() -> bool:
	checks.subject(TYPE_ARRAY, "many Variants")
	var schema := FastSnapshotSchema.new()
	schema.add_variant("any", 60_000)
	var writer := FastSnapshotWriter.new()
	var reader := FastSnapshotReader.new()
	writer.schema = schema
	reader.schema = schema
	var entities := {}
	for id in 1000:
		entities[id] = {"any": range(4000)}
	var packet := writer.write(1, entities, 1_000_000)
	checks.truth("a small packet", packet.size() < 70_000, str(packet.size()))
	checks.truth("is refused", "the Variants have over" in reader.read(packet).message)
	return true


func _full_snapshot(schema: FastSnapshotSchema, entities: Dictionary) -> PackedByteArray:
	var writer := FastSnapshotWriter.new()
	writer.schema = schema
	return writer.write(1, entities, 5000)

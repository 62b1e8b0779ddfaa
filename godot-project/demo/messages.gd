## Prints the size of the demo's world as a Variant and as a message:
## godot --headless --path godot-project --script res://demo/messages.gd
extends SceneTree

const SCHEMA := "res://demo/snapshot.proto"
const World := preload("res://demo/world.gd")
const CREATURES := 2000


func _initialize() -> void:
	var world: World = World.new()
	world.multimesh = MultiMesh.new()
	for id in CREATURES:
		world.state["creatures"].append(world._creature(id))
	var sizes := sizes_of(world.state)
	for form: String in sizes:
		print("%-10s %9d bytes" % [form, sizes[form]])
	world.free()
	quit()


## The size of the world in each form; 0 if the message does not restore the world.
static func sizes_of(state: Dictionary) -> Dictionary[String, int]:
	var schema := FastProtobufSchema.load_file(SCHEMA)
	var message := to_message(state)
	var sizes: Dictionary[String, int] = {"Godot": FastVariantCodec.encoded_size(state)}
	for own_wire: bool in [false, true]:
		schema.own_wire = own_wire
		var bytes := schema.encode("Snapshot", message)
		var is_whole := same_world(from_message(schema.decode("Snapshot", bytes)), state)
		sizes["own wire" if own_wire else "protobuf"] = bytes.size() if is_whole else 0
	return sizes


## Converts a world to a message. Messages have no vectors, so a Vector2 becomes a nested message.
static func to_message(state: Dictionary) -> Dictionary:
	var creatures: Array[Dictionary] = []
	for creature: Dictionary in state["creatures"]:
		var message := creature.duplicate()
		for key: String in ["position", "velocity"]:
			var vector: Vector2 = creature[key]
			message[key] = {"x": vector.x, "y": vector.y}
		creatures.append(message)
	return {"time": state["time"], "creatures": creatures}


static func from_message(message: Dictionary) -> Dictionary:
	for creature: Dictionary in message["creatures"]:
		for key: String in ["position", "velocity"]:
			creature[key] = Vector2(creature[key]["x"], creature[key]["y"])
	return message


## Returns whether two worlds are equal. A message stores hp as a 32-bit float, and has no StringNames.
static func same_world(a: Dictionary, b: Dictionary) -> bool:
	return _as_text(a) == _as_text(b)


static func _as_text(state: Dictionary) -> String:
	var message := to_message(state)
	for creature: Dictionary in message["creatures"]:
		creature["hp"] = PackedFloat32Array([creature["hp"]])[0]
	return JSON.stringify(message, "", true, true)

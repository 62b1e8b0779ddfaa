## Snapshots over ENet: a server and three clients, each with its own socket in this process. A case is a session.
##
## Two clients see parts of the world that overlap: after each snapshot, a client has what the server recorded for it at that
## tick. The third client sees everything, but through few bytes a tick: it has the server's world some time after the world
## has come to rest. Packets are dropped in both directions, and clients sleep for a few ticks.
extends "res://suites/soak/activity.gd"

const TICKS := 200
const ENTITIES := 60
## The shares of the packets that are dropped, and of the ticks in which a client sleeps.
const DROPPED := 0.05
const ASLEEP := 0.1
## The bytes of a snapshot that any change fits into, and of one that few changes fit into.
const WIDE := 60000
const NARROW := 140
const LONGEST_CONNECT_MS := 30000
const LONGEST_REST := 2000


## A client, and what the server knows about it.
class Client:
	extends RefCounted
	var host := ENetConnection.new()
	var server: ENetPacketPeer
	var reader := FastSnapshotReader.new()
	var world := {}
	## The server's end of the connection.
	var peer: ENetPacketPeer
	var writer := FastSnapshotWriter.new()
	## The client sees the entities between two values of x.
	var left: float
	var right: float
	var budget: int
	## The quantised entities that it sees, by tick.
	var records: Dictionary[int, Dictionary] = {}

	func _init(schema: FastSnapshotSchema, from: float, to: float, max_bytes: int) -> void:
		writer.schema = schema
		reader.schema = schema
		left = from
		right = to
		budget = max_bytes


var _schema := FastSnapshotSchema.new()
var _server: ENetConnection
var _clients: Array[Client] = []
var _entities := {}
var _tick := 0


func begin() -> bool:
	watches_memory = true
	cases = 5 * TICKS
	_schema.add_vector2("position", 0, 1000, 0.1)
	_schema.add_angle("heading", 9)
	_schema.add_quaternion("rotation", 9)
	_schema.add_int("hp", 0, 100)
	_schema.add_float("fuel", 0, 1, 0.01)
	_schema.add_bool("is_hit")
	_schema.add_variant("name", 32)
	return true


func run_case() -> int:
	_clients = [
		Client.new(_schema, 0, 600, WIDE), Client.new(_schema, 400, 1000, WIDE), Client.new(_schema, 0, 1000, NARROW),
	]
	# The 16 bits of the tick in snapshots wrap during some sessions.
	_tick = generator.randi_range(65_300, 65_600)
	check("connect", _connect())
	if _clients.all(func(client: Client) -> bool: return client.peer != null):
		for tick in TICKS:
			_step()
			_exchange()
		var rest := 0
		while rest < LONGEST_REST and not _clients.all(_is_done):
			_exchange()
			rest += 1
		count("ticks at rest", rest)
		for client in _clients:
			check("the resting world", _is_done(client), "%s has %s, expected %s" % [client.reader, client.world, client.records[_tick]])
	for client in _clients:
		client.host.destroy()
	_server.destroy()
	_clients.clear()
	_entities = {}
	return TICKS


func _connect() -> bool:
	_server = ENetConnection.new()
	# The system chooses the port.
	if _server.create_host_bound("127.0.0.1", 0, _clients.size()) != OK:
		return false
	for index in _clients.size():
		var client := _clients[index]
		if client.host.create_host(1) != OK:
			return false
		client.server = client.host.connect_to_host("127.0.0.1", _server.get_local_port(), 1, index)
	var started := Time.get_ticks_msec()
	var connected := 0
	while connected < _clients.size() and Time.get_ticks_msec() - started < LONGEST_CONNECT_MS:
		for client in _clients:
			client.host.service()
		var event := _server.service(1)
		if event[0] == ENetConnection.EVENT_CONNECT:
			connected += 1
			_clients[event[2]].peer = event[1]
			# Otherwise, ENet drops many packets on a busy machine.
			_clients[event[2]].peer.throttle_configure(5000, 32, 0)
	return connected == _clients.size()


## Entities appear, move, change and vanish. The id of one that has vanished may be used again.
func _step() -> void:
	if _entities.size() < ENTITIES and generator.randf() < 0.5:
		_entities[generator.randi_range(0, 2 * ENTITIES)] = {
			"position": Vector2(generator.randf(), generator.randf()) * 1000.0, "heading": generator.randf() * TAU,
			"rotation": Quaternion.IDENTITY, "hp": 100, "fuel": 1.0, "is_hit": false, "name": "entity %d" % generator.randi(),
		}
	if not _entities.is_empty() and generator.randf() < 0.2:
		_entities.erase(_entities.keys()[generator.randi() % _entities.size()])
	for id: int in _entities:
		var entity: Dictionary = _entities[id]
		if generator.randf() < 0.3:
			continue
		entity["heading"] += generator.randf_range(-0.2, 0.2)
		entity["position"] = (entity["position"] + Vector2.from_angle(entity["heading"]) * 8.0).posmod(1000.0)
		entity["rotation"] *= Quaternion(Vector3(1, 2, 3).normalized(), generator.randf_range(0.0, 0.3))
		entity["fuel"] -= 0.001
		entity["is_hit"] = generator.randf() < 0.05
		if entity["is_hit"]:
			entity["hp"] -= generator.randi_range(0, 9)
			entity["name"] = ["hit", entity["hp"]] if generator.randf() < 0.5 else null


## A tick: the server sends, clients that are awake read and acknowledge.
func _exchange() -> void:
	_tick += 1
	var quantized := {}
	for id: int in _entities:
		quantized[id] = _schema.quantized(_entities[id])
	for client in _clients:
		var seen := {}
		var record := {}
		for id: int in _entities:
			var x: float = _entities[id]["position"].x
			if x >= client.left and x < client.right:
				seen[id] = _entities[id]
				record[id] = quantized[id]
		client.records[_tick] = record
		var packet := client.writer.write(_tick, seen, client.budget)
		check("the budget", packet.size() <= client.budget and not packet.is_empty(), str(packet.size()))
		client.peer.send(0, packet, ENetPacketPeer.FLAG_UNRELIABLE_FRAGMENT)
		count("bytes", packet.size())
	_server.flush()
	for client in _clients:
		if generator.randf() < ASLEEP:
			continue
		for packet: PackedByteArray in _arrived(client.host).get(client.server, []):
			_read(client, packet)
			client.server.send(0, client.reader.get_acknowledgement(), ENetPacketPeer.FLAG_UNSEQUENCED)
		client.host.flush()
	var arrived := _arrived(_server)
	for client in _clients:
		for packet: PackedByteArray in arrived.get(client.peer, []):
			var result := client.writer.acknowledge(packet)
			check("acknowledge", result.is_ok(), result.message)


## The packets that have arrived and are not dropped, by peer.
func _arrived(host: ENetConnection) -> Dictionary:
	var packets := {}
	var event := host.service()
	while event[0] != ENetConnection.EVENT_NONE:
		if event[0] == ENetConnection.EVENT_RECEIVE:
			var packet: PackedByteArray = event[1].get_packet()
			var is_dropped := generator.randf() < DROPPED
			count("dropped" if is_dropped else "received")
			if not is_dropped:
				packets.get_or_add(event[1], []).append(packet)
		event = host.service()
	return packets


func _read(client: Client, packet: PackedByteArray) -> void:
	var result := client.reader.apply(packet, client.world)
	check("apply", result.is_ok(), result.message)
	if not result.is_ok():
		return
	var value: Dictionary = result.value
	for id: int in value["removed"]:
		client.world.erase(id)
	client.world.merge(value["added"])
	if client.budget == WIDE:
		var expected := client.records[value["tick"]]
		check("the world", client.world == expected, "at tick %d, found %s, expected %s" % [value["tick"], client.world, expected])


func _is_done(client: Client) -> bool:
	return client.world == client.records[_tick]

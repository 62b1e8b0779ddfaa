## Counts the bytes that ENet sends for a world in several ways, at 30 ticks a second.
##
## Server and client share this process: each has its own SceneMultiplayer. All links run at once, with the same world. The
## payloads of the UDP packets count: ENet's headers, acknowledgements and repetitions, too.
extends Node

const SyncedUnit := preload("res://bench/snapshots/synced_unit.gd")
const Unit := preload("res://bench/snapshots/unit.gd")
const Ways := preload("res://bench/snapshots/ways.gd")

## The first ticks do not count: links connect, and numbers replace the paths of Nodes.
const FIRST_COUNTED := 60
## The ticks in which the last packets arrive.
const LAST_ARRIVALS := 10


## A server and a client.
class Link:
	extends Node
	var server := make_end()
	var client := make_end()
	var _server_peer := ENetMultiplayerPeer.new()
	var _client_peer := ENetMultiplayerPeer.new()

	func _init(title: String) -> void:
		name = title
		server.name = "Server"
		client.name = "Client"
		add_child(server)
		add_child(client)
		# The system chooses the port.
		_server_peer.create_server(0)
		_client_peer.create_client("127.0.0.1", _server_peer.host.get_local_port())

	func _enter_tree() -> void:
		for end: Array in [["Server", _server_peer], ["Client", _client_peer]]:
			var multiplayer_of_end := SceneMultiplayer.new()
			get_tree().set_multiplayer(multiplayer_of_end, NodePath("%s/%s" % [get_path(), end[0]]))
			multiplayer_of_end.multiplayer_peer = end[1]

	func _ready() -> void:
		# Without this, ENet drops packets, and holds others back, whenever the answers take longer than before.
		server.multiplayer.peer_connected.connect(func(id: int) -> void:
			_server_peer.get_peer(id).throttle_configure(5000, 32, 0))

	func is_ready() -> bool:
		return not server.multiplayer.get_peers().is_empty()

	func run(tick: int, units: Dictionary[int, Unit]) -> void:
		if is_ready():
			send(tick, units)
		server.multiplayer.poll()
		client.multiplayer.poll()

	## The bytes that server and client have sent since the last call.
	func pop_sent() -> PackedFloat64Array:
		var sent := PackedFloat64Array()
		for peer: ENetMultiplayerPeer in [_server_peer, _client_peer]:
			sent.append(peer.host.pop_statistic(ENetConnection.HOST_TOTAL_SENT_DATA))
		return sent

	func close() -> void:
		_client_peer.close()
		_server_peer.close()

	## The Node of a side.
	func make_end() -> Node:
		return Node.new()

	func send(_tick: int, _units: Dictionary[int, Unit]) -> void:
		pass

	## Whether the client has received everything, and has the server's world.
	func matches() -> bool:
		return false


class SynchronizerLink:
	extends Link

	func _init(title: String, mode: SceneReplicationConfig.ReplicationMode) -> void:
		var config := SceneReplicationConfig.new()
		for property in Unit.PROPERTIES:
			config.add_property(NodePath(".:" + property))
			config.property_set_replication_mode(NodePath(".:" + property), mode)
		super(title)
		for end: Node in [server, client]:
			for unit in end.get_children():
				unit.get_child(0).replication_config = config

	func make_end() -> Node:
		var end := Node.new()
		for id in Unit.COUNT:
			var unit := SyncedUnit.new()
			unit.name = "Unit%d" % id
			# Its intervals are 0: it sends whenever the server is polled, once a tick.
			var synchronizer := MultiplayerSynchronizer.new()
			synchronizer.name = "Synchronizer"
			unit.add_child(synchronizer)
			end.add_child(unit)
		return end

	func send(_tick: int, units: Dictionary[int, Unit]) -> void:
		for id in units:
			for property in Unit.PROPERTIES:
				server.get_child(id).set(property, units[id].get(property))

	func matches() -> bool:
		return range(Unit.COUNT).all(func(id: int) -> bool:
			return Array(Unit.PROPERTIES).all(func(property: String) -> bool:
				return server.get_child(id).get(property) == client.get_child(id).get(property)))


class SnapshotLink:
	extends Link
	var _schema := Unit.schema()
	var _writer := FastSnapshotWriter.new()
	var _reader := FastSnapshotReader.new()
	var _copies: Dictionary[int, Unit] = {}
	## The quantised worlds by tick.
	var _worlds: Dictionary[int, Dictionary] = {}
	var _acknowledgements: Array[PackedByteArray] = []
	## The number of snapshots that made the client's world that of the server.
	var _exact := 0

	func _init(title: String) -> void:
		super(title)
		_writer.schema = _schema
		_reader.schema = _schema
		client.arrived.connect(_read)
		server.arrived.connect(_writer.acknowledge)

	func make_end() -> Node:
		return SnapshotEnd.new()

	func send(tick: int, units: Dictionary[int, Unit]) -> void:
		_worlds[tick] = {}
		for id in units:
			_worlds[tick][id] = _schema.quantized(units[id])
		(server as SnapshotEnd).snapshot.rpc(_writer.write(tick, units))

	func _read(bytes: PackedByteArray) -> void:
		var changes: Dictionary = _reader.apply(bytes, _copies).value
		var added: Dictionary = changes["added"]
		for id: int in added:
			_copies[id] = Unit.of(added[id])
		_exact += int(Unit.dictionaries(_copies) == _worlds[changes["tick"]])
		_acknowledgements.append(_reader.get_acknowledgement())
		# The way to the server takes a tick.
		if _acknowledgements.size() == Ways.LATE - 1:
			(client as SnapshotEnd).acknowledgement.rpc_id(1, _acknowledgements.pop_front())

	func matches() -> bool:
		return _exact == _worlds.size()


class SnapshotEnd:
	extends Node
	signal arrived(bytes: PackedByteArray)

	@rpc("authority", "unreliable")
	func snapshot(bytes: PackedByteArray) -> void:
		arrived.emit(bytes)

	@rpc("any_peer", "unreliable")
	func acknowledgement(bytes: PackedByteArray) -> void:
		arrived.emit(bytes)


## The whole world or a patch by RPC.
class BytesLink:
	extends Link
	var _bytes_of: Callable
	var _last_sent := PackedByteArray()
	var _last_arrived := PackedByteArray()

	func _init(title: String, bytes_of: Callable, compression := ENetConnection.COMPRESS_NONE) -> void:
		super(title)
		_bytes_of = bytes_of
		for peer: ENetMultiplayerPeer in [_server_peer, _client_peer]:
			peer.host.compress(compression)
		client.arrived.connect(func(bytes: PackedByteArray) -> void: _last_arrived = bytes)

	func make_end() -> Node:
		return SnapshotEnd.new()

	func send(_tick: int, units: Dictionary[int, Unit]) -> void:
		_last_sent = _bytes_of.call(units)
		(server as SnapshotEnd).snapshot.rpc(_last_sent)

	func matches() -> bool:
		return _last_arrived == _last_sent


## The bytes of a world in the ways that need no snapshots.
class Encodings:
	extends RefCounted
	var _proto := FastProtobufSchema.from_text("""
		syntax = "proto3";
		message World { repeated Unit units = 1; }
		message Unit {
			uint32 id = 1; Vector position = 2; Vector velocity = 3; float rotation = 4;
			uint32 hp = 5; uint32 state = 6; bool is_hit = 7; bool is_selected = 8;
		}
		message Vector { float x = 1; float y = 2; }
	""")
	var _before := PackedByteArray()

	func _init() -> void:
		_proto.map_message("Vector", TYPE_VECTOR2)

	func rows(units: Dictionary[int, Unit]) -> Array:
		return units.keys().map(func(id: int) -> Dictionary: return units[id].to_dictionary().merged({"id": id}))

	func dictionaries(units: Dictionary[int, Unit]) -> PackedByteArray:
		return var_to_bytes(rows(units))

	func columns(units: Dictionary[int, Unit]) -> PackedByteArray:
		return var_to_bytes(Unit.columns(units).merged({"id": PackedInt64Array(units.keys())}))

	func patch(units: Dictionary[int, Unit]) -> PackedByteArray:
		var before := _before
		_before = columns(units)
		return FastVariantPatch.diff(before, _before) if before else _before

	func protobuf(units: Dictionary[int, Unit]) -> PackedByteArray:
		return _proto.encode("World", {"units": rows(units)})


## Returns the bytes that the server and the client of each link send for a unit and tick: 0 if the client's world is not the
## server's in the end.
func run(units: Dictionary[int, Unit], random: RandomNumberGenerator, ticks: int) -> Dictionary[String, PackedFloat64Array]:
	# Each link is polled once a tick.
	get_tree().multiplayer_poll = false
	Engine.physics_ticks_per_second = roundi(1.0 / Unit.TICK)
	Engine.max_fps = 2 * Engine.physics_ticks_per_second
	var encodings := Encodings.new()
	var links: Array[Link] = [
		SynchronizerLink.new("MultiplayerSynchronizer, always", SceneReplicationConfig.REPLICATION_MODE_ALWAYS),
		SynchronizerLink.new("MultiplayerSynchronizer, on change", SceneReplicationConfig.REPLICATION_MODE_ON_CHANGE),
		SnapshotLink.new("snapshots by RPC"),
		BytesLink.new("Dictionaries", encodings.dictionaries),
		BytesLink.new("Dictionaries, COMPRESS_ZSTD", encodings.dictionaries, ENetConnection.COMPRESS_ZSTD),
		BytesLink.new("packed arrays", encodings.columns),
		BytesLink.new("packed arrays, COMPRESS_ZSTD", encodings.columns, ENetConnection.COMPRESS_ZSTD),
		BytesLink.new("a protobuf message", encodings.protobuf),
		BytesLink.new("patches of packed arrays", encodings.patch),
	]
	for link in links:
		add_child(link)
	var last := FIRST_COUNTED + ticks
	for tick in last + LAST_ARRIVALS:
		await get_tree().physics_frame
		if tick < last:
			for id in units:
				units[id].step(random)
		for link in links:
			if tick == FIRST_COUNTED:
				link.pop_sent()
			# The last packets take a tick or two.
			if tick < last or not link.matches():
				link.run(tick, units)
	var sent: Dictionary[String, PackedFloat64Array] = {}
	for link in links:
		sent[link.name] = PackedFloat64Array([0, 0])
		if link.matches():
			var bytes := link.pop_sent()
			sent[link.name] = PackedFloat64Array([bytes[0] / ticks / units.size(), bytes[1] / ticks / units.size()])
		link.close()
	return sent

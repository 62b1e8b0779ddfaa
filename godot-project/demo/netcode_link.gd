## A server and a client that are connected by ENet on localhost. Packets take a while, and some are lost.
##
## Each tick is encoded in three ways, and one of them is sent. When its packet arrives, the client reads the other two
## from memory: all ways have the same losses and baselines, so their sizes can be compared.
extends RefCounted

enum Way { VARIANTS, DIFFERENCES, SNAPSHOTS }

## The time that a packet takes, in seconds.
const DELAY := 0.05
## The budget of a snapshot, which fits into one datagram. ENet splits the packets of the other ways.
const MAX_BYTES := 1200

## Emitted for each tick, with the units that were sent, by id, and their packets, by way.
signal sent(tick: int, units: Dictionary[int, Dictionary], packets: Array[PackedByteArray])
## Emitted for each tick that arrived, with the units as the client knows them, by way and id.
signal received(tick: int, units: Array[Dictionary])

var way := Way.SNAPSHOTS
## The probability that a packet is lost, in either direction. A real network loses datagrams, and with one of them the
## whole packet, so it loses long packets more often.
var loss := 0.0
var schema := FastSnapshotSchema.new()

var _server := ENetConnection.new()
var _client := ENetConnection.new()
var _time := 0.0
var _tick := 0
## The packets under way: when each is due, its sender, channel and bytes.
var _delayed: Array[Array] = []
## The packets of recent ticks, by tick and way.
var _packets: Dictionary[int, Array] = {}

## The states that a difference may start from, by tick: those that the server has sent, and those that the client has.
var _sent: Dictionary[int, PackedByteArray] = {0: FastVariantCodec.encode(_columns([]))}
var _known := _sent.duplicate()
## The newest tick that the client has acknowledged.
var _acknowledged := 0

var _writer := FastSnapshotWriter.new()
var _reader := FastSnapshotReader.new()
## The units as the reader has applied snapshots to them.
var _applied := {}


func _init() -> void:
	schema.add_int("kind", 0, 3)
	schema.add_vector2("position", 0, 1024, 0.125)
	schema.add_angle("rotation", 8)
	schema.add_int("hp", 0, 100)
	_writer.schema = schema
	_reader.schema = schema
	_server.create_host_bound("127.0.0.1", 0, 1, Way.size())
	_client.create_host(1, Way.size())
	_client.connect_to_host("127.0.0.1", _server.get_local_port(), Way.size())


## Encodes the next tick in each way, and sends it in the chosen one.
func send(units: Dictionary[int, Dictionary]) -> void:
	_tick += 1
	_sent[_tick] = FastVariantCodec.encode(_columns(units.values()))
	var patch := FastVariantPatch.diff(_sent[_acknowledged], _sent[_tick])
	var packets: Array[PackedByteArray] = [
		var_to_bytes([_tick, units.values()]),
		var_to_bytes([_tick, patch, _acknowledged]),
		_writer.write(_tick, units, MAX_BYTES),
	]
	_packets[_tick] = packets
	_lose_or_delay(_server, way, packets[way])
	sent.emit(_tick, units, packets)


## Sends the packets that are due, and reads those that have arrived.
func advance(delta: float) -> void:
	_time += delta
	while _delayed and _delayed[0][0] <= _time:
		var packet: Array = _delayed.pop_front()
		packet[1].broadcast(packet[2], packet[3], ENetPacketPeer.FLAG_UNRELIABLE_FRAGMENT)
	_server.flush()
	for packet in _arrived(_client):
		_read_in_all_ways(packet[0], packet[1])
	for packet in _arrived(_server):
		_acknowledged = _writer.acknowledge(packet[1]).value
		_forget_before(_acknowledged, _sent)


## Returns how many bytes the client's ENet has received since the last call.
func pop_received_bytes() -> float:
	return _client.pop_statistic(ENetConnection.HOST_TOTAL_RECEIVED_DATA)


func _lose_or_delay(sender: ENetConnection, channel: int, bytes: PackedByteArray) -> void:
	if randf() >= loss:
		_delayed.append([_time + DELAY, sender, channel, bytes])


## The channel and the bytes of each packet that has arrived. A channel never delivers an older tick after a newer one.
static func _arrived(host: ENetConnection) -> Array[Array]:
	var packets: Array[Array] = []
	var event := host.service()
	while event[0] > ENetConnection.EVENT_NONE:
		if event[0] == ENetConnection.EVENT_CONNECT:
			# ENet must not drop unreliable packets when round trips take longer.
			event[1].throttle_configure(5000, ENetPacketPeer.PACKET_THROTTLE_SCALE, 0)
		elif event[0] == ENetConnection.EVENT_RECEIVE:
			packets.append([event[3], event[1].get_packet()])
		event = host.service()
	return packets


func _read_in_all_ways(sent_way: Way, bytes: PackedByteArray) -> void:
	var units: Array[Dictionary] = [{}, {}, {}]
	var read_tick := _read(sent_way, bytes, units)
	for other: Way in Way.values():
		if other != sent_way:
			_read(other, _packets[read_tick][other], units)
	_forget_before(read_tick, _packets)
	_lose_or_delay(_client, 0, _reader.get_acknowledgement())
	received.emit(read_tick, units)


## Reads a packet into `units`, and returns its tick.
func _read(by: Way, bytes: PackedByteArray, units: Array[Dictionary]) -> int:
	if by == Way.SNAPSHOTS:
		var changes: Dictionary = _reader.apply(bytes, _applied).value
		_applied.merge(changes["added"])
		for id: int in changes["removed"]:
			_applied.erase(id)
		units[by] = _applied.duplicate(true)
		return changes["tick"]
	var packet: Array = bytes_to_var(bytes)
	if by == Way.VARIANTS:
		for unit: Dictionary in packet[1]:
			units[by][unit["id"]] = unit
	else:
		var baseline: int = packet[2]
		_forget_before(baseline, _known)
		var state := FastVariantPatch.apply(_known[baseline], packet[1])
		_known[packet[0]] = state
		var columns: Dictionary = FastVariantCodec.decode(state)
		for index: int in columns["id"].size():
			var unit := {}
			for field: String in columns:
				unit[field] = columns[field][index]
			units[by][unit["id"]] = unit
	return packet[0]


## The units as packed arrays. If every Dictionary of an Array changes, a patch is as long as the Array.
static func _columns(units: Array) -> Dictionary:
	var column := func(field: String) -> Array: return units.map(func(unit: Dictionary) -> Variant: return unit[field])
	return {
		"id": PackedInt32Array(column.call("id")), "kind": PackedByteArray(column.call("kind")),
		"position": PackedVector2Array(column.call("position")), "rotation": PackedFloat32Array(column.call("rotation")),
		"hp": PackedByteArray(column.call("hp")),
	}


static func _forget_before(first: int, by_tick: Dictionary) -> void:
	for old: int in by_tick.keys():
		if old < first:
			by_tick.erase(old)

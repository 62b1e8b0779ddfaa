## The ways from a server's world to a client's that are measured: each writes, reads and acknowledges a snapshot a tick.
extends RefCounted

const ByHand := preload("res://bench/snapshots/by_hand.gd")
const Unit := preload("res://bench/snapshots/unit.gd")

## The age in ticks of the acknowledged snapshot.
const LATE := 3


class Way:
	extends RefCounted
	var name: String
	## The goals: nanoseconds for a unit, and the share of the time by hand.
	var goal := INF
	var share_goal := INF
	## For each tick: bytes, and microseconds.
	var sizes := PackedInt64Array()
	var writing := PackedInt64Array()
	var reading := PackedInt64Array()
	var _units: Dictionary[int, Unit]
	var _acknowledgements := []

	func _init(units: Dictionary[int, Unit]) -> void:
		_units = units

	func run(tick: int) -> void:
		prepare()
		if _acknowledgements.size() == LATE:
			acknowledge(_acknowledgements.pop_front())
		var started := Time.get_ticks_usec()
		var packet := write(tick)
		var written := Time.get_ticks_usec()
		read(packet)
		var ended := Time.get_ticks_usec()
		_acknowledgements.append(acknowledgement())
		sizes.append(packet.size())
		writing.append(written - started)
		reading.append(ended - written)

	## Copies the world to the form that is written.
	func prepare() -> void:
		pass

	func write(_tick: int) -> PackedByteArray:
		return PackedByteArray()

	func read(_packet: PackedByteArray) -> void:
		pass

	func acknowledgement() -> Variant:
		return null

	func acknowledge(_from: Variant) -> void:
		pass

	## The client's world: Dictionaries by id.
	func seen() -> Dictionary:
		return {}


class ByHandWay:
	extends Way
	var _writer := ByHand.Writer.new()
	var _reader := ByHand.Reader.new()
	var _copies: Dictionary[int, Unit] = {}
	var _tick := -1

	func _init(units: Dictionary[int, Unit]) -> void:
		super(units)
		name = "by hand"

	func write(tick: int) -> PackedByteArray:
		return _writer.write(tick, _units)

	func read(packet: PackedByteArray) -> void:
		_tick = _reader.apply(packet, _copies)

	func acknowledgement() -> Variant:
		return _tick

	func acknowledge(from: Variant) -> void:
		_writer.acknowledge(from)

	func seen() -> Dictionary:
		return Unit.dictionaries(_copies)


## Snapshots with Dictionaries.
class DictionaryWay:
	extends Way
	var _writer := FastSnapshotWriter.new()
	var _reader := FastSnapshotReader.new()
	var _rows := {}
	var _copies := {}

	func _init(units: Dictionary[int, Unit]) -> void:
		super(units)
		name = "Dictionaries"
		goal = 1000.0
		share_goal = 0.2
		# Writers with one schema share frames. Each way has a schema, so that it pays for its frames.
		_writer.schema = Unit.schema()
		_reader.schema = _writer.schema

	func prepare() -> void:
		_rows = Unit.dictionaries(_units)

	func write(tick: int) -> PackedByteArray:
		return _writer.write(tick, _rows)

	func read(packet: PackedByteArray) -> void:
		var changes: Dictionary = _reader.apply(packet, _copies).value
		var added: Dictionary = changes["added"]
		for id: int in added:
			_copies[id] = added[id]

	func acknowledgement() -> Variant:
		return _reader.get_acknowledgement()

	func acknowledge(from: Variant) -> void:
		_writer.acknowledge(from)

	func seen() -> Dictionary:
		return _copies


## Snapshots with objects that have scripts.
class ObjectWay:
	extends DictionaryWay

	func _init(units: Dictionary[int, Unit]) -> void:
		super(units)
		name = "objects"
		goal = 2000.0

	func prepare() -> void:
		pass

	func write(tick: int) -> PackedByteArray:
		return _writer.write(tick, _units)

	func read(packet: PackedByteArray) -> void:
		var changes: Dictionary = _reader.apply(packet, _copies).value
		var added: Dictionary = changes["added"]
		for id: int in added:
			_copies[id] = Unit.of(added[id])

	func seen() -> Dictionary:
		return Unit.dictionaries(_copies)


## Snapshots with a packed array for each field.
class ColumnWay:
	extends DictionaryWay
	var _ids := PackedInt64Array()
	var _columns := {}
	var _seen := {}

	func _init(units: Dictionary[int, Unit]) -> void:
		super(units)
		name = "columns"
		goal = 250.0
		_ids = units.keys()

	func prepare() -> void:
		_columns = Unit.columns(_units)

	func write(tick: int) -> PackedByteArray:
		return _writer.write_columns(tick, _ids, _columns)

	func read(packet: PackedByteArray) -> void:
		_seen = _reader.read_columns(packet).value

	func seen() -> Dictionary:
		var rows := {}
		for index: int in _seen["ids"].size():
			var row := {}
			for property: String in _columns:
				var value: Variant = _seen["columns"][property][index]
				row[property] = bool(value) if property.begins_with("is_") else value
			rows[_seen["ids"][index]] = row
		return rows

## Snapshots of units as a careful game packs them with StreamPeerBuffer: numbers in as few whole bytes as they need, flags in
## one byte, and of each unit only the numbers that differ from the last acknowledged snapshot.
extends RefCounted

const Unit := preload("res://bench/snapshots/unit.gd")

## The numbers of a unit, and their bits in the mask.
enum { POSITION, VELOCITY, ROTATION, HP, FLAGS }
## The numbers of a unit that is not there.
const NOTHING: PackedInt32Array = [-1, -1, -1, -1, -1]
const KEPT := 32


class Writer:
	extends RefCounted
	## The numbers of the units, by tick and id.
	var _sent: Dictionary[int, Dictionary] = {}
	var _acknowledged := -1

	func write(tick: int, units: Dictionary[int, Unit]) -> PackedByteArray:
		var base: Dictionary = _sent.get(_acknowledged, {})
		var state := {}
		var stream := StreamPeerBuffer.new()
		stream.put_u16(tick & 0xffff)
		stream.put_u8(tick - _acknowledged if _acknowledged >= 0 else 0)
		var removed := PackedInt32Array()
		for id: int in base:
			if not units.has(id):
				removed.append(id)
		stream.put_u16(removed.size())
		for id in removed:
			stream.put_u16(id)
		for id in units:
			var unit := units[id]
			var place := unit.position
			var x := clampi(roundi(place.x / 0.01), 0, 10000)
			var y := clampi(roundi(place.y / 0.01), 0, 10000)
			var speed := unit.velocity
			var position := x | y << 16
			var velocity := roundi((speed.x + 5.0) / 0.1) | roundi((speed.y + 5.0) / 0.1) << 8
			var rotation := roundi(unit.rotation / TAU * 256.0) & 0xff
			var hp := unit.hp
			var flags := unit.state | int(unit.is_hit) << 3 | int(unit.is_selected) << 4
			state[id] = PackedInt32Array([position, velocity, rotation, hp, flags])
			var before: PackedInt32Array = base.get(id, NOTHING)
			var mask := 0
			if position != before[POSITION]:
				mask |= 1 << POSITION
			if velocity != before[VELOCITY]:
				mask |= 1 << VELOCITY
			if rotation != before[ROTATION]:
				mask |= 1 << ROTATION
			if hp != before[HP]:
				mask |= 1 << HP
			if flags != before[FLAGS]:
				mask |= 1 << FLAGS
			if mask:
				stream.put_u16(id)
				stream.put_u8(mask)
				if mask & 1 << POSITION:
					stream.put_u32(position)
				if mask & 1 << VELOCITY:
					stream.put_u16(velocity)
				if mask & 1 << ROTATION:
					stream.put_u8(rotation)
				if mask & 1 << HP:
					stream.put_u8(hp)
				if mask & 1 << FLAGS:
					stream.put_u8(flags)
		_sent[tick] = state
		_sent.erase(tick - KEPT)
		return stream.data_array

	func acknowledge(tick: int) -> void:
		_acknowledged = tick


class Reader:
	extends RefCounted
	var _received: Dictionary[int, Dictionary] = {}
	var _last := {}

	## Adds and removes units, and sets what differs from the last snapshot. Returns the tick.
	func apply(bytes: PackedByteArray, units: Dictionary[int, Unit]) -> int:
		var stream := StreamPeerBuffer.new()
		stream.data_array = bytes
		# The measured ticks do not wrap.
		var tick := stream.get_u16()
		var distance := stream.get_u8()
		var state: Dictionary = _received[tick - distance].duplicate() if distance else {}
		for removed in stream.get_u16():
			state.erase(stream.get_u16())
		while stream.get_position() < bytes.size():
			var id := stream.get_u16()
			var mask := stream.get_u8()
			var numbers: PackedInt32Array = state.get(id, NOTHING).duplicate()
			if mask & 1 << POSITION:
				numbers[POSITION] = stream.get_u32()
			if mask & 1 << VELOCITY:
				numbers[VELOCITY] = stream.get_u16()
			if mask & 1 << ROTATION:
				numbers[ROTATION] = stream.get_u8()
			if mask & 1 << HP:
				numbers[HP] = stream.get_u8()
			if mask & 1 << FLAGS:
				numbers[FLAGS] = stream.get_u8()
			state[id] = numbers
		for id: int in _last:
			if not state.has(id):
				units.erase(id)
		# A unit that equals the acknowledged snapshot may differ from the last one.
		for id: int in state:
			var numbers: PackedInt32Array = state[id]
			var last: PackedInt32Array = _last.get(id, NOTHING)
			if numbers == last:
				continue
			if not units.has(id):
				units[id] = Unit.new()
			var unit := units[id]
			var position := numbers[POSITION]
			if position != last[POSITION]:
				unit.position = Vector2((position & 0xffff) * 0.01, (position >> 16) * 0.01)
			var velocity := numbers[VELOCITY]
			if velocity != last[VELOCITY]:
				unit.velocity = Vector2((velocity & 0xff) * 0.1 - 5.0, (velocity >> 8) * 0.1 - 5.0)
			var rotation := numbers[ROTATION]
			if rotation != last[ROTATION]:
				unit.rotation = (rotation if rotation < 128 else rotation - 256) * (TAU / 256.0)
			unit.hp = numbers[HP]
			var flags := numbers[FLAGS]
			if flags != last[FLAGS]:
				unit.state = flags & 7
				unit.is_hit = flags & 8 != 0
				unit.is_selected = flags & 16 != 0
		_received[tick] = state
		_received.erase(tick - KEPT)
		_last = state
		return tick

## The ways in which an input goes through the engine and through the codec.
##
## Every function that is timed fills an array with results, one for each call, so that nothing is freed meanwhile. Their loops
## are written out: calling a Callable would cost more than a small value, and the arguments' static types matter too.
extends RefCounted

## Of the inputs of the kind "messages".
const SCHEMA := """
	syntax = "proto3";
	message Snapshot { repeated Entity entities = 1; }
	message Entity {
		int32 id = 1;
		string name = 2;
		float hp = 3;
		bool alive = 4;
		repeated float position = 5;
		fixed32 tint = 6;
		repeated string tags = 7;
	}
"""
## The class of GUS 2, another extension that encodes Variants.
const PEER := &"GUS"
const SCHEMA_FILE := "user://bench.proto"
## Beyond this the engine's text formats take many seconds.
const LONGEST_TEXT_INPUT := 16_000_000


static func make(form: String, value: Variant) -> OneValue:
	match form:
		"nil":
			return Nil.new(value)
		"int":
			return Int.new(value)
		"int, all arguments":
			return IntAllArguments.new(value)
		"vector3":
			return Vector.new(value)
		"string":
			return Text.new(value)
		"message":
			return Message.new(value)
		"protobuf":
			return ProtobufMessage.new(value, false)
		"compact":
			return ProtobufMessage.new(value, true)
		"batch":
			return Batch.new(value)
		"pack":
			return Pack.new(value)
		"objects":
			return Objects.new(value)
		"validate":
			return Validation.new(value)
		"first part":
			return FirstPart.new(value)
		"parts":
			return Parts.new(value)
		"columns":
			return Columns.new(value)
		"rows":
			return Rows.new(value)
		"records":
			return Records.new(value)
		"one change":
			return OneChange.new(value)
		"one insertion":
			return OneInsertion.new(value)
		"fingerprint":
			return Fingerprint.new(value)
	return OneValue.new(value)


## One value, one call.
class OneValue:
	extends RefCounted
	var value: Variant
	var bytes: PackedByteArray
	var json_text: String
	var peer_bytes: PackedByteArray
	var variant_text: String

	func _init(of: Variant) -> void:
		value = of
		bytes = var_to_bytes(of)

	## The directions that are measured.
	func operations() -> PackedStringArray:
		return ["encode", "decode"]

	## What the codec writes.
	func codec_bytes() -> int:
		return bytes.size()

	## A method that the library does not have yet.
	func missing() -> String:
		return ""

	## How the codec's results differ from the engine's; empty if they do not.
	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != bytes:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes(results[0]) == bytes else "another value"

	## So that the codec's threads exist.
	func wake_workers() -> void:
		var numbers := range(1000)
		FastVariantCodec.decode_batch(FastVariantCodec.encode_batch(numbers))

	func idle(kept: Array) -> void:
		for i in kept.size():
			kept[i] = null

	func encode_engine(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = var_to_bytes(input)

	func encode_codec(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input)

	func decode_engine(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = bytes_to_var(input)

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = FastVariantCodec.decode(input)

	func has_floor(op: String) -> bool:
		return op == "encode" or typeof(value) >= TYPE_DICTIONARY

	## The bytes copied into a fresh array: `duplicate` shares them until one is written.
	func encode_floor(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			var copy := input.duplicate()
			copy[0] = 0
			kept[i] = copy

	## The engine's own cost of making the same value once more.
	func decode_floor(kept: Array) -> void:
		if typeof(value) >= TYPE_PACKED_BYTE_ARRAY:
			for i in kept.size():
				var copy: Variant = value.duplicate()
				copy[0] = copy[0]
				kept[i] = copy
		else:
			for i in kept.size():
				kept[i] = value.duplicate(true)

	func has_others() -> bool:
		if bytes.size() > LONGEST_TEXT_INPUT:
			return false
		if json_text.is_empty():
			json_text = JSON.stringify(value)
			variant_text = var_to_str(value)
		return true

	func encode_json(kept: Array) -> void:
		for i in kept.size():
			kept[i] = JSON.stringify(value)

	func decode_json(kept: Array) -> void:
		for i in kept.size():
			kept[i] = JSON.parse_string(json_text)

	func encode_text(kept: Array) -> void:
		for i in kept.size():
			kept[i] = var_to_str(value)

	func decode_text(kept: Array) -> void:
		for i in kept.size():
			kept[i] = str_to_var(variant_text)

	## Whether GUS 2 is there. Its format is its own.
	func has_peer() -> bool:
		if not ClassDB.class_exists(PEER):
			return false
		if peer_bytes.is_empty():
			peer_bytes = ClassDB.class_call_static(PEER, &"var_to_bytes", value)
		return true

	func encode_peer(kept: Array) -> void:
		for i in kept.size():
			kept[i] = ClassDB.class_call_static(PEER, &"var_to_bytes", value)

	func decode_peer(kept: Array) -> void:
		for i in kept.size():
			kept[i] = ClassDB.class_call_static(PEER, &"bytes_to_var", peer_bytes)


## A protobuf message, or the same in the compact wire types.
class ProtobufMessage:
	extends OneValue
	var schema: FastProtobufSchema
	var message: PackedByteArray

	func _init(of: Variant, compact: bool) -> void:
		super(of)
		var file := FileAccess.open(SCHEMA_FILE, FileAccess.WRITE)
		file.store_string(SCHEMA)
		file.close()
		schema = FastProtobufCodec.load_schema(SCHEMA_FILE)
		schema.compact = compact
		message = schema.encode("Snapshot", of)

	func codec_bytes() -> int:
		return message.size()

	func difference() -> String:
		return "" if schema.decode("Snapshot", message) == value else "another value"

	func encode_codec(kept: Array) -> void:
		var input: Dictionary = value
		for i in kept.size():
			kept[i] = schema.encode("Snapshot", input)

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = message
		for i in kept.size():
			kept[i] = schema.decode("Snapshot", input)


## This and the next five are one small value each, in calls whose argument has a static type.
class Nil:
	extends OneValue

	func encode_engine(kept: Array) -> void:
		for i in kept.size():
			kept[i] = var_to_bytes(null)

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(null)


class Int:
	extends OneValue

	func encode_engine(kept: Array) -> void:
		var input: int = value
		for i in kept.size():
			kept[i] = var_to_bytes(input)

	func encode_codec(kept: Array) -> void:
		var input: int = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input)


## GDScript has a faster way to call a method when no argument is left out.
class IntAllArguments:
	extends Int

	func encode_codec(kept: Array) -> void:
		var input: int = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input, false)

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = FastVariantCodec.decode(input, false)


class Vector:
	extends OneValue

	func encode_engine(kept: Array) -> void:
		var input: Vector3 = value
		for i in kept.size():
			kept[i] = var_to_bytes(input)

	func encode_codec(kept: Array) -> void:
		var input: Vector3 = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input)


class Text:
	extends OneValue

	func encode_engine(kept: Array) -> void:
		var input: String = value
		for i in kept.size():
			kept[i] = var_to_bytes(input)

	func encode_codec(kept: Array) -> void:
		var input: String = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input)


class Message:
	extends OneValue

	func encode_engine(kept: Array) -> void:
		var input: Dictionary = value
		for i in kept.size():
			kept[i] = var_to_bytes(input)

	func encode_codec(kept: Array) -> void:
		var input: Dictionary = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input)


## Many values: a loop over the engine's function, which fills an array of the right size, and one call of the codec.
class Batch:
	extends OneValue
	var values: Array
	var buffers: Array[PackedByteArray] = []

	func _init(of: Variant) -> void:
		value = of
		values = of
		buffers.resize(values.size())
		for i in values.size():
			buffers[i] = var_to_bytes(values[i])
			bytes.append_array(buffers[i])

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != buffers:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes(results[0]) == var_to_bytes(values) else "other values"

	func encode_engine(kept: Array) -> void:
		for i in kept.size():
			var encoded: Array[PackedByteArray] = []
			encoded.resize(values.size())
			for number in values.size():
				encoded[number] = var_to_bytes(values[number])
			kept[i] = encoded

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.encode_batch(values)

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var decoded: Array = []
			decoded.resize(buffers.size())
			for number in buffers.size():
				decoded[number] = bytes_to_var(buffers[number])
			kept[i] = decoded

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.decode_batch(buffers)

	func has_others() -> bool:
		return false


## Many values in one buffer, against the same loop.
class Pack:
	extends Batch
	const PACK := &"pack_batch"
	const UNPACK := &"unpack_batch"
	const CLASS := &"FastVariantCodec"

	## As `FileAccess.store_var` frames them.
	func _init(of: Variant) -> void:
		super(of)
		bytes.clear()
		var size := PackedByteArray([0, 0, 0, 0])
		for buffer in buffers:
			size.encode_u32(0, buffer.size())
			bytes.append_array(size)
			bytes.append_array(buffer)

	func missing() -> String:
		for method: StringName in [PACK, UNPACK]:
			if not ClassDB.class_has_method(CLASS, method):
				return method
		return ""

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != bytes:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes(results[0].value) == var_to_bytes(values) else "other values"

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = ClassDB.class_call_static(CLASS, PACK, values)

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = ClassDB.class_call_static(CLASS, UNPACK, bytes)


## Objects with scripts, by class and properties.
class Objects:
	extends OneValue

	func _init(of: Variant) -> void:
		value = of
		bytes = var_to_bytes_with_objects(of)

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != bytes:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes_with_objects(results[0]) == bytes else "another value"

	func encode_engine(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = var_to_bytes_with_objects(input)

	func encode_codec(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = FastVariantCodec.encode(input, true)

	func decode_engine(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = bytes_to_var_with_objects(input)

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = FastVariantCodec.decode(input, true)

	func has_floor(_op: String) -> bool:
		return false

	func has_others() -> bool:
		return false


## What is read of encoded bytes, beside decoding all of them: only the direction "decode".
class Reading:
	extends OneValue

	func operations() -> PackedStringArray:
		return ["decode"]

	func difference() -> String:
		var engine := [null]
		var codec := [null]
		decode_engine(engine)
		decode_codec(codec)
		return "" if var_to_bytes(engine[0]) == var_to_bytes(codec[0]) else "another result"

	func has_floor(_op: String) -> bool:
		return false

	func has_others() -> bool:
		return false


class Validation:
	extends Reading

	func decode_engine(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = bytes_to_var(input) != null

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = FastVariantCodec.validate(input).is_ok()


## One number of the last entity.
class FirstPart:
	extends Reading

	func decode_engine(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = bytes_to_var(input)[-1]["hp"]

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = bytes
		for i in kept.size():
			kept[i] = FastVariantView.open(input).fetch([-1, "hp"])


## A thousand numbers here and there, in a view that has been there before.
class Parts:
	extends Reading
	var view: FastVariantView
	var places: PackedInt32Array

	func _init(of: Variant) -> void:
		super(of)
		view = FastVariantView.open(bytes)
		for i in 1000:
			places.append(i * 7919 % value.size())

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var entities: Array = bytes_to_var(bytes)
			var found := PackedFloat64Array()
			for place in places:
				found.append(entities[place]["hp"])
			kept[i] = found

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			var found := PackedFloat64Array()
			for place in places:
				found.append(view.fetch([place, "hp"]))
			kept[i] = found


class Columns:
	extends Reading

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var rows: Array = bytes_to_var(bytes)
			var ids := PackedInt64Array()
			var positions := PackedVector3Array()
			var hps := PackedFloat64Array()
			ids.resize(rows.size())
			positions.resize(rows.size())
			hps.resize(rows.size())
			for index in rows.size():
				var row: Dictionary = rows[index]
				ids[index] = row["id"]
				positions[index] = row["position"]
				hps[index] = row["hp"]
			kept[i] = {"id": ids, "position": positions, "hp": hps}

	func decode_codec(kept: Array) -> void:
		var types := {"id": TYPE_INT, "position": TYPE_VECTOR3, "hp": TYPE_FLOAT}
		for i in kept.size():
			kept[i] = FastVariantView.open(bytes).columns("", types)


class Rows:
	extends Reading

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var rows: Array = bytes_to_var(bytes)
			var found := PackedInt64Array()
			for index in rows.size():
				if rows[index]["hp"] < 10:
					found.append(index)
			kept[i] = found

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantView.open(bytes).rows("", "hp", "<", 10)


## One field of each record of a file.
class Records:
	extends Reading
	const PATH := "user://bench.records"

	func _init(of: Variant) -> void:
		value = of
		bytes = FastVariantCodec.pack_batch(of)
		FastVariantCodec.save_batch(PATH, of)

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var file := FileAccess.open(PATH, FileAccess.READ)
			var found := PackedFloat64Array()
			while file.get_position() < file.get_length():
				found.append(file.get_var()["hp"])
			kept[i] = found

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantView.open_file(PATH).column("", "hp", TYPE_FLOAT)


## A patch, beside encoding both values: only the direction "encode".
class OneChange:
	extends OneValue
	var changed: Variant

	func _init(of: Variant) -> void:
		super(of)
		changed = bytes_to_var(bytes)
		change()

	func change() -> void:
		changed[changed.size() / 2]["hp"] = 1.0

	func operations() -> PackedStringArray:
		return ["encode"]

	func codec_bytes() -> int:
		return FastVariantCodec.diff(value, changed).size()

	func difference() -> String:
		var made: Variant = FastVariantCodec.patch(value, FastVariantCodec.diff(value, changed)).value
		return "" if var_to_bytes(made) == var_to_bytes(changed) else "another value"

	func encode_engine(kept: Array) -> void:
		for i in kept.size():
			kept[i] = [var_to_bytes(value), var_to_bytes(changed)]

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.diff(value, changed)

	func has_floor(_op: String) -> bool:
		return false

	func has_others() -> bool:
		return false


## In one of many lists.
class OneInsertion:
	extends OneChange

	func change() -> void:
		(changed[changed.size() / 2] as Array).insert(3, -1)


class Fingerprint:
	extends OneChange

	func change() -> void:
		pass

	func codec_bytes() -> int:
		return 8

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		return "" if results[0] == FastVariantCodec.fingerprint_bytes(bytes) else "another fingerprint"

	func encode_engine(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = hash(var_to_bytes(input))

	func encode_codec(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = FastVariantCodec.fingerprint(input)

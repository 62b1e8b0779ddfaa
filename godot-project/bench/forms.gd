## The forms in which an input passes through the engine and the codec.
##
## Every timed function fills an array with one result per call, so that nothing is freed while the clock
## runs. Each function has its own loop: calling a Callable would take longer than encoding a small value, and
## the static types of the arguments affect the time.
extends RefCounted

## The schema of inputs of the kind "messages".
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
const SCHEMA_FILE := "user://bench.proto"


static func make(form: String, value: Variant) -> OneValue:
	match form:
		"int":
			return Int.new(value)
		"string":
			return Text.new(value)
		"message":
			return Message.new(value)
		"protobuf":
			return ProtobufMessage.new(value)
		"batch":
			return Batch.new(value)
		"pack":
			return Pack.new(value)
		"objects":
			return Objects.new(value)
		"classes":
			return Classes.new(value)
		"classes by hand":
			return ClassesByHand.new(value)
		"validate":
			return Validation.new(value)
		"first part":
			return FirstPart.new(value)
		"columns":
			return Columns.new(value)
		"rows":
			return Rows.new(value)
		"records":
			return Records.new(value)
		"one change":
			return OneChange.new(value)
		"fingerprint":
			return Fingerprint.new(value)
	return OneValue.new(value)


## One value, one call.
class OneValue:
	extends RefCounted
	var value: Variant
	var bytes: PackedByteArray

	func _init(of: Variant) -> void:
		value = of
		bytes = var_to_bytes(of)

	func operations() -> PackedStringArray:
		return ["encode", "decode"]

	func codec_bytes() -> int:
		return bytes.size()

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != bytes:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes(results[0]) == bytes else "another value"

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

class ProtobufMessage:
	extends OneValue
	var schema: FastProtobufSchema
	var message: PackedByteArray

	func _init(of: Variant) -> void:
		super(of)
		var file := FileAccess.open(SCHEMA_FILE, FileAccess.WRITE)
		file.store_string(SCHEMA)
		file.close()
		schema = FastProtobufSchema.load_file(SCHEMA_FILE)
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


## This form and the next two pass one small value as a statically typed argument.
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


## Many values: one call of the codec, compared with a loop that fills a preallocated array with the
## results of the engine's function.
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


## Many values in one buffer, compared with the loop of `Batch`.
class Pack:
	extends Batch
	## Joins the buffers in `bytes`, as records in the format of `FileAccess.store_var`.
	func _init(of: Variant) -> void:
		super(of)
		bytes.clear()
		var size := PackedByteArray([0, 0, 0, 0])
		for buffer in buffers:
			size.encode_u32(0, buffer.size())
			bytes.append_array(size)
			bytes.append_array(buffer)

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		if results[0] != bytes:
			return "other bytes"
		decode_codec(results)
		return "" if var_to_bytes(results[0].value) == var_to_bytes(values) else "other values"

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.pack_batch(values)

	func decode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = FastVariantCodec.unpack_batch(bytes)


## Objects with scripts, encoded with class and properties.
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


## The objects of `Objects`, encoded with registered classes.
class Classes:
	extends Objects
	const Hero := preload("res://bench/hero.gd")
	var classes := FastVariantClasses.new()
	var data: PackedByteArray

	func _init(of: Variant) -> void:
		super(of)
		classes.register(Hero, "Hero")
		classes.register(Hero.Item, "Item")
		data = classes.encode(of)

	func codec_bytes() -> int:
		return data.size()

	func difference() -> String:
		var results := [null]
		decode_codec(results)
		return "" if var_to_bytes_with_objects(results[0].value) == var_to_bytes_with_objects(value) else "another value"

	func encode_codec(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = classes.encode(input)

	func decode_codec(kept: Array) -> void:
		var input: PackedByteArray = data
		for i in kept.size():
			kept[i] = classes.try_decode(input)


## Registered classes, compared with a game's hand-written conversion.
class ClassesByHand:
	extends Classes

	func _init(of: Variant) -> void:
		super(of)
		bytes = var_to_bytes(_dictionaries(of))

	static func _dictionaries(heroes: Array) -> Array:
		var dictionaries: Array = []
		for hero: Hero in heroes:
			dictionaries.append(hero.to_dict())
		return dictionaries

	func encode_engine(kept: Array) -> void:
		for i in kept.size():
			kept[i] = var_to_bytes(_dictionaries(value))

	func decode_engine(kept: Array) -> void:
		for i in kept.size():
			var heroes: Array = []
			for data: Dictionary in bytes_to_var(bytes):
				heroes.append(Hero.from_dict(data))
			kept[i] = heroes


## Reading parts of encoded bytes, compared with decoding all of them. Has only the direction "decode".
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
			kept[i] = FastVariantView.open_file(PATH).columns("", {"hp": TYPE_FLOAT})["hp"]


## A patch, compared with encoding both values. Has only the direction "encode".
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
		return _patch().size()

	func difference() -> String:
		return "" if FastVariantPatch.apply(bytes, _patch()) == var_to_bytes(changed) else "another value"

	func _patch() -> PackedByteArray:
		return FastVariantPatch.diff(FastVariantCodec.encode(value), FastVariantCodec.encode(changed))

	func encode_engine(kept: Array) -> void:
		for i in kept.size():
			kept[i] = [var_to_bytes(value), var_to_bytes(changed)]

	func encode_codec(kept: Array) -> void:
		for i in kept.size():
			kept[i] = _patch()


class Fingerprint:
	extends OneChange

	func change() -> void:
		pass

	func codec_bytes() -> int:
		return 8

	func difference() -> String:
		var results := [null]
		encode_codec(results)
		return "" if results[0] == FastVariantPatch.fingerprint(bytes) else "another fingerprint"

	func encode_engine(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = hash(var_to_bytes(input))

	func encode_codec(kept: Array) -> void:
		var input: Variant = value
		for i in kept.size():
			kept[i] = FastVariantPatch.fingerprint(FastVariantCodec.encode(input))

## Saves of one value: what load, plain GDScript and views read; damage; summaries; compression.
extends "res://suites/suite.gd"

const PATH := "user://save_suite.dat"
const Hero := preload("res://suites/fixtures/classes/hero.gd")

## A save whose record is `{&"@zstd": [1, 2, 3], &"size": 100}`, from tests/saves.rs.
const NO_ZSTD := "340000001b00000001000000150000000500000040736176650000001b000000010000000400000003000000646179000200000003000000380000001b000000020000001500000005000000407a7374640000001d0000000300000001020300150000000400000073697a650200000064000000200000001b0000000100000015000000040000004073756d020001000ae16fccb459b544"

var _classes := FastVariantClasses.new()


func test_begin() -> bool:
	_classes.register(Hero)
	_classes.register(Hero.Bag, "Bag")
	_classes.register(Hero.Skill, "Skill")
	return true


func test_every_value() -> bool:
	for case in values.cases:
		var bytes := var_to_bytes(case.value)
		if not Oracle.is_repeatable(bytes) or Oracle.is_lost(case.value):
			continue
		checks.subject(case.type, case.name)
		var expected: Variant = bytes_to_var(bytes)
		for compress: bool in [false, true]:
			var saved := FastVariantCodec.save(PATH, case.value, {"case": case.name}, compress)
			checks.truth("save", saved.is_ok(), saved.message)
			_check_loaded("load", expected, FastVariantCodec.load(PATH))
			_check_loaded("load_async", expected, FastVariantCodec.load_async(PATH).wait_to_finish())
			_check_loaded("load by classes", expected, _classes.load(PATH) if "@" not in case.name else FastVariantCodec.load(PATH))
			checks.same_value("load_summary", {"case": case.name}, FastVariantCodec.load_summary(PATH).value)
			checks.same_value("plain GDScript", [{"case": case.name}, expected], _by_engine())
	return true


func _check_loaded(what: String, expected: Variant, loaded: FastVariantResult) -> void:
	checks.truth(what, loaded.is_ok(), loaded.message)
	checks.same_value(what, expected, loaded.value)


## The reader in docs/saves.md, without the addon.
func _by_engine() -> Array:
	var file := FileAccess.open(PATH, FileAccess.READ)
	var summary: Dictionary = file.get_var()[&"@save"]
	var value: Variant = file.get_var()
	if value is Dictionary and not value.is_typed() and value.has(&"@zstd"):
		value = bytes_to_var(value[&"@zstd"].decompress(value[&"size"], FileAccess.COMPRESSION_ZSTD))
	return [summary, value]


func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "saves of objects")
	var hero := Hero.new()
	hero.title = "Ren"
	hero.bag = Hero.Bag.new()
	for compress: bool in [false, true]:
		_classes.compress = compress
		checks.truth("compress", _classes.compress == compress)
		for saved: FastVariantResult in [
			_classes.save(PATH, {"hero": hero, "again": hero}, {"day": 3}),
			_classes.save_async(PATH, {"hero": hero, "again": hero}, {"day": 3}).wait_to_finish(),
		]:
			checks.truth("what save shows", str(saved).contains(" ok: 1 value, ") and str(saved).contains("bytes written to " + PATH), str(saved))
			var loaded := _classes.load(PATH)
			checks.truth("load", loaded.is_ok() and loaded.value["hero"] is Hero, loaded.message)
			checks.truth("one object", loaded.value["hero"] == loaded.value["again"] and loaded.value["hero"].title == "Ren")
			checks.same_value("load_summary", {"day": 3}, _classes.load_summary(PATH).value)
		var other := Hero.new()
		checks.truth("load_into", _classes.load_into(other, PATH).path == "" and not _classes.load_into(other, PATH).is_ok() and not _classes.load_into(null, PATH).is_ok())
		_classes.save(PATH, hero)
		var into := _classes.load_into(other, PATH)
		checks.truth("load_into an object", into.is_ok() and into.value == other and other.title == "Ren", into.message)
		# The value of a damaged save is plain data.
		var bytes := FileAccess.get_file_as_bytes(PATH)
		_write(bytes.slice(0, -1))
		for loaded: FastVariantResult in [_classes.load(PATH), _classes.load_async(PATH).wait_to_finish(), _classes.load_into(other, PATH)]:
			checks.truth("damaged", loaded.error == FastVariantCodec.BAD_SAVE and loaded.value is Dictionary, loaded.message)
			checks.truth("has plain data", _classes.from_plain(loaded.value).title == "Ren")
		_classes.save(PATH, hero)
	_classes.compress = false
	Engine.print_error_messages = false
	var refused := FastVariantCodec.save(PATH, {"hero": hero})
	checks.truth("objects need their classes", "register its class" in refused.message and refused.path == ".\"hero\"", refused.message)
	refused = _classes.save(PATH, 1, {"hero": hero})
	checks.same_value("a summary is plain", [FastVariantCodec.OBJECT_REFUSED, ".\"summary\".\"hero\""], [refused.error, refused.path])
	checks.truth("its message", "a summary takes no objects" in refused.message, refused.message)
	for bad: String in ["", "user://no such folder/x"]:
		checks.truth("save to \"%s\"" % bad, not FastVariantCodec.save(bad, 1).is_ok())
		checks.truth("save_async to \"%s\"" % bad, not FastVariantCodec.save_async(bad, 1).wait_to_finish().is_ok())
	Engine.print_error_messages = true
	checks.truth("the file is as it was", _classes.load(PATH).is_ok())
	return true


## Each byte flipped, each length: an error every time, and never a wrong value without one.
func test_damage() -> bool:
	checks.subject(checks.MIXED, "damage")
	var value := {"gold": 99, "name": "Ren", "items": range(40), "at": PackedVector3Array([Vector3.ONE])}
	var limits := FastVariantLimits.for_network()
	for compress: bool in [false, true]:
		FastVariantCodec.save(PATH, value, {"day": 3, "title": "Day 3"}, compress)
		var whole := FileAccess.get_file_as_bytes(PATH)
		var unnoticed := 0
		var cut_off := 0
		for length in whole.size():
			_write(whole.slice(0, length))
			var cut := FastVariantCodec.load(PATH)
			unnoticed += int(cut.is_ok())
			cut_off += int(cut.error == FastVariantCodec.BAD_SAVE and "cut off" in cut.message)
			unnoticed += int(FastVariantCodec.load_summary(PATH).is_ok())
		checks.same_int("cuts that nothing noticed", 0, unnoticed)
		checks.truth("cuts that are named so", cut_off >= whole.size() - 28, "%d of %d" % [cut_off, whole.size()])
		for at in whole.size():
			for bit: int in [0, 7] if at % 5 else range(8):
				var flipped := whole.duplicate()
				flipped[at] ^= 1 << bit
				_write(flipped)
				unnoticed += int(FastVariantCodec.load(PATH).is_ok())
		checks.same_int("flips that nothing noticed", 0, unnoticed)
		var changed := whole.duplicate()
		changed[whole.size() - 60 if compress else whole.rfind(99)] ^= 1
		_write(changed)
		var refused := FastVariantCodec.load(PATH, limits)
		checks.same_int("the error", FastVariantCodec.BAD_SAVE, refused.error)
		checks.truth("the message", refused.message.begins_with(PATH + ": the save has changed since it was written"), refused.message)
		checks.truth("the rest of a plain value", compress or refused.value == value.merged({"gold": 98}, true), str(refused.value))
		checks.same_value("its summary", {"day": 3, "title": "Day 3"}, FastVariantCodec.load_summary(PATH).value)
	return true


## Files that save did not write.
func test_other_files() -> bool:
	checks.subject(checks.MIXED, "other files")
	var value := {"gold": 99, "items": [1, 2, 3]}
	_write(var_to_bytes(value))
	checks.same_value("one value", value, FastVariantCodec.load(PATH).value)
	FastVariantCodec.save_batch(PATH, [value])
	checks.same_value("one record", value, FastVariantCodec.load(PATH).value)
	checks.truth("has no summary", "no summary" in FastVariantCodec.load_summary(PATH).message, FastVariantCodec.load_summary(PATH).message)
	FileAccess.open(PATH, FileAccess.WRITE).store_var(value)
	checks.same_value("a record of store_var", value, FastVariantCodec.load(PATH).value)
	for case: Array in [
		[func() -> void: FastVariantCodec.save_batch(PATH, [1, 2]), "found 2 records; use `load_batch`"], [func() -> void: _write(PackedByteArray()), "empty"],
		[func() -> void: _write("{\"a\": 1}".to_utf8_buffer()), "text, not encoded values"], [func() -> void: _write(PackedByteArray([1, 2])), "unexpected end of data"],
		[func() -> void: _write(FastGodot3Codec.encode({"day": 1, "hp": 2.5})), "Godot 3"],
		[func() -> void: DirAccess.remove_absolute(PATH), "file not found"],
	]:
		case[0].call()
		for tried: FastVariantResult in [FastVariantCodec.load(PATH), FastVariantCodec.load_async(PATH).wait_to_finish()]:
			checks.truth(case[1], not tried.is_ok() and case[1] in tried.message and tried.message.begins_with(PATH), tried.message)
			checks.truth("no value", tried.value == null)
		checks.truth("no summary", not FastVariantCodec.load_summary(PATH).is_ok())
	return true


func test_limits() -> bool:
	checks.subject(checks.MIXED, "limits")
	var value := "x".repeat(100_000)
	var limits := FastVariantLimits.for_save_files()
	for compress: bool in [false, true]:
		FastVariantCodec.save(PATH, value, {}, compress)
		limits.max_bytes = var_to_bytes(value).size()
		checks.same_value("as large as allowed", value, FastVariantCodec.load(PATH, limits).value)
		limits.max_bytes -= 1
		checks.same_int("one byte more", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantCodec.load(PATH, limits).error)
	checks.truth("it is smaller", FileAccess.open(PATH, FileAccess.READ).get_length() < 1000)
	limits.max_bytes = 1000
	FastVariantCodec.save(PATH, value)
	checks.same_int("much more", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantCodec.load(PATH, limits).error)
	FastVariantCodec.save(PATH, 1, {"picture": value})
	checks.same_int("a summary", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantCodec.load_summary(PATH, limits).error)
	# The sum is right, but the compressed value is not zstd.
	_write(NO_ZSTD.hex_decode())
	for loaded: FastVariantResult in [FastVariantCodec.load(PATH), FastVariantCodec.load_async(PATH).wait_to_finish()]:
		checks.same_value("no zstd", [FastVariantCodec.BAD_SAVE, null], [loaded.error, loaded.value])
	# Nothing is appended to a save.
	FastVariantCodec.save(PATH, 1)
	Engine.print_error_messages = false
	var appended := FastVariantCodec.append_batch(PATH, [2])
	Engine.print_error_messages = true
	checks.truth("append_batch", "a save of one value" in appended.message, appended.message)
	checks.same_value("is as it was", 1, FastVariantCodec.load(PATH).value)
	# A value that looks like a compressed one is compressed.
	for looks: Variant in [{&"@zstd": PackedByteArray([1]), &"size": 4}, {&"@save": {}}, {&"@sum": 5}]:
		FastVariantCodec.save(PATH, looks)
		checks.same_value("a value like a record", looks, FastVariantCodec.load(PATH).value)
	return true


func test_end() -> bool:
	checks.subject(checks.MIXED, "the end")
	DirAccess.remove_absolute(PATH)
	return true


func _write(bytes: PackedByteArray) -> void:
	FileAccess.open(PATH, FileAccess.WRITE).store_buffer(bytes)

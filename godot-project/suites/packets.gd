## The Godot 4 side of an exchange of packets with Godot 3 on this machine, for `cargo xtask exchange`: godot --headless
## --path godot-project --script res://suites/packets.gd -- --folder DIR --seed S --packets N
##
## A round: a value with its number and the checksum of its text comes in, which must be right, and its bytes those that the
## codec writes; an own one goes out the same way, and must come back byte for byte. The file `port` says where it listens.
extends SceneTree

const Extension := preload("res://suites/extension.gd")
const Godot3 := preload("res://suites/godot3.gd")
const Godot3Random := preload("res://suites/godot3_random.gd")
const Options := preload("res://suites/options.gd")

const TIMEOUT_MSEC := 30000
## What fits a packet.
const MOST_BYTES := 30000

var _peer := PacketPeerUDP.new()
var _passed := 0
var _failed := 0


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	var options := {"folder": "", "seed": 0, "packets": 0}
	if not Extension.is_loaded() or not Options.read(options, get_script()):
		return
	var generator := RandomNumberGenerator.new()
	generator.seed = options["seed"]
	var random := Godot3Random.new(generator)
	random.whole_words = true
	_peer.bind(0, "127.0.0.1")
	_say_port(options["folder"])
	for number: int in options["packets"]:
		var packet := _next_packet(number)
		if packet.is_empty():
			return
		var received: Array = FastVariantCodec.decode_godot3(packet)
		_check("number", received[0] == number)
		var text := Godot3.text_of(received[1])
		_check("text", received[2] == text.md5_text(), text)
		_check("bytes", FastVariantCodec.encode_godot3(received) == packet, text)
		_peer.set_dest_address(_peer.get_packet_ip(), _peer.get_packet_port())
		var value: Variant = random.nested()
		while var_to_bytes(value).size() > MOST_BYTES:
			value = random.nested()
		var own_text := Godot3.text_of(value)
		var sent := FastVariantCodec.encode_godot3([number, value, own_text.md5_text()])
		_peer.put_packet(sent)
		_check("bytes of the echo", _next_packet(number) == sent, own_text)
	print("%d passed, %d failed" % [_passed, _failed])
	quit(0 if _failed == 0 else 1)


## Written under another name first, so that nobody reads half of it.
func _say_port(folder: String) -> void:
	var path := folder.path_join("port")
	FileAccess.open(path + ".new", FileAccess.WRITE).store_string(str(_peer.get_local_port()))
	DirAccess.rename_absolute(path + ".new", path)


## Empty after a long silence.
func _next_packet(number: int) -> PackedByteArray:
	var deadline := Time.get_ticks_msec() + TIMEOUT_MSEC
	while _peer.get_available_packet_count() == 0:
		if Time.get_ticks_msec() > deadline:
			printerr("ERROR: no packet in round %d" % number)
			return PackedByteArray()
		OS.delay_usec(100)
	return _peer.get_packet()


func _check(what: String, holds: bool, detail := "") -> void:
	if holds:
		_passed += 1
	else:
		_failed += 1
		print("FAILED %s: %s" % [what, detail.left(400)])

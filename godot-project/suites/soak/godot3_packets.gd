## Exchanges packets with a Godot 3 process on this machine.
##
## In each case, Godot 3 sends the number of the case, a value, and the checksum of the value's text. This process
## checks them, and the codec's bytes. Then it sends a value of its own in the same way, and must receive the same
## bytes back.
## The file `port` contains the port.
extends "res://suites/soak/activity.gd"

const Godot3 := preload("res://suites/godot3.gd")
const Godot3Random := preload("res://suites/godot3_random.gd")

const TIMEOUT_MSEC := 30000
## The maximum size in bytes of a value that is sent in a packet.
const MOST_BYTES := 30000

var _peer := PacketPeerUDP.new()
var _random := Godot3Random.new(generator)


func begin() -> bool:
	_random.whole_words = true
	_peer.bind(0, "127.0.0.1")
	# Writes a temporary file and renames it, so that nobody reads a partial file.
	FileAccess.open(path("port.new"), FileAccess.WRITE).store_string(str(_peer.get_local_port()))
	DirAccess.rename_absolute(path("port.new"), path("port"))
	return true


func run_case() -> int:
	var packet := _next_packet()
	if packet.is_empty():
		return 1
	var received: Array = FastVariantCodec.decode_godot3(packet)
	check("number", received[0] == case)
	var text := Godot3.text_of(received[1])
	check("text", received[2] == text.md5_text(), text)
	check("bytes", FastVariantCodec.encode_godot3(received) == packet, text)
	_peer.set_dest_address(_peer.get_packet_ip(), _peer.get_packet_port())
	var value: Variant = _random.nested()
	while var_to_bytes(value).size() > MOST_BYTES:
		value = _random.nested()
	var own_text := Godot3.text_of(value)
	var sent := FastVariantCodec.encode_godot3([case, value, own_text.md5_text()])
	_peer.put_packet(sent)
	check("bytes of the echo", _next_packet() == sent, own_text)
	return 1


## The next packet; empty after a long silence.
func _next_packet() -> PackedByteArray:
	var deadline := Time.get_ticks_msec() + TIMEOUT_MSEC
	while _peer.get_available_packet_count() == 0:
		if Time.get_ticks_msec() > deadline:
			printerr("ERROR: no packet in round %d" % case)
			return PackedByteArray()
		OS.delay_usec(100)
	return _peer.get_packet()

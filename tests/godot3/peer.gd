# Exchanges packets with a Godot 4: godot3-server --path tests/godot3 -s res://peer.gd --port P --seed S --packets N
#
# In each round, this peer sends a number, a value and the checksum of the value's text. The other peer sends
# another value back. This peer checks the value and sends it again, so that the other peer can compare the
# bytes. Uses put_var and get_var.
extends SceneTree

const Describe := preload("res://describe.gd")
const Options := preload("res://options.gd")
const Random := preload("res://random.gd")

const TIMEOUT_MSEC := 30000
# The maximum size that fits in a packet.
const MOST_BYTES := 30000

var _peer := PacketPeerUDP.new()


func _init() -> void:
	OS.exit_code = 1  # The exit code if a script error ends this function early.
	_peer.set_dest_address("127.0.0.1", int(Options.read("port")))
	var random := Random.new(int(Options.read("seed")))
	var passed := 0
	var failed := 0
	for number in int(Options.read("packets")):
		var value = random.nested()
		while var2bytes(value).size() > MOST_BYTES:
			value = random.nested()
		_peer.put_var([number, value, Describe.of(value).md5_text()])
		if not _has_packet():
			printerr("ERROR: no answer to packet %d" % number)
			return
		var answer: Array = _peer.get_var()
		if answer[0] == number and answer[2] == Describe.of(answer[1]).md5_text():
			passed += 1
		else:
			failed += 1
			print("FAILED packet %d: %s" % [number, Describe.of(answer).left(400)])
		_peer.put_var(answer)
	print("%d passed, %d failed" % [passed, failed])
	quit(0)


func _has_packet() -> bool:
	var deadline := OS.get_ticks_msec() + TIMEOUT_MSEC
	while _peer.get_available_packet_count() == 0:
		if OS.get_ticks_msec() > deadline:
			quit(1)
			return false
		OS.delay_usec(100)
	return true

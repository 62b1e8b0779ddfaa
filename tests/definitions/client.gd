## Sends values over UDP and TCP to server.gd, and compares the answers with the values.
##
## Usage: godot --headless --script client.gd
extends SceneTree

const PORT := 47000 # UDP and TCP


func _initialize() -> void:
	var numbers: Array[int] = [1, 2, 3]
	var speeds: Dictionary[String, float] = {"walk": 2.5}
	var values: Array = [
		42,
		9876543210,
		0.1,
		"hello, wörld",
		Vector3(1, -2.5, 3),
		{"hp": 7, "pos": Vector2(1.5, 2), &"path": ^"/root/a:b"},
		numbers,
		speeds,
		PackedVector4Array([Vector4(1, 2, 3, 4)]),
		PackedStringArray(["a", "bc"]),
	]
	quit(0 if _over_udp(values) and _over_tcp(values) else 1)


func _over_udp(values: Array) -> bool:
	var udp := PacketPeerUDP.new()
	udp.connect_to_host("127.0.0.1", PORT)
	for value: Variant in values:
		udp.put_var(value)
		udp.wait()
		if udp.get_var() != value:
			return false
	return true


func _over_tcp(values: Array) -> bool:
	var stream := StreamPeerTCP.new()
	stream.connect_to_host("127.0.0.1", PORT)
	while stream.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		stream.poll()
	for value: Variant in values:
		stream.put_var(value)
	for value: Variant in values:
		if stream.get_var() != value:
			return false
	stream.disconnect_from_host()
	return true

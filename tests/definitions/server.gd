## Receives values over UDP and TCP, and sends each one back. Exits when the TCP connection closes.
##
## Usage: godot --headless --script server.gd
extends SceneTree

const PORT := 47000 # UDP and TCP

var _udp := PacketPeerUDP.new()
var _listener := TCPServer.new()
var _stream: StreamPeerTCP


func _initialize() -> void:
	_udp.bind(PORT, "127.0.0.1")
	_listener.listen(PORT, "127.0.0.1")


func _process(_delta: float) -> bool:
	while _udp.get_available_packet_count() > 0:
		var value: Variant = _udp.get_var()
		_udp.set_dest_address(_udp.get_packet_ip(), _udp.get_packet_port())
		_udp.put_var(value)
	if _stream == null:
		_stream = _listener.take_connection()
		return false
	_stream.poll()
	if _stream.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		return true
	while _stream.get_available_bytes() > 0:
		_stream.put_var(_stream.get_var())
	return false

## Messages of the schema in fixtures/messages/everything.proto that are slow to read.
extends RefCounted

const SCHEMA := "res://suites/fixtures/messages/everything.proto"
const MESSAGE := "Everything"


## Messages of at most `bytes` bytes each, by name.
static func inputs(bytes: int) -> Dictionary[String, PackedByteArray]:
	return {
		"a number again and again": _repeated([0x18, 1], bytes),
		"two numbers in turns": _repeated([0x20, 1, 0x18, 1], bytes),
		"two members of a oneof in turns": _repeated([0xa8, 0x01, 1, 0xb2, 0x01, 0], bytes),
		"a message in pieces": _repeated([0x8a, 0x01, 0], bytes),
		"a message in a message, in pieces": _repeated([0xa2, 0x01, 3, 0xa2, 0x01, 0], bytes),
		"ints that are not packed": _repeated([0x88, 0x02, 1], bytes),
		"ints in packed pieces": _repeated([0x8a, 0x02, 1, 1], bytes),
		"empty messages in a list": _repeated([0xfa, 0x02, 0], bytes),
		"empty texts in a list": _repeated([0xe2, 0x02, 0], bytes),
		"entries with the same key": _repeated([0x9a, 0x03, 0], bytes),
		"entries with other keys": _entries(bytes),
		"unknown fields": _repeated([0xa0, 0x1f, 1], bytes),
		"groups": _repeated([0xa3, 0x1f, 0xa4, 0x1f], bytes),
		"numbers of ten bytes": _repeated([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], bytes),
	}


static func _repeated(piece: PackedByteArray, bytes: int) -> PackedByteArray:
	var message := piece.duplicate()
	while message.size() * 2 <= bytes:
		message.append_array(message.duplicate())
	return message


static func _entries(bytes: int) -> PackedByteArray:
	var message := PackedByteArray()
	for index in bytes / 8:
		message.append_array([0x9a, 0x03, 5, 0x0a, 3, 65 + index % 26, 65 + index / 26 % 26, 65 + index / 676 % 26])
	return message

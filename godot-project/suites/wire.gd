## Pieces of the wire format, for hand-made inputs.
extends RefCounted


## The header of a value: the type id, and the flags in the upper half.
static func header(type: int, flags := 0) -> PackedByteArray:
	return word(type | (flags << 16))


## 32 bits, little-endian.
static func word(bits: int) -> PackedByteArray:
	var bytes := PackedByteArray([0, 0, 0, 0])
	bytes.encode_u32(0, bits & 0xffffffff)
	return bytes


## A length-prefixed, padded string.
static func text(content: String) -> PackedByteArray:
	return sized(content.to_utf8_buffer())


## Length-prefixed, padded bytes.
static func sized(content: PackedByteArray) -> PackedByteArray:
	var bytes := word(content.size()) + content
	bytes.resize((bytes.size() + 3) & ~3)
	return bytes


static func words(pattern: Array, count: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(count * 4)
	for i in count:
		bytes.encode_u32(i * 4, pattern[i % pattern.size()])
	return bytes


static func joined(pieces: Array[PackedByteArray]) -> PackedByteArray:
	var bytes := PackedByteArray()
	for piece in pieces:
		bytes += piece
	return bytes


static func repeated(piece: PackedByteArray, count: int) -> PackedByteArray:
	return piece.hex_encode().repeat(count).hex_decode()


## Length-prefixed values, as written by the engine's store_var.
static func framed(values: Array) -> PackedByteArray:
	var encoded: Array[PackedByteArray] = []
	encoded.assign(values.map(func(value: Variant) -> PackedByteArray: return var_to_bytes(value)))
	return behind_lengths(encoded)


## Length-prefixed encoded values.
static func behind_lengths(buffers: Array[PackedByteArray]) -> PackedByteArray:
	var bytes := PackedByteArray()
	for buffer in buffers:
		bytes.append_array(word(buffer.size()))
		bytes.append_array(buffer)
	return bytes

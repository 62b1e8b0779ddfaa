# Bytes for values that scripts cannot write.
extends Object


static func bytes(hexadecimal: String) -> PoolByteArray:
	var made := PoolByteArray()
	for i in hexadecimal.length() / 2:
		made.append(("0x" + hexadecimal.substr(i * 2, 2)).hex_to_int())
	return made


static func word(number: int) -> PoolByteArray:
	return PoolByteArray([number & 0xff, number >> 8 & 0xff, number >> 16 & 0xff, number >> 24 & 0xff])


static func words(numbers: Array, count: int) -> PoolByteArray:
	var made := PoolByteArray()
	for i in count:
		made.append_array(word(numbers[i % numbers.size()]))
	return made


static func padded(content: PoolByteArray) -> PoolByteArray:
	var made := word(content.size())
	made.append_array(content)
	while made.size() % 4:
		made.append(0)
	return made


static func joined(parts: Array) -> PoolByteArray:
	var made := PoolByteArray()
	for part in parts:
		made.append_array(part)
	return made

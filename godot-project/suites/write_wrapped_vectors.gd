## Prints FileAccess's compressed and encrypted files, one tab-separated row each, between "@@ begin" and "@@ end".
extends SceneTree

const HEADER := "engine\tlabel\tfile_hex\tmd5_of_contents"
const FOLDER := "user://wrapped"
const MODES := {
	"fastlz": FileAccess.COMPRESSION_FASTLZ,
	"deflate": FileAccess.COMPRESSION_DEFLATE,
	"zstd": FileAccess.COMPRESSION_ZSTD,
	"gzip": FileAccess.COMPRESSION_GZIP,
}

func _init() -> void:
	print("@@ begin")
	print(HEADER)
	DirAccess.make_dir_recursive_absolute(FOLDER)
	for size: int in [0, 1, 15, 100, 4096, 10_000]:
		for mode: String in MODES:
			var path := FOLDER.path_join("%s %d" % [mode, size])
			_row("%s of %d bytes" % [mode, size], FileAccess.open_compressed(path, FileAccess.WRITE, MODES[mode]), size)
	for size: int in [0, 1, 16, 100]:
		var path := FOLDER.path_join("pass %d" % size)
		_row("pass größer of %d bytes" % size, FileAccess.open_encrypted_with_pass(path, FileAccess.WRITE, "größer"), size)
	var key := PackedByteArray(range(32))
	_row("key of 100 bytes", FileAccess.open_encrypted(FOLDER.path_join("key"), FileAccess.WRITE, key), 100)
	print("@@ end")
	quit()

## Writes records until the file has this size, and prints a row.
func _row(label: String, file: FileAccess, size: int) -> void:
	var contents := PackedByteArray()
	while contents.size() < size:
		var record := var_to_bytes({"id": contents.size(), "name": "Ada"})
		contents.resize(contents.size() + 4)
		contents.encode_u32(contents.size() - 4, record.size())
		contents.append_array(record)
	contents.resize(size)
	var path := file.get_path()
	file.store_buffer(contents)
	file.close()
	var version := Engine.get_version_info()
	var engine := "%d.%d.%d" % [version.major, version.minor, version.patch]
	var md5 := HashingContext.new()
	md5.start(HashingContext.HASH_MD5)
	if size > 0:
		md5.update(contents)
	print("\t".join([engine, label, FileAccess.get_file_as_bytes(path).hex_encode(), md5.finish().hex_encode()]))
	DirAccess.remove_absolute(path)

## Checks that the extension is loaded, for the scripts that are started from the command line.
extends RefCounted


## Returns false, and prints a message to standard error, if the class under test does not exist.
static func is_loaded() -> bool:
	if ClassDB.class_exists(&"FastVariantCodec"):
		return true
	printerr("There is no class FastVariantCodec: the extension is not built or not loaded. Run `cargo xtask build`.")
	return false

## Tells whether the extension is there, for the scripts that are started from the command line.
extends RefCounted


## False, with a message on the error output, if the class under test does not exist.
static func is_loaded() -> bool:
	if ClassDB.class_exists(&"FastVariantCodec"):
		return true
	printerr("There is no class FastVariantCodec: the extension is not built or not loaded. Run `cargo xtask build`.")
	return false

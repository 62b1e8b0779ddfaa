## The command-line options of scripts in suites/ and bench/: names and values, as in
## "--seed 7 --folder /tmp/records".
extends RefCounted


## Replaces the defaults in `options`, which are numbers, texts or bools, with values of the same types from
## the command line. An option with a bool is given without a value. "random" stands for any integer. Returns
## whether all options are known and complete; otherwise prints the first error.
static func read(options: Dictionary, script: Script) -> bool:
	var arguments := OS.get_cmdline_user_args()
	var at := 0
	while at < arguments.size():
		var option := arguments[at].trim_prefix("--")
		var is_flag := typeof(options.get(option)) == TYPE_BOOL
		var value: Variant = true
		if not is_flag:
			value = _value(options.get(option), arguments[at + 1] if at + 1 < arguments.size() else "")
		if value == null:
			printerr("Unknown or incomplete option \"%s\"; see the first lines of %s." % [arguments[at], script.resource_path])
			return false
		options[option] = value
		at += 1 if is_flag else 2
	return true


static func _value(default: Variant, text: String) -> Variant:
	match typeof(default):
		TYPE_INT when text == "random":
			return randi()
		TYPE_INT when text.is_valid_int():
			return text.to_int()
		TYPE_FLOAT when text.is_valid_float():
			return text.to_float()
		TYPE_STRING when not text.is_empty():
			return text
	return null

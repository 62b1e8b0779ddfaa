## The options of the scripts that run for long: numbers behind their names, as in "--seed 7 --seconds 60".
extends RefCounted


## Replaces the numbers in `options` by those of the command line. Says whether all options there are known and complete;
## if not, prints which is not.
static func read_numbers(options: Dictionary[String, int], script: Script) -> bool:
	var arguments := OS.get_cmdline_user_args()
	for at in range(0, arguments.size(), 2):
		var option := arguments[at].trim_prefix("--")
		if not options.has(option) or at + 1 == arguments.size() or not arguments[at + 1].is_valid_int():
			printerr("Unknown or incomplete option \"%s\"; see the first lines of %s." % [arguments[at], script.resource_path])
			return false
		options[option] = arguments[at + 1].to_int()
	return true

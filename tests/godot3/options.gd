# The options after a script's name, as in "--folder DIR --seed 7".
extends Object


static func read(name: String) -> String:
	var arguments := OS.get_cmdline_args()
	for at in arguments.size() - 1:
		if arguments[at] == "--" + name:
			return arguments[at + 1]
	printerr("ERROR: the option --%s is missing" % name)
	return ""

@tool
extends VBoxContainer
## Buttons that set all limits at once, and a line that names the preset in use.

const PRESETS: Dictionary[String, StringName] = {
	"Save Files": &"for_save_files", "Network": &"for_network",
}
const HELP: Dictionary[String, String] = {
	"Save Files": "For the game's own files, as in a new resource: all that the format can hold, without trailing bytes.",
	"Network": "For packets of strangers: 1 MiB, 32 levels, 100,000 values, 16 MiB of memory, 5,000,000 key comparisons.",
}

var buttons: Dictionary[String, Button] = {}
var words := Label.new()

var _limits: FastVariantLimits
var _presets: Dictionary[String, FastVariantLimits] = {}
var _properties: Array[StringName] = []


func _init(limits: FastVariantLimits) -> void:
	_limits = limits
	for property in ClassDB.class_get_property_list(&"FastVariantLimits", true):
		if property["usage"] & PROPERTY_USAGE_STORAGE:
			_properties.append(property["name"])
	var bar := HFlowContainer.new()
	for title in PRESETS:
		_presets[title] = ClassDB.class_call_static(&"FastVariantLimits", PRESETS[title])
		var button := Button.new()
		button.text = title
		button.tooltip_text = HELP[title]
		button.pressed.connect(_apply.bind(title))
		buttons[title] = button
		bar.add_child(button)
	add_child(bar)
	words.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(words)


func _process(_delta: float) -> void:
	var preset := _preset()
	words.text = ("Custom limits. −1: no limit." if preset.is_empty() else "The limits are those of %s()%s. −1: no limit." % [
			PRESETS[preset], ", as in a new resource" if preset == "Save Files" else ""])


## The title of the preset with the same values as the edited limits; empty if there is none.
func _preset() -> String:
	for title in _presets:
		var preset := _presets[title]
		if _properties.all(func(property: StringName) -> bool: return _limits[property] == preset[property]):
			return title
	return ""


func _apply(title: String) -> void:
	var preset := _presets[title]
	var history := EditorInterface.get_editor_undo_redo()
	history.create_action("Set Limits: %s" % title, UndoRedo.MERGE_DISABLE, _limits)
	for property in _properties:
		history.add_do_property(_limits, property, preset[property])
		history.add_undo_property(_limits, property, _limits[property])
	history.commit_action()

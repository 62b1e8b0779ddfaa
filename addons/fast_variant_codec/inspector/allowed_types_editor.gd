@tool
extends EditorProperty
## Edits a bit mask of types: check boxes in a list that unfolds below the property.

const ALL := (1 << TYPE_MAX) - 1
## Types whose values refer to something in the process that wrote them, and mean nothing in another process.
const REFERENCES := 1 << TYPE_RID | 1 << TYPE_OBJECT | 1 << TYPE_CALLABLE | 1 << TYPE_SIGNAL

## The button that names or counts the ticked types, and unfolds the list.
var summary := Button.new()
var list := VBoxContainer.new()
## The check boxes, by type.
var boxes: Array[CheckBox] = []
var presets: Dictionary[String, Button] = {}


func _init() -> void:
	summary.toggle_mode = true
	summary.clip_text = true
	summary.toggled.connect(func(is_unfolded: bool) -> void: list.visible = is_unfolded)
	add_child(summary)
	add_focusable(summary)
	var bar := HBoxContainer.new()
	_add_preset(bar, "All", ALL, "Allow all types. Objects need allow_objects besides.")
	_add_preset(bar, "None", 0, "Allow no type at all, to tick some afterwards.")
	_add_preset(bar, "Plain Data", ALL & ~REFERENCES, (
			"Allow what means the same on another machine: all types but RID, Object, Callable and Signal.\n"
			+ "For packets, tick only what your messages consist of."))
	list.add_child(bar)
	var boxes_in_rows := HFlowContainer.new()
	for type in TYPE_MAX:
		var box := CheckBox.new()
		box.text = type_string(type)
		box.tooltip_text = "Whether values may be of type %s, or hold such values (bit %d)." % [box.text, type]
		box.toggled.connect(_on_toggled.bind(type))
		boxes.append(box)
		boxes_in_rows.add_child(box)
		add_focusable(box)
	list.add_child(boxes_in_rows)
	list.hide()
	add_child(list)
	set_bottom_editor(list)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED:
		for type in boxes.size():
			boxes[type].icon = get_theme_icon(type_string(type), &"EditorIcons")
		# The boxes get the new theme after this notification.
		_align.call_deferred()


func _update_property() -> void:
	var types := _types()
	for type in boxes.size():
		boxes[type].set_pressed_no_signal(types & 1 << type != 0)
	summary.text = _in_words(types)
	summary.tooltip_text = "Click to choose among the %d types." % TYPE_MAX


func _set_read_only(is_read_only: bool) -> void:
	for button: BaseButton in boxes + presets.values():
		button.disabled = is_read_only


## Aligns the boxes in as many columns as fit.
func _align() -> void:
	var widest: float = boxes.map(func(box: CheckBox) -> float: return box.get_minimum_size().x).max()
	for box in boxes:
		box.custom_minimum_size.x = widest


func _types() -> int:
	return get_edited_object()[get_edited_property()]


func _in_words(types: int) -> String:
	var names := PackedStringArray()
	for type in TYPE_MAX:
		if types & 1 << type:
			names.append(type_string(type))
	match names.size():
		0:
			return "No type"
		1, 2, 3:
			return ", ".join(names)
		TYPE_MAX:
			return "All types"
	return "%d of %d types" % [names.size(), TYPE_MAX]


func _add_preset(bar: HBoxContainer, title: String, types: int, help: String) -> void:
	var button := Button.new()
	button.text = title
	button.tooltip_text = help
	button.pressed.connect(func() -> void: emit_changed(get_edited_property(), types))
	presets[title] = button
	bar.add_child(button)
	add_focusable(button)


func _on_toggled(is_ticked: bool, type: int) -> void:
	var types := _types()
	emit_changed(get_edited_property(), types | 1 << type if is_ticked else types & ~(1 << type))

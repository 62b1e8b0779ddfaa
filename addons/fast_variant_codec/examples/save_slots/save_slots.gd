extends Control
## A game with save slots. Click to move, pick up items, save, load; all buttons work with keyboards and gamepads.
##
## Run the scene with F6. Your game needs only save_manager.gd; this script shows how to call it.

const ExampleHero := preload("hero.gd")
const ExampleItem := preload("item.gd")
const ExampleSaves := preload("save_manager.gd")
const Row := preload("save_slot.tscn")

const SLOTS := 4
## The slot that the game saves automatically, every few seconds.
const AUTOSAVE_SLOT := 0
const PICTURE_HEIGHT := 72
const ITEMS: Dictionary[StringName, Color] = {&"potion": Color.ORCHID, &"rope": Color.TAN, &"torch": Color.ORANGE}
## Your game sets these in its Input Map: by default, gamepads can move the focus, but not press a button.
const GAMEPAD: Dictionary[StringName, JoyButton] = {&"ui_accept": JOY_BUTTON_A, &"ui_cancel": JOY_BUTTON_B}

var hero := ExampleHero.new()
var saves := ExampleSaves.new()

var _to_delete: int

@onready var field: Panel = %Field
@onready var list: VBoxContainer = %List
@onready var status: Label = %Status
@onready var confirm: ConfirmationDialog = %Confirm


func _ready() -> void:
	# A separate folder, so that the example never replaces your game's saves.
	saves.folder = "user://save_slots_example"
	saves.classes.register(ExampleHero, "Hero")
	saves.classes.register(ExampleItem, "Item")
	saves.autosaved.connect(_on_autosaved)
	add_child(saves)
	field.draw.connect(_draw_field)
	field.gui_input.connect(_on_field_input)
	%PickUp.pressed.connect(pick_up)
	%Autosave.timeout.connect(_on_autosave_timeout)
	confirm.confirmed.connect(func() -> void: delete(_to_delete))
	for slot in SLOTS:
		_add_row(slot)
	_show_saves()
	for action in GAMEPAD:
		var event := InputEventJoypadButton.new()
		event.button_index = GAMEPAD[action]
		InputMap.action_add_event(action, event)
	# Keyboards and gamepads need a first focus.
	%PickUp.grab_focus()


func pick_up() -> void:
	var item := ExampleItem.new()
	item.id = ITEMS.keys().pick_random()
	hero.items.append(item)
	hero.in_hand = item
	hero.level += 1
	field.queue_redraw()


func save_to(slot: int) -> void:
	var problem := saves.save_game(slot, hero, _summary(), _picture())
	_say(tr("Saved in slot %d.") % slot, problem)
	_show_saves()


func load_from(slot: int) -> void:
	var loaded := saves.load_game(slot)
	if loaded["state"] is ExampleHero:
		hero = loaded["state"]
		field.queue_redraw()
	_say(tr("Loaded slot %d.") % slot, loaded["problem"])
	_show_saves()


func delete(slot: int) -> void:
	saves.delete(slot)
	_say(tr("Deleted slot %d.") % slot)
	_show_saves()


func _summary() -> Dictionary:
	return {"title": tr("%s, level %d") % [hero.name, hero.level]}


## A small picture of the field; null if nothing is drawn, as on a server.
func _picture() -> Image:
	if DisplayServer.get_name() == "headless":
		return null
	var screen := get_viewport().get_texture().get_image()
	var picture := screen.get_region(get_viewport().get_final_transform() * field.get_global_rect())
	var width := PICTURE_HEIGHT * picture.get_width() / float(picture.get_height())
	picture.resize(int(width), PICTURE_HEIGHT, Image.INTERPOLATE_LANCZOS)
	return picture


func _add_row(slot: int) -> void:
	var row: Control = Row.instantiate()
	row.name = "Slot%d" % slot
	row.get_node("%Heading").text = tr("Autosave") if slot == AUTOSAVE_SLOT else tr("Slot %d") % slot
	row.get_node("%Save").visible = slot != AUTOSAVE_SLOT
	row.get_node("%Save").pressed.connect(save_to.bind(slot))
	row.get_node("%Load").pressed.connect(load_from.bind(slot))
	row.get_node("%Delete").pressed.connect(_ask_to_delete.bind(slot))
	list.add_child(row)
	# The nearest button on the left may be in another row.
	var first: Control = row.get_node("%Load" if slot == AUTOSAVE_SLOT else "%Save")
	first.focus_neighbor_left = first.get_path_to(%PickUp)


func _show_saves() -> void:
	var focused := get_viewport().gui_get_focus_owner()
	var found := saves.list_saves()
	for slot in SLOTS:
		_show_save(list.get_child(slot), found.get(slot, {}))
	# A button that was disabled, such as that of a deleted save, has lost the focus.
	if focused and not focused.has_focus():
		var next: Control = focused.get_node("%Save")
		(next if next.visible else %PickUp).grab_focus()


## Shows a summary of `list_saves`, or an empty slot.
func _show_save(row: Control, summary: Dictionary) -> void:
	var problem: String = summary.get("problem", "")
	var picture: Image = summary.get("picture")
	row.theme_type_variation = &"DamagedSlot" if problem else &""
	row.get_node("%Picture").texture = ImageTexture.create_from_image(picture) if picture else null
	row.get_node("%Title").text = str(summary.get("title", problem)) if summary else tr("Empty")
	row.get_node("%Time").text = _local_time(summary["time"]) if summary.get("time") is int else ""
	row.get_node("%Damaged").visible = problem != ""
	row.get_node("%Older").visible = problem != "" and summary.has("time")
	for button: Button in [row.get_node("%Load"), row.get_node("%Delete")]:
		button.disabled = summary.is_empty()
		button.focus_mode = FOCUS_NONE if button.disabled else FOCUS_ALL


func _local_time(time: int) -> String:
	return Time.get_datetime_string_from_unix_time(time + Time.get_time_zone_from_system()["bias"] * 60, true)


func _ask_to_delete(slot: int) -> void:
	_to_delete = slot
	confirm.popup_centered()
	confirm.get_cancel_button().grab_focus()


func _on_autosave_timeout() -> void:
	if not confirm.visible:                             # It would be in the picture.
		saves.autosave(AUTOSAVE_SLOT, hero, _summary(), _picture())


func _on_autosaved(_slot: int, problem: String) -> void:
	_say(tr("Autosaved."), problem)
	_show_saves()


func _on_field_input(event: InputEvent) -> void:
	if event is InputEventMouseButton and event.pressed:
		hero.position = event.position
		field.queue_redraw()


func _draw_field() -> void:
	for index in hero.items.size():
		var center := Vector2(28 + 30 * (index % 10), 28 + 30 * (floori(index / 10.0)))
		field.draw_circle(center, 9, ITEMS.get(hero.items[index].id, Color.WHITE))
		if hero.items[index] == hero.in_hand:
			field.draw_arc(center, 13, 0, TAU, 32, Color.WHITE, 2, true)
	field.draw_circle(hero.position, 22, Color.TOMATO, true, -1, true)
	field.draw_string(get_theme_default_font(), hero.position + Vector2(32, 6), _summary()["title"])


func _say(message: String, problem := "") -> void:
	status.text = problem if problem else message
	status.theme_type_variation = &"Problem" if problem else &""

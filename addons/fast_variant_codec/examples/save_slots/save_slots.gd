extends Control
## A game with save slots. Click to move, pick up items, save, load.
##
## Run the scene with F6. Your game needs only save_manager.gd; this script shows how to call it.

const ExampleHero := preload("hero.gd")
const ExampleItem := preload("item.gd")
const ExampleSaves := preload("save_manager.gd")

const SLOTS := 4
## The slot that the game saves automatically, every few seconds.
const AUTOSAVE_SLOT := 0
const PICTURE_SIZE := Vector2i(96, 54)

var hero := ExampleHero.new()
var saves := ExampleSaves.new()

@onready var field: Panel = %Field
@onready var list: VBoxContainer = %List
@onready var status: Label = %Status


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
	_show_saves()
	# For keyboards and gamepads.
	%PickUp.grab_focus()


func pick_up() -> void:
	var item := ExampleItem.new()
	item.id = [&"potion", &"rope", &"torch"].pick_random()
	hero.items.append(item)
	hero.in_hand = item
	hero.level += 1
	field.queue_redraw()


func save_to(slot: int) -> void:
	var problem := saves.save_game(slot, hero, _summary(), _picture())
	_say(problem if problem else "Saved in slot %d." % slot)
	_show_saves()


func load_from(slot: int) -> void:
	var loaded := saves.load_game(slot)
	if loaded["state"] is ExampleHero:
		hero = loaded["state"]
		field.queue_redraw()
	_say(loaded["problem"] if loaded["problem"] else "Loaded slot %d." % slot)


func delete(slot: int) -> void:
	saves.delete(slot)
	_say("Deleted slot %d." % slot)
	_show_saves()


func _summary() -> Dictionary:
	return {"title": "%s, level %d" % [hero.name, hero.level]}


## A small picture of the field; null if nothing is drawn, as on a server.
func _picture() -> Image:
	if DisplayServer.get_name() == "headless":
		return null
	var screen := get_viewport().get_texture().get_image()
	var picture := screen.get_region(get_viewport().get_final_transform() * field.get_global_rect())
	var size := Vector2(picture.get_size())
	size *= PICTURE_SIZE.y / size.y
	picture.resize(int(size.x), int(size.y), Image.INTERPOLATE_LANCZOS)
	return picture


func _show_saves() -> void:
	var focused := get_viewport().gui_get_focus_owner()
	var place := list.get_path_to(focused) if focused and list.is_ancestor_of(focused) else ^""
	for row in list.get_children():
		list.remove_child(row)
		row.queue_free()
	var found := saves.list_saves()
	for slot in SLOTS:
		list.add_child(_row(slot, found.get(slot, {})))
	var again: Control = list.get_node_or_null(place) if place else null
	if again:
		again.grab_focus()


func _row(slot: int, summary: Dictionary) -> Control:
	var row := HBoxContainer.new()
	row.name = "Slot%d" % slot
	var picture := TextureRect.new()
	picture.custom_minimum_size = PICTURE_SIZE
	picture.expand_mode = TextureRect.EXPAND_IGNORE_SIZE
	picture.stretch_mode = TextureRect.STRETCH_KEEP_ASPECT_CENTERED
	if summary.has("picture"):
		picture.texture = ImageTexture.create_from_image(summary["picture"])
	row.add_child(picture)
	var title := Label.new()
	title.text = "%s\n%s" % ["Autosave" if slot == AUTOSAVE_SLOT else "Slot %d" % slot, summary.get("title", "empty")]
	if summary.get("time") is int:
		var local: int = summary["time"] + Time.get_time_zone_from_system()["bias"] * 60
		title.text += "\n" + Time.get_datetime_string_from_unix_time(local, true)
	if summary.has("problem"):
		title.text += " (older)"
	title.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	row.add_child(title)
	if slot != AUTOSAVE_SLOT:
		_add_button(row, "Save", save_to.bind(slot))
	if not summary.is_empty():
		_add_button(row, "Load", load_from.bind(slot))
		_add_button(row, "Delete", delete.bind(slot))
	return row


func _add_button(row: Control, text: String, on_pressed: Callable) -> void:
	var button := Button.new()
	button.name = text
	button.text = text
	button.size_flags_vertical = Control.SIZE_SHRINK_CENTER
	button.pressed.connect(on_pressed)
	row.add_child(button)


func _on_autosave_timeout() -> void:
	saves.autosave(AUTOSAVE_SLOT, hero, _summary(), _picture())


func _on_autosaved(_slot: int, problem: String) -> void:
	_say(problem if problem else "Autosaved.")
	_show_saves()


func _on_field_input(event: InputEvent) -> void:
	if event is InputEventMouseButton and event.pressed:
		hero.position = event.position
		field.queue_redraw()


func _draw_field() -> void:
	var font := get_theme_default_font()
	field.draw_circle(hero.position, 14, Color.TOMATO)
	field.draw_string(font, hero.position + Vector2(20, 5), "%s, level %d" % [hero.name, hero.level])
	for index in hero.items.size():
		var item := hero.items[index]
		var mark := " (in hand)" if item == hero.in_hand else ""
		field.draw_string(font, Vector2(12, 24 + 20 * index), item.id + mark)


func _say(message: String) -> void:
	status.text = message

@tool
extends Tree
## Lists the differences between two files, with the values of both.

signal difference_selected(difference: Differences.Difference)

const Differences := preload("differences.gd")

enum Column { PLACE, OLD, NEW }

var differences: Differences


func _init() -> void:
	columns = Column.size()
	column_titles_visible = true
	hide_root = true
	select_mode = Tree.SELECT_ROW
	set(&"accessibility_name", "Differences")
	set_column_title(Column.PLACE, "Place")
	set_column_custom_minimum_width(Column.PLACE, roundi(140 * EditorInterface.get_editor_scale()))
	for column: int in Column.values():
		set_column_title_alignment(column, HORIZONTAL_ALIGNMENT_LEFT)
		set_column_clip_content(column, true)
	item_selected.connect(func() -> void: difference_selected.emit(get_selected().get_metadata(Column.PLACE)))


## Lists differences. The titles of the two columns of values are `old` and `new`.
func show_differences(shown: Differences, old: String, new: String) -> void:
	clear()
	differences = shown
	set_column_title(Column.OLD, old)
	set_column_title(Column.NEW, new)
	var root := create_item()
	for difference in shown.found:
		var item := root.create_child()
		item.set_metadata(Column.PLACE, difference)
		for column: int in Column.values():
			var text: String = [difference.place, difference.old, difference.new][column]
			item.set_text(column, text)
			item.set_tooltip_text(column, text)
		var icon := &"Edit"
		if difference.old.is_empty():
			icon = &"Add"
		elif difference.new.is_empty():
			icon = &"Remove"
		item.set_icon(Column.PLACE, get_theme_icon(icon, &"EditorIcons"))
	if shown.has_more:
		var item := root.create_child()
		item.set_text(Column.PLACE, "… and more")
		for column: int in Column.values():
			item.set_selectable(column, false)

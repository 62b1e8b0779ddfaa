@tool
extends Tree
## A tree of the values in encoded bytes. Children are added when the line of their parent is unfolded. Many
## children are added in groups, because the engine's Tree is slow with thousands of lines.

## Emitted when the user selects a value, or a line for omitted values.
signal range_selected(start: int, end: int)
## Emitted when the user copies the bytes of the selection.
signal copy_wanted

const Contents := preload("contents.gd")

enum Column { VALUE, PREVIEW, OFFSET, SIZE }

## The maximum number of values for which all lines are unfolded at first.
const UNFOLDED := 60
## The number of lines in a group.
const GROUP := 100
## The number of inspected bytes after which load_to stops.
const LOADED_BYTES := 256 << 20

var contents: Contents

var _items: Dictionary[int, TreeItem] = {}
## The nodes to add when a line is unfolded.
var _folded: Dictionary[TreeItem, PackedInt32Array] = {}
## Lines for omitted children, with the node that contains these children.
var _rests: Dictionary[TreeItem, int] = {}
## The lines of records that have not been inspected, and of groups of records.
var _folded_records: Dictionary[TreeItem, Vector2i] = {}
## The offsets of the errors, sorted.
var _error_offsets := PackedInt64Array()
## The former values of the edited nodes, by offset.
var _edits: Dictionary[int, String] = {}
## Whether the code, not the user, is selecting a line.
var _is_selecting := false


func _init() -> void:
	columns = Column.size()
	column_titles_visible = true
	hide_root = true
	select_mode = Tree.SELECT_ROW
	set(&"accessibility_name", "Values")
	var titles: PackedStringArray = ["Value", "Preview", "Byte", "Size"]
	for column: int in Column.values():
		set_column_title(column, titles[column])
		set_column_title_alignment(
				column, HORIZONTAL_ALIGNMENT_RIGHT if column >= Column.OFFSET else HORIZONTAL_ALIGNMENT_LEFT)
		set_column_clip_content(column, true)
	set_column_expand_ratio(Column.VALUE, 4)
	set_column_expand_ratio(Column.PREVIEW, 5)
	set_column_expand(Column.OFFSET, false)
	set_column_expand(Column.SIZE, false)
	item_collapsed.connect(_on_item_collapsed)
	item_selected.connect(_on_item_selected)


func show_contents(shown: Contents, edits: Dictionary[int, String] = {}) -> void:
	clear()
	_edits = edits
	_error_offsets.clear()
	for problem in shown.problems:
		if problem.is_error:
			# Missing bytes at the end are marked at the last byte.
			_error_offsets.append(mini(problem.offset, shown.bytes.size() - 1))
	_items.clear()
	_folded.clear()
	_rests.clear()
	_folded_records.clear()
	contents = shown
	var root := create_item()
	set_column_custom_minimum_width(Column.OFFSET, _width_of("0".repeat(maxi(4, str(contents.bytes.size()).length()))))
	set_column_custom_minimum_width(Column.SIZE, _width_of(Contents.size_in_words(1023)))
	if contents.has_records:
		_add_records(root, Vector2i(0, contents.record_count))
	elif contents.nodes:
		_add_node(root, 0)


## Selects the line of a node, without a signal.
func select_node(index: int) -> void:
	_is_selecting = true
	var item := _item_of(contents.line_of(index))
	item.uncollapse_tree()
	item.select(Column.VALUE)
	scroll_to_item(item)
	_is_selecting = false


## Inspects omitted children until the innermost value around a byte is known. Stops after LOADED_BYTES, so
## that the editor stays responsive.
func load_to(byte: int) -> void:
	var index := contents.node_at(byte)
	var budget := LOADED_BYTES
	while index >= 0 and contents.can_load_more(index) and byte >= contents.nodes[index]["left_out_offset"] and budget > 0:
		while contents.can_load_more(index) and contents.node_at(byte) == index and budget > 0:
			budget -= maxi(contents.nodes[index]["left_out_size"], 1)
			contents.load_more(index)
		var item := _item_of(contents.line_of(index))
		if not _folded.has(item):
			_remove_children(item)
			_add_children(item, index)
		index = contents.node_at(byte)


## The selected node; −1 if there is none.
func selected_node() -> int:
	var item := get_selected()
	return item.get_metadata(Column.VALUE) if item else -1


## Folds and unfolds lines with the arrow keys. The engine's Tree does too, but then moves the focus to
## another control.
func _gui_input(event: InputEvent) -> void:
	var item := get_selected()
	if event.is_action_pressed(&"ui_copy"):
		copy_wanted.emit()
		accept_event()
	elif item and item.get_first_child() and event.is_action_pressed(&"ui_right" if item.collapsed else &"ui_left"):
		item.collapsed = not item.collapsed
		accept_event()


func _width_of(text: String) -> int:
	var font := get_theme_font(&"font")
	var margins := get_theme_constant(&"inner_item_margin_left") + get_theme_constant(&"inner_item_margin_right")
	return int(font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1, get_theme_font_size(&"font_size")).x
			+ margins + get_theme_constant(&"h_separation") + 6 * EditorInterface.get_editor_scale())


## The line of a node. Adds this line and the lines of its parents if they are missing.
func _item_of(index: int) -> TreeItem:
	# Not recursive, because values may be nested a thousand levels deep.
	var missing := PackedInt32Array()
	var above := index
	while above >= 0 and not _items.has(above):
		missing.append(above)
		above = contents.nodes[above]["parent"]
	var item := _items[above] if above >= 0 else get_root()
	if above < 0 and contents.has_records:
		item = _item_of_record(contents.nodes[missing[-1]]["index"])
		missing.remove_at(missing.size() - 1)
	missing.reverse()
	for node in missing:
		_unfold(item)
		if not _items.has(node):
			_unfold(item.get_child(contents.lines_of(contents.siblings_of(node)).bsearch(node) / GROUP))
		item = _items[node]
	return item


## The line of a record. Adds the nodes of the record.
func _item_of_record(record: int) -> TreeItem:
	var item := get_root()
	while true:
		_unfold(item)
		var span := Vector2i(0, contents.record_count)
		for child in item.get_children():
			span = child.get_metadata(Column.PREVIEW)
			if record < span.y:
				item = child
				break
		if span.y - span.x == 1:
			_unfold(item)
			return item
	return null


func _add_records(parent: TreeItem, records: Vector2i) -> void:
	var count := records.y - records.x
	var step := 1
	while count > 2 * GROUP * step:
		step *= GROUP
	for first in range(records.x, records.y, step):
		var last := mini(first + step, records.y)
		var start := contents.record_starts[first]
		var item: TreeItem
		if last - first > 1:
			item = _add_line(parent, "Records %d – %d" % [first, last - 1], start, contents.end_of_record(last - 1))
			_fold_records(item, Vector2i(first, last))
		else:
			item = _add_record(parent, first)
		item.set_metadata(Column.PREVIEW, Vector2i(first, last))


## Adds the line of a record, and inspects only the first values of the record.
func _add_record(parent: TreeItem, record: int) -> TreeItem:
	var outline := contents.outline_of_record(record)
	var found: Array[Dictionary] = outline["nodes"]
	var title := "Record %d" % record if found else "Record %d: damaged" % record
	var item := _add_line(parent, title, contents.record_starts[record], contents.end_of_record(record))
	if found:
		item.set_icon(Column.VALUE, get_theme_icon(found[0]["type_name"], &"EditorIcons"))
		item.set_text(Column.PREVIEW, Contents.preview_among(found, 0))
		_mark_edited(item, contents.record_starts[record] + Contents.FRAME)
	if outline["error"] != FastVariantCodec.OK:
		_mark_damaged(item)
		item.set_tooltip_text(Column.PREVIEW, outline["message"])
	if found and (found[0]["children"] or found[0].has("left_out")):
		_fold_records(item, Vector2i(record, record + 1))
		item.collapsed = contents.nodes.size() > UNFOLDED
	elif found:
		_name_record(item, record)
	return item


func _fold_records(item: TreeItem, records: Vector2i) -> void:
	item.create_child()
	item.collapsed = true
	_folded_records[item] = records


func _name_record(item: TreeItem, record: int) -> int:
	var node := contents.node_of_record(record)
	if node >= 0:
		item.set_metadata(Column.VALUE, node)
		item.set_tooltip_text(Column.VALUE, _tooltip_of(node))
		_items[node] = item
	return node


func _add_nodes(parent: TreeItem, siblings: PackedInt32Array) -> void:
	var indexes := contents.lines_of(siblings)
	if indexes.size() <= 2 * GROUP:
		for index in indexes:
			_add_node(parent, index)
		return
	for first in range(0, indexes.size(), GROUP):
		var group := indexes.slice(first, first + GROUP)
		var start := contents.start_of(group[0])
		var end := contents.end_of(group[-1])
		var names: Dictionary[String, String] = {
			"record": "Records", "element": "Elements", "key": "Entries", "value": "Entries", "property": "Properties",
		}
		var from: int = contents.nodes[group[0]].get("index", first)
		var to: int = contents.nodes[group[-1]].get("index", first + group.size() - 1)
		var item := _add_line(parent, "%s %d – %d" % [names[contents.nodes[group[0]]["role"]], from, to], start, end)
		_fold(item, group)


func _add_node(parent: TreeItem, index: int) -> void:
	var node := contents.nodes[index]
	var item := _add_line(parent, contents.label_of(index), contents.start_of(index), contents.end_of(index))
	item.set_metadata(Column.VALUE, index)
	item.set_icon(Column.VALUE, get_theme_icon(node["type_name"], &"EditorIcons"))
	item.set_text(Column.PREVIEW, contents.preview_of(index))
	item.set_tooltip_text(Column.VALUE, _tooltip_of(index))
	item.set_tooltip_text(Column.PREVIEW, node["preview"])
	if not node["is_complete"]:
		_mark_damaged(item)
		item.set_text(Column.PREVIEW, ("%s (incomplete)" % node["preview"]).strip_edges())
		item.set_tooltip_text(Column.PREVIEW, "Decoding stopped inside this value.")
	_mark_edited(item, node["offset"])
	_items[index] = item
	if node["children"].is_empty() and not node.has("left_out"):
		return
	_fold(item, node["children"])
	if contents.nodes.size() <= UNFOLDED or node["parent"] < 0:
		item.collapsed = false


## Adds a placeholder child, so that the user can unfold the line.
func _fold(item: TreeItem, indexes: PackedInt32Array) -> void:
	item.create_child()
	item.collapsed = true
	_folded[item] = indexes


## Adds the children of a line, unless they are already there.
func _unfold(item: TreeItem) -> void:
	if _folded_records.has(item):
		var records := _folded_records[item]
		_folded_records.erase(item)
		item.get_first_child().free()
		if records.y - records.x > 1:
			_add_records(item, records)
		else:
			_add_children(item, _name_record(item, records.x))
	elif _folded.has(item):
		item.get_first_child().free()
		var nodes := _folded[item]
		_folded.erase(item)
		var index: int = item.get_metadata(Column.VALUE)
		if index >= 0:
			_add_children(item, index)
		else:
			_add_nodes(item, nodes)


func _add_children(item: TreeItem, index: int) -> void:
	var node := contents.nodes[index]
	_add_nodes(item, node["children"])
	if node.has("left_out"):
		var start: int = node["left_out_offset"]
		var rest := _add_line(item, "… and %d more" % node["left_out"], start, start + node["left_out_size"])
		if contents.can_load_more(index):
			rest.create_child()
			rest.collapsed = true
			_rests[rest] = index


## Replaces the line for omitted children with the lines of more children.
func _load_more(rest: TreeItem) -> void:
	var index := _rests[rest]
	contents.load_more(index)
	var item := rest.get_parent()
	_remove_children(item)
	_add_children(item, index)


func _remove_children(item: TreeItem) -> void:
	for child in item.get_children():
		_remove_children(child)
		_folded.erase(child)
		_rests.erase(child)
		var node: Variant = child.get_metadata(Column.VALUE)
		if node is int:
			_items.erase(node)
		child.free()


func _add_line(parent: TreeItem, title: String, start: int, end: int) -> TreeItem:
	var item := parent.create_child()
	item.set_metadata(Column.VALUE, -1)
	item.set_metadata(Column.OFFSET, Vector2i(start, end))
	item.set_text(Column.VALUE, title)
	item.set_text(Column.OFFSET, str(start))
	item.set_text(Column.SIZE, Contents.size_in_words(end - start).trim_suffix(" bytes"))
	item.set_tooltip_text(Column.SIZE, "%d bytes" % (end - start))
	for column: int in [Column.OFFSET, Column.SIZE]:
		item.set_text_alignment(column, HORIZONTAL_ALIGNMENT_RIGHT)
	if _edits.keys().any(func(offset: int) -> bool: return offset >= start and offset < end):
		_color(item, get_theme_color(&"accent_color", &"Editor"))
	var error := _error_offsets.bsearch(start)
	if error < _error_offsets.size() and _error_offsets[error] < end:
		_mark_damaged(item)
	return item


func _mark_damaged(item: TreeItem) -> void:
	item.set_icon(Column.PREVIEW, get_theme_icon(&"StatusError", &"EditorIcons"))
	_color(item, get_theme_color(&"error_color", &"Editor"))


## Marks the line of an edited node, and adds the former value.
func _mark_edited(item: TreeItem, offset: int) -> void:
	if _edits.has(offset):
		item.set_icon(Column.PREVIEW, get_theme_icon(&"Edit", &"EditorIcons"))
		item.set_text(Column.PREVIEW, "%s (was %s)" % [item.get_text(Column.PREVIEW), _edits[offset]])


func _color(item: TreeItem, color: Color) -> void:
	item.set_custom_color(Column.VALUE, color)
	item.set_custom_color(Column.PREVIEW, color)


func _tooltip_of(index: int) -> String:
	var node := contents.nodes[index]
	var lines := PackedStringArray([contents.title_of(index)])
	if not node["flags"].is_empty():
		lines.append("Flags: %s" % ", ".join(node["flags"]))
	lines.append("Header: 0x%08x" % node["header"])
	return "\n".join(lines)


func _on_item_collapsed(item: TreeItem) -> void:
	if item.collapsed:
		return
	if _rests.has(item):
		_load_more.call_deferred(item)
	else:
		_unfold(item)


func _on_item_selected() -> void:
	if _is_selecting:
		return
	var place: Vector2i = get_selected().get_metadata(Column.OFFSET)
	range_selected.emit(place.x, place.y)

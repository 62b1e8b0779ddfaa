@tool
extends MarginContainer
## The legend of the hex view: the name of each kind, drawn like bytes of that kind.

const Contents := preload("contents.gd")
const HexView := preload("hex_view.gd")


class Word:
	extends Control
	var view: HexView
	var kind: Contents.Kind

	func _init(of: HexView, shown: Contents.Kind) -> void:
		view = of
		kind = shown
		tooltip_text = Contents.KIND_HELP[kind]

	func _notification(what: int) -> void:
		if what == NOTIFICATION_THEME_CHANGED:
			var text_size := get_theme_font(&"source", &"EditorFonts").get_string_size(
					Contents.KIND_NAMES[kind], HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size())
			custom_minimum_size = text_size + Vector2(0, 4 * EditorInterface.get_editor_scale())
		elif what == NOTIFICATION_DRAW:
			var font := get_theme_font(&"source", &"EditorFonts")
			var scale := EditorInterface.get_editor_scale()
			draw_string(font, Vector2(0, font.get_ascent(_font_size())), Contents.KIND_NAMES[kind],
					HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size(), view.color_of(kind))
			HexView.draw_cue(self, kind, Vector2(0, size.y - 2.5 * scale), size.x, view.color_of(kind))

	## The size of the legend's font, which is smaller than the font of the bytes.
	func _font_size() -> int:
		return roundi(get_theme_font_size(&"source_size", &"EditorFonts") * 0.9)


func _init(view: HexView) -> void:
	var scale := EditorInterface.get_editor_scale()
	for side: String in ["left", "top", "right", "bottom"]:
		add_theme_constant_override("margin_" + side, roundi(5 * scale))
	var words := HFlowContainer.new()
	words.add_theme_constant_override(&"h_separation", roundi(14 * scale))
	for kind: Contents.Kind in [
		Contents.Kind.HEADER, Contents.Kind.ELEMENT_TYPE, Contents.Kind.COUNT, Contents.Kind.CONTENT, Contents.Kind.PADDING,
		Contents.Kind.UNREAD,
	]:
		words.add_child(Word.new(view, kind))
	add_child(words)


func _draw() -> void:
	draw_rect(Rect2(Vector2.ZERO, size), HexView.text_editor_color(&"background_color"))

@tool
extends EditorInspectorPlugin
## Shows FastVariantLimits with buttons for the presets, and the allowed types as check boxes. The engine
## would show one large number, because its editor for flags shows at most 32 flags.

const AllowedTypesEditor := preload("allowed_types_editor.gd")
const PresetBar := preload("preset_bar.gd")

const EMPTY: Dictionary[String, String] = {
	"allowed_classes": "Empty: every class that can be instantiated.",
	"allowed_scripts": "Empty: every script of the project that extends an allowed class.",
}


func _can_handle(object: Object) -> bool:
	return object is FastVariantLimits


func _parse_begin(object: Object) -> void:
	add_custom_control(PresetBar.new(object as FastVariantLimits))


func _parse_property(
		_object: Object, _type: Variant.Type, property: String, _hint: PropertyHint, _hint_string: String, _usage: int,
		_wide: bool) -> bool:
	if EMPTY.has(property):
		var label := Label.new()
		label.text = EMPTY[property]
		label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		label.theme_type_variation = &"HeaderSmall"
		label.modulate.a = 0.7
		add_custom_control(label)
	if property != "allowed_types":
		return false
	add_property_editor(property, AllowedTypesEditor.new())
	return true

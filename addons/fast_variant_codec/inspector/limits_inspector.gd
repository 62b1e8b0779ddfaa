@tool
extends EditorInspectorPlugin
## Shows the types that FastVariantLimits allow as a list to tick, where the engine would show one large number: its own
## editor for flags ends at 32 of them.

const AllowedTypesEditor := preload("allowed_types_editor.gd")


func _can_handle(object: Object) -> bool:
	return object is FastVariantLimits


func _parse_property(
		_object: Object, _type: Variant.Type, property: String, _hint: PropertyHint, _hint_string: String, _usage: int,
		_wide: bool) -> bool:
	if property != "allowed_types":
		return false
	add_property_editor(property, AllowedTypesEditor.new())
	return true

@tool
extends EditorPlugin
## The editor part of the addon. FastVariantCodec itself is in the library in bin/ and works without this plugin.

const ExportPlugin := preload("export_plugin.gd")

var _panel: Control
var _export_plugin: ExportPlugin
var _limits_inspector: EditorInspectorPlugin


func _enter_tree() -> void:
	if not ClassDB.class_exists(&"FastVariantCodec"):
		push_error(
			"FastVariantCodec: no library for %s (%s) in res://addons/fast_variant_codec/bin/. "
			% [OS.get_name(), Engine.get_architecture_name()]
			+ "Install the released addon, which contains it, or run `cargo xtask build` in its repository; "
			+ "then restart the editor."
		)
		return
	_export_plugin = ExportPlugin.new()
	add_export_plugin(_export_plugin)
	# These scripts are not preloaded, because they do not compile without the library.
	_limits_inspector = load("res://addons/fast_variant_codec/inspector/limits_inspector.gd").new()
	add_inspector_plugin(_limits_inspector)
	_panel = load("res://addons/fast_variant_codec/panel/codec_panel.gd").new()
	add_control_to_bottom_panel(_panel, "Variant Codec")


func _exit_tree() -> void:
	if _export_plugin:
		remove_export_plugin(_export_plugin)
		_export_plugin = null
	if _limits_inspector:
		remove_inspector_plugin(_limits_inspector)
		_limits_inspector = null
	if _panel:
		remove_control_from_bottom_panel(_panel)
		_panel.queue_free()
		_panel = null

@tool
extends VBoxContainer
## Runs the self-check in the running engine, and shows the results for each type.

const SelfCheck := preload("../self_check.gd")

enum Column { TYPE, CHECKS, PASSED, FAILED, RESULT }

var table := Tree.new()
var verdict := Label.new()
var environment := Label.new()
var copy_report := Button.new()

var _run := Button.new()
var _check: SelfCheck


func _init() -> void:
	name = "Conformance"
	var bar := HBoxContainer.new()
	_run.text = "Run Self-Check"
	_run.tooltip_text = (
		"Encodes and decodes edge values of all 39 types with the codec and with the engine's own functions, and compares "
		+ "bytes and values."
	)
	_run.pressed.connect(run)
	bar.add_child(_run)
	verdict.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	verdict.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	verdict.text = "Compares the codec with the engine that runs this editor, on edge values of all types."
	verdict.mouse_filter = Control.MOUSE_FILTER_PASS
	bar.add_child(verdict)
	add_child(bar)
	table.columns = Column.size()
	table.hide_root = true
	table.column_titles_visible = true
	table.select_mode = Tree.SELECT_ROW
	table.size_flags_vertical = Control.SIZE_EXPAND_FILL
	table.set(&"accessibility_name", "Results of the self-check")
	var titles: PackedStringArray = ["Type", "Checks", "Passed", "Failed", "Result"]
	for column: int in Column.values():
		var is_number := column in [Column.CHECKS, Column.PASSED, Column.FAILED]
		table.set_column_title(column, titles[column])
		table.set_column_title_alignment(column, HORIZONTAL_ALIGNMENT_RIGHT if is_number else HORIZONTAL_ALIGNMENT_LEFT)
		table.set_column_expand_ratio(column, 2 if is_number else 3)
	add_child(table)
	var foot := HBoxContainer.new()
	environment.text = environment_in_words()
	environment.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	environment.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	environment.tooltip_text = report_in_words()
	environment.mouse_filter = Control.MOUSE_FILTER_PASS
	foot.add_child(environment)
	copy_report.text = "Copy Report"
	copy_report.tooltip_text = "Copy what a bug report needs: versions, settings, and how engine memory is reached and why."
	copy_report.pressed.connect(func() -> void: DisplayServer.clipboard_set(report_in_words()))
	foot.add_child(copy_report)
	add_child(foot)


static func environment_in_words() -> String:
	var report := FastVariantInspector.get_engine_report()
	return "Godot %s, %s · FastVariantCodec %s · %s access: %s" % [
		report["engine_version"], report["engine_build"], report["addon_version"], report["access_path"], report["access_reason"],
	]


static func report_in_words() -> String:
	var report := FastVariantInspector.get_engine_report()
	return "\n".join(report.keys().map(func(key: String) -> String: return "%s: %s" % [key, report[key]]))


func run() -> void:
	var check := SelfCheck.new()
	check.run()
	show_check(check)


func show_check(check: SelfCheck) -> void:
	_check = check
	_show()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and _check:
		_show()


func _show() -> void:
	table.clear()
	table.create_item()
	for row in _check.rows:
		_add_row(row)
	verdict.text = "%d checks, %d passed, %d failed" % [
		_check.passed() + _check.failed(), _check.passed(), _check.failed(),
	]
	verdict.tooltip_text = verdict.text


func _add_row(row: SelfCheck.Row) -> void:
	var failed := row.failures.size()
	var type := type_string(row.type)
	var item := table.create_item()
	item.set_text(Column.TYPE, type)
	item.set_icon(Column.TYPE, get_theme_icon(type, &"EditorIcons"))
	item.set_text(Column.CHECKS, str(row.passed + failed))
	item.set_text(Column.PASSED, str(row.passed))
	item.set_text(Column.FAILED, str(failed))
	for column: int in [Column.CHECKS, Column.PASSED, Column.FAILED]:
		item.set_text_alignment(column, HORIZONTAL_ALIGNMENT_RIGHT)
	item.set_icon(Column.RESULT, get_theme_icon(&"StatusSuccess" if failed == 0 else &"StatusError", &"EditorIcons"))
	item.set_text(Column.RESULT, "identical" if failed == 0 else "differs")
	for failure in row.failures:
		item.create_child().set_text(Column.TYPE, failure)

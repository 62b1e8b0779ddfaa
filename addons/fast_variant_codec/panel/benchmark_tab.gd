@tool
extends VBoxContainer
## Compares the speed of the codec and of the engine's own functions, in the background.

const BarChart := preload("bar_chart.gd")
const Benchmark := preload("benchmark.gd")
const Workloads := preload("workloads.gd")

var chart := BarChart.new()
var status := Label.new()

var _benchmark := Benchmark.new()
var _run := Button.new()
var _file := Button.new()
var _cancel := Button.new()
var _progress := ProgressBar.new()
var _dialog: EditorFileDialog


func _init() -> void:
	name = "Benchmark"
	var bar := HBoxContainer.new()
	_run.text = "Run Built-in Data"
	_run.tooltip_text = "Time messages, entities, numbers, texts and packed arrays."
	_run.pressed.connect(func() -> void: run(Workloads.built_in()))
	bar.add_child(_run)
	_file.text = "Run a File…"
	_file.tooltip_text = "Time your own JSON document, or a file of values written by FileAccess.store_var."
	_file.pressed.connect(_ask_for_file)
	bar.add_child(_file)
	_progress.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_progress.size_flags_vertical = Control.SIZE_SHRINK_CENTER
	_progress.hide()
	bar.add_child(_progress)
	_cancel.text = "Cancel"
	_cancel.pressed.connect(_benchmark.cancel)
	_cancel.hide()
	bar.add_child(_cancel)
	status.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	status.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	status.mouse_filter = Control.MOUSE_FILTER_PASS
	bar.add_child(status)
	add_child(bar)
	var scroll := ScrollContainer.new()
	scroll.size_flags_vertical = Control.SIZE_EXPAND_FILL
	scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	scroll.add_child(chart)
	for target: Control in [scroll, chart]:
		target.set_drag_forwarding(Callable(), _can_drop_data, _drop_data)
	add_child(scroll)
	var hint := Label.new()
	hint.text = (
		"Median of at least %d runs; × is the speedup. " % Benchmark.RUNS
		+ "The editor is a debug build: release games are faster."
	)
	hint.tooltip_text = (
		"A debug build of the engine counts every allocation in one place. In a release game both are faster, and the codec "
		+ "gains more from its threads."
	)
	hint.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	hint.mouse_filter = Control.MOUSE_FILTER_PASS
	add_child(hint)
	_benchmark.progressed.connect(_on_progressed)
	_benchmark.measured.connect(chart.add)
	_benchmark.finished.connect(_on_finished)


func run(workloads: Array[Workloads.Workload]) -> void:
	if _benchmark.is_running():
		return
	chart.clear()
	_show_running(true)
	_progress.value = 0
	_benchmark.start(workloads)


func run_file(path: String) -> void:
	run([Workloads.of_file(path)])


func is_running() -> bool:
	return _benchmark.is_running()


func cancel() -> void:
	_benchmark.cancel()


func _notification(what: int) -> void:
	if what == NOTIFICATION_EXIT_TREE:
		_benchmark.cancel()
		_benchmark.join()


func _can_drop_data(_at: Vector2, data: Variant) -> bool:
	return data is Dictionary and data.get("type") == "files" and data["files"].size() == 1 and not is_running()


func _drop_data(_at: Vector2, data: Variant) -> void:
	run_file(data["files"][0])


func _ask_for_file() -> void:
	if _dialog == null:
		_dialog = EditorFileDialog.new()
		_dialog.file_mode = EditorFileDialog.FILE_MODE_OPEN_FILE
		_dialog.access = EditorFileDialog.ACCESS_FILESYSTEM
		_dialog.title = "Time a File"
		_dialog.add_filter("*", "All Files")
		_dialog.add_filter("*.json", "JSON Documents")
		_dialog.file_selected.connect(run_file)
		add_child(_dialog)
	_dialog.popup_centered_ratio(0.6)


func _on_progressed(done: int, total: int) -> void:
	_progress.max_value = total
	_progress.value = done


func _on_finished(problem: String) -> void:
	_show_running(false)
	status.text = problem if problem else "%d workloads measured." % chart.rows.size()
	status.tooltip_text = status.text


func _show_running(running: bool) -> void:
	_run.disabled = running
	_file.disabled = running
	_progress.visible = running
	_cancel.visible = running
	status.visible = not running

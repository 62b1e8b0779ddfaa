## Collects the engine's errors and warnings, except muted ones. Needs Godot 4.5.
extends Logger

var _lock := Mutex.new()
var _errors := PackedStringArray()
var _warnings := PackedStringArray()


func errors() -> PackedStringArray:
	_lock.lock()
	var copy := _errors.duplicate()
	_lock.unlock()
	return copy


func warnings() -> PackedStringArray:
	_lock.lock()
	var copy := _warnings.duplicate()
	_lock.unlock()
	return copy


func _log_error(
		function: String, file: String, line: int, code: String, rationale: String, _editor_notify: bool,
		error_type: int, _script_backtraces: Array[ScriptBacktrace]) -> void:
	_lock.lock()
	(_warnings if error_type == ERROR_TYPE_WARNING else _errors).append("%s (%s, %s:%d)" % [rationale if rationale else code, function, file, line])
	_lock.unlock()

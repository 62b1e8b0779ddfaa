## Ends the process at a time limit, so that a hang fails the run. Needs threads; without them, the parent
## process must end a hanging process.
extends RefCounted

const PAUSE_MS := 50

var _what: String
var _limit_ms: int
var _thread := Thread.new()
var _mutex := Mutex.new()
var _stopped := false


func _init(what: String, limit_ms: int) -> void:
	_what = what
	_limit_ms = limit_ms
	if OS.has_feature("threads"):
		_thread.start(_watch)


## Stops the watch after a successful end.
func stop() -> void:
	_mutex.lock()
	_stopped = true
	_mutex.unlock()
	if _thread.is_started():
		_thread.wait_to_finish()


func _watch() -> void:
	var until := Time.get_ticks_msec() + _limit_ms
	while not _is_stopped():
		if Time.get_ticks_msec() > until:
			printerr("%s hangs" % _what)
			OS.kill(OS.get_process_id())
		OS.delay_msec(PAUSE_MS)


func _is_stopped() -> bool:
	_mutex.lock()
	var stopped := _stopped
	_mutex.unlock()
	return stopped

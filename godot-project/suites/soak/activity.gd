## The base of the activities of `soak.gd`: options, generator and counters.
##
## Before each case, the driver seeds `generator` from the run's seed and the case's number, so that any case
## can be repeated alone. Before the first case, `begin` creates the state that outlives a case.
extends RefCounted

const Compare := preload("res://suites/compare.gd")
const Crafted := preload("res://suites/crafted.gd")
const Mutations := preload("res://suites/mutations.gd")
const Oracle := preload("res://suites/oracle.gd")
const RandomBytes := preload("res://suites/random_bytes.gd")
const RandomValues := preload("res://suites/random_values.gd")
const Refusals := preload("res://suites/refusals.gd")
const Samples := preload("res://suites/samples.gd")
const Values := preload("res://suites/values.gd")
const Wire := preload("res://suites/wire.gd")

const PRINTED_FAILURES := 20

## The command line's options; see `soak.gd`.
var options: Dictionary
var generator := RandomNumberGenerator.new()
## The number of the running case.
var case := 0
## The number of cases if the command line gives neither a number nor a time.
var cases := 1
## Whether the driver compares objects and memory between cases; neither may grow.
var watches_memory := false
var passed := 0
var failed := 0
## Counts of each kind of work, printed at the end.
var counts: Dictionary[String, int] = {}


## Prepares the run; returns false if the cases must not run.
func begin() -> bool:
	return true


## Runs a case; returns the number of units (calls, kills, …) that it counts for.
func run_case() -> int:
	return 1


## Cleans up after the last case, and prints further results.
func end() -> void:
	pass


## The allowed growth of resident memory after this many units, in MiB.
func slack(_units: int) -> int:
	return 16


func check(what: String, holds: bool, detail := "it does not hold") -> void:
	if holds:
		passed += 1
		return
	failed += 1
	if failed <= PRINTED_FAILURES:
		print("FAILED case %d: %s: %s" % [case, what, detail.left(2000)])


func count(kind: String, number := 1) -> void:
	counts[kind] = counts.get(kind, 0) + number


## The path of a file in the folder that processes share.
func path(file_name: String) -> String:
	return options["folder"].path_join(file_name)


func next_frame() -> void:
	await (Engine.get_main_loop() as SceneTree).process_frame

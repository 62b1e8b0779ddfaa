## Counts the checks of a run, and prints the failures.
extends RefCounted

const Compare := preload("res://suites/compare.gd")

## The subject type of checks that concern many types at once.
const MIXED := -1

## The number of failures that are printed in full.
const PRINTED_FAILURES := 50


var passed := 0
var failed := 0

var _test := ""
var _case := ""
var _type := MIXED
var _types: Dictionary[int, bool] = {}


## Names the running test; failures quote it.
func begin_test(test: String) -> void:
	_test = test
	subject(MIXED, test)


## Names the subject of the following checks: a Variant type (or MIXED) and the case's name.
func subject(type: int, case_name: String) -> void:
	_type = type
	_case = case_name
	_types[type] = true


func succeed() -> void:
	passed += 1


func fail(what: String, detail: String) -> void:
	failed += 1
	if failed <= PRINTED_FAILURES:
		print("  FAILED %s, %s \"%s\": %s\n      %s" % [_test, type_name(_type), _case, what, detail])
	elif failed == PRINTED_FAILURES + 1:
		print("  … further failures are counted, not printed.")


## Counts a check, which passes if `problem` is empty.
func no_problem(what: String, problem: String) -> void:
	if problem:
		fail(what, problem)
	else:
		succeed()


func truth(what: String, holds: bool, detail := "it does not hold") -> void:
	if holds:
		succeed()
	else:
		fail(what, detail)


func same_bytes(what: String, expected: PackedByteArray, actual: PackedByteArray) -> void:
	if expected == actual:
		succeed()
	else:
		fail(what, Compare.hex_difference(expected, actual))


func same_value(what: String, expected: Variant, actual: Variant) -> void:
	no_problem(what, Compare.difference(expected, actual))


func same_int(what: String, expected: int, actual: int) -> void:
	if expected == actual:
		succeed()
	else:
		fail(what, "expected %d, got %d" % [expected, actual])


func covers_all_types() -> bool:
	for type in TYPE_MAX:
		if not _types.has(type):
			return false
	return true


static func type_name(type: int) -> String:
	return "(several types)" if type == MIXED else type_string(type)

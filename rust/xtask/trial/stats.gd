class_name TrialStats
extends Resource
## A resource whose class is known only by the list of global classes.

@export var hp := 0

## A unit that a MultiplayerSynchronizer replicates.
extends Node2D

var velocity := Vector2.ZERO
var hp := 100
var state := 0
var is_hit := false
var is_selected := false

## The nested object of a hero.
extends RefCounted

@export_storage var kind := 0
@export_storage var count := 1

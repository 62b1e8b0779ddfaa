## What a hero holds.
extends RefCounted

@export_storage var kind := 0
@export_storage var count := 1

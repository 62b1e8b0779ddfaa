#![no_main]

fuzz::target!(godot3);

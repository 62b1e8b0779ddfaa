#![no_main]

fuzz::target!(outline);

#![no_main]

fuzz::target!(views);

#![no_main]

fuzz::target!(parts);

#![no_main]

fuzz::target!(frames);

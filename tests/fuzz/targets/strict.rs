#![no_main]

fuzz::target!(strict);

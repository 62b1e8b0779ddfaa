#![no_main]

fuzz::target!(commands);

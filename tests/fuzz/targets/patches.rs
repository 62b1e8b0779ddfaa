#![no_main]

fuzz::target!(patches);

#![no_main]

fuzz::target!(decode);

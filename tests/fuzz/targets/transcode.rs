#![no_main]

fuzz::target!(transcode);

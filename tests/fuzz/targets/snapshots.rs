#![no_main]

fuzz::target!(snapshots);

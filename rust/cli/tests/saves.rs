//! Saves of one value: their sums, and the value alone.

mod support;

use support::Folder;

/// `save("user://save.dat", {"text": "abc".repeat(40), "n": 7}, {"day": 3}, true)` in Godot 4.6.3.
const SAVE: &str = "340000001b00000001000000150000000500000040736176650000001b0000000100000004000000030000006461790002000000030000006c0000001b000000020000001500000005000000407a7374640000001d0000003600000028b52ffd20a86d0100e81b00000002000000047465787478000000616263010000006e0700000005001f4b1d182b485d9a974576dd110000150000000400000073697a6502000000a8000000200000001b0000000100000015000000040000004073756d02000100c2d2b39bd9020f3b";

#[test]
fn a_save_is_checked_and_its_value_is_printed() {
    let folder = Folder::new();
    let save = hex::decode(SAVE).unwrap();
    folder.write("save.dat", &save);
    assert_eq!(
        folder.gdvar(&["check", "save.dat"]).good(),
        b"save.dat: a save of 168 bytes, good, and its sum is right\n"
    );
    let value = format!("{{\"text\":\"{}\",\"n\":7}}\n", "abc".repeat(40));
    assert_eq!(folder.gdvar(&["json", "save.dat"]).good(), value.as_bytes());
    for at in [30, 90, save.len() - 1] {
        let mut changed = save.clone();
        changed[at] ^= 1;
        folder.write("save.dat", &changed);
        assert_eq!(folder.gdvar(&["check", "save.dat"]).code, Some(1));
        let error = folder.gdvar(&["json", "save.dat"]).stderr;
        assert!(error.contains("bytes do not match its sum"), "{error}");
    }
    folder.write("save.dat", &save[..save.len() - 36]);
    assert!(folder.gdvar(&["check", "save.dat"]).stderr.contains("the save is cut off"));
}

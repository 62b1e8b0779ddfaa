//! Saves of one value: their sums, and the value alone. Blocks of compressed records.

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

/// `[1]`, a block of `{"text": "abc".repeat(40)}`, `7` and `{&"records": 1, &"size": 8, &"sum": 0, &"@zstd":
/// PackedByteArray([1])}`, and `["last"]`, as `append_batch` in Godot 4.6.3 writes them.
const RECORDS: &str = "080000000200000001000000d00000001b0000000400000015000000070000007265636f726473000200000003000000150000000400000073697a65020000000c010000150000000300000073756d0002000000c21c4d941500000005000000407a7374640000001d0000006d00000028b52ffd600c001d030082440e17a0b7e5ffd9532f9775a46577008eaadef5ae3ba989c81437cb53630ff06382a1506fc00e4bab80d43ae9c889274810b86b4e35e3e6ca0f01100043c80f920173c0e4c660c006b6b204793f63e1a866377e975fc1c9b85fead2bc2c62d77d010000000c00000004000000040000006c617374";

#[test]
fn records_in_blocks_are_those_of_the_file() {
    let folder = Folder::new();
    let records = hex::decode(RECORDS).unwrap();
    folder.write("replay.dat", &records);
    let text = "abc".repeat(40);
    let lines = folder.gdvar(&["json", "replay.dat", "--lines"]).good();
    let lines = String::from_utf8(lines).unwrap();
    assert!(lines.starts_with(&format!("1\n{{\"text\":\"{text}\"}}\n7\n{{")), "{lines}");
    assert!(lines.ends_with("\n\"last\"\n"), "{lines}");
    assert_eq!(folder.gdvar(&["get", "replay.dat", "1/text"]).good(), format!("\"{text}\"\n").as_bytes());
    assert_eq!(folder.gdvar(&["query", "replay.dat", "select(. == 7)"]).good(), b"7\n");
    let checked = folder.gdvar(&["check", "replay.dat"]).good();
    assert!(checked.starts_with(b"replay.dat: 5 records of "), "{}", String::from_utf8_lossy(&checked));
    // Written as a record, the value would be read as a block.
    let converted = folder.gdvar(&["convert", "replay.dat", "--output", "plain.dat"]);
    assert!(converted.stderr.contains("looks like a block of compressed records"), "{}", converted.stderr);
    // A changed byte in the block.
    let mut changed = records.clone();
    changed[160] ^= 1;
    folder.write("changed.dat", &changed);
    for command in ["check", "json", "stats"] {
        let failed = folder.gdvar(&[command, "changed.dat"]);
        assert_eq!(failed.code, Some(1));
        assert!(
            failed.stderr.contains("block at byte 16: the block of compressed records has changed"),
            "{}",
            failed.stderr
        );
    }
    let shown = folder.gdvar(&["show", "changed.dat"]);
    assert!(shown.text().starts_with("[0] int 1\n") && shown.code == Some(1), "{}", shown.text());
    folder.gdvar(&["repair", "changed.dat", "--output", "repaired.dat"]).good();
    assert_eq!(folder.gdvar(&["json", "repaired.dat", "--lines"]).good(), b"1\n\"last\"\n");
    // A writer may not have completed the block.
    folder.write("cut.dat", &records[..records.len() - 30]);
    let shown = folder.gdvar(&["show", "cut.dat"]);
    assert!(shown.text().starts_with("[0] int 1\n[1] Dictionary"), "{}", shown.text());
    assert_eq!(shown.code, Some(1));
}

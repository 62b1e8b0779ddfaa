//! Files like those that people had: saves that a crash cut off, saves of other programs, saves of Godot 3.
//!
//! Godot 3.2.3 reads or wrote each value of Godot 3, and Godot 4.6.3 each value of Godot 4. The files were cut off or changed afterwards.

mod support;

use support::{Folder, Printed};

const WIDE: &str = "380000001200000002000000040000000400000073697a6503000100000000000000454004000000040000006b696e64040000000400000063617270";
/// The value `[2.5, 7]` alone, with both numbers in 8 bytes.
const WIDE_LIST: &str = "1300000002000000030001000000000000000440020001000700000000000000";
/// An object with a class and a property, in a Dictionary of Godot 3.
const HERO: &str = "34000000120000000100000004000000010000006f00000011000000040000004865726f0100000002000000687000000200000007000000";
const PLAYER: &str = "340000001200000002000000040000000200000068700000020000000500000004000000050000006c6576656c0000000200000003000000";
const STATE: &str = "3400000012000000020000000400000001000000610000000200000004000000040000000500000073746174650000000100000001000000";
const CUT: &str = "9c0000001b0000000400000004000000040000006e616d65040000000300000052656e00040000000200000068700000020000005700000004000000050000006974656d730000001c00000002000000040000000500000073776f72640000000400000004000000726f706504000000040000006e6f7465040000001f00000074686520656e64206f6620746869732073617665";
/// Cut off within the Array, whose count then is too large. In Godot 3's format.
const CUT_3: &str = "90000000120000000400000004000000040000006e616d65040000000300000052656e00040000000200000068700000020000005700000004000000050000006974656d73000000130000000200000004000000";
/// One value of Godot 4, cut off.
const CUT_VALUE: &str = "1b0000000200000004000000020000006870000002000000570000000400000005000000";
const CUT_TEXTS_3: &str = "78000000120000000200000004000000010000006b0000001300000002000000040000000d0000007469746c655f72616e6b5f313000000004000000250000006161616161616161616161616161616161616161616161616161616161616161616161616100000004000000040000006d6f7265";
/// A bit of the third record is flipped. The PackedByteArray in each record holds records.
const PACKETS: &str = "640000001b0000000200000004000000040000007469636b020000000000000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000100000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000044000000040000007469636b020000000200000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000300000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000400000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500";

/// A command, its exit code, and texts in its output or messages. A text after `!` must be in neither.
type Case<'c> = (&'c [&'c str], i32, &'c [&'c str]);

fn check(hex: &str, cases: &[Case<'_>]) {
    let folder = Folder::new();
    folder.write("save.dat", hex::decode(hex).expect("hexadecimal"));
    for (command, code, texts) in cases {
        let Printed { code: found, stdout, stderr } = folder.gdvar(&[command, &["save.dat"][..]].concat());
        let printed = format!("{}{stderr}", String::from_utf8_lossy(&stdout));
        assert_eq!(found, Some(*code), "{command:?}: {printed}");
        for text in *texts {
            let (is_wanted, text) = text.strip_prefix('!').map_or((true, *text), |text| (false, text));
            assert_eq!(printed.contains(text), is_wanted, "{command:?}: {text:?} in {printed}");
        }
    }
}

/// Other writers of Godot 3's format write each float in 8 bytes, and Godot 3 reads that.
#[test]
fn wide_numbers_of_godot3_are_read() {
    check(
        WIDE,
        &[
            (&["check"], 1, &["8-byte number", "--allow-non-canonical"]),
            (&["check", "--allow-non-canonical"], 0, &["1 record", "Godot 3"]),
            (&["check", "--godot3", "--allow-non-canonical"], 0, &["1 record", "Godot 3"]),
            (&["show"], 0, &["\"size\": float 42", "\"kind\": String \"carp\"", "!note"]),
            (&["json", "--lines"], 0, &["{\"size\":42.0,\"kind\":\"carp\"}"]),
            (&["stats"], 0, &["[].size"]),
            (&["convert", "--output", "new.dat"], 0, &[]),
        ],
    );
    check(
        WIDE_LIST,
        &[(&["check", "--allow-non-canonical"], 0, &["one value", "Godot 3"]), (&["json"], 0, &["[2.5,7]"])],
    );
    let folder = Folder::new();
    folder.write("save.dat", hex::decode(WIDE).expect("hexadecimal"));
    folder.gdvar(&["convert", "save.dat", "--output", "new.dat"]).good();
    assert_eq!(folder.gdvar(&["check", "new.dat"]).text(), "new.dat: 1 record of 52 bytes, good\n");
}

#[test]
fn objects_of_godot3_are_shown_with_their_properties() {
    check(HERO, &[(&["show"], 0, &["\"o\": Object \"Hero\", 1 property\n", "    \"hp\": int 7\n"])]);
}

/// Each Dictionary of Godot 3 is a Transform3D of Godot 4, too.
#[test]
fn the_likelier_format_is_shown_and_the_other_one_named() {
    for (save, text) in [(PLAYER, "\"level\": int 3"), (STATE, "\"state\": bool true")] {
        check(
            save,
            &[
                (&["show"], 0, &[text, "read as records of Godot 3", "--as records --godot4"]),
                (&["show", "--godot3"], 0, &[text, "!note"]),
                (&["show", "--godot4"], 0, &["Transform3D", "!note"]),
            ],
        );
    }
}

#[test]
fn damaged_values_are_shown_up_to_the_damage() {
    let shown = ["\"hp\": int 87", "[0] String \"sword\"", "[1] String \"rope\"", "need 156 bytes, 144 left"];
    check(CUT, &[(&["show"], 1, &shown), (&["check"], 1, &["need 156 bytes"])]);
    let shown_3 = ["\"name\": String \"Ren\"", "\"hp\": int 87", "\"items\": Array", "need 144 bytes"];
    check(CUT_3, &[(&["show"], 1, &shown_3), (&["show", "--godot3"], 1, &shown_3)]);
    check(CUT_VALUE, &[(&["show"], 1, &["\"hp\": int 87", "damaged at byte", "!record"])]);
}

#[test]
fn parts_of_damaged_records_are_not_taken_for_records() {
    for cut in [CUT, CUT_3, CUT_TEXTS_3] {
        check(
            cut,
            &[(&["repair", "--output", "new.dat"], 1, &["no record is whole", "new.dat is not written"])],
        );
    }
    check(
        PACKETS,
        &[(&["repair", "--output", "new.dat"], 0, &["lost: 104 bytes at byte 208", "4 records are whole"])],
    );
}

#[test]
fn an_empty_file_is_not_good() {
    check(
        "",
        &[
            (&["check"], 1, &["0 bytes: it has no records"]),
            (&["repair", "--output", "new.dat"], 1, &["no record"]),
        ],
    );
}

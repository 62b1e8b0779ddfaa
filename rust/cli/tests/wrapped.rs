//! Compressed and encrypted files.

mod support;

use std::process::Command;

use support::{Folder, batch, encoded};
use variant_codec::{Limits, Value, frames};

fn player(id: i64) -> Vec<u8> {
    encoded(Value::from_iter([("id", Value::from(id)), ("name", Value::from(format!("player {id}")))]))
}

#[test]
fn a_damaged_compressed_file_is_shown_and_repaired() {
    let folder = Folder::new();
    let players: Vec<Vec<u8>> = (0..1000).map(player).collect();
    folder.write("plain.dat", batch(&players));
    folder.gdvar(&["convert", "plain.dat", "--compress", "--output", "small.dat"]).good();
    let small = folder.read("small.dat");
    let mut hit = small.clone();
    let middle = small.len() / 2;
    hit[middle] ^= 0xFF;
    for (bytes, least) in [(&small[..middle], 350), (&hit[..], 850)] {
        folder.write("damaged.dat", bytes);
        let checked = folder.gdvar(&["check", "damaged.dat"]);
        assert_eq!(checked.code, Some(1));
        assert!(checked.stderr.contains("is damaged"), "{}", checked.stderr);
        let shown = folder.gdvar(&["show", "damaged.dat"]);
        assert_eq!(shown.code, Some(1));
        assert!(shown.text().starts_with("[0] Dictionary"), "{}", shown.text());
        assert!(shown.text().contains("the compressed file is damaged: block "), "{}", shown.text());
        let said = folder.gdvar(&["repair", "damaged.dat", "--force", "--output", "repaired.dat"]).good();
        let said = String::from_utf8(said).expect("UTF-8");
        assert!(said.starts_with("the compressed file is damaged: block "), "{said}");
        let repaired = folder.read("repaired.dat");
        let (records, torn) = frames::records(&repaired, &Limits::for_save_files());
        assert_eq!(torn, None);
        assert!(records.len() >= least, "{} of 1000", records.len());
        let mut players = players.iter();
        for record in records {
            assert!(players.any(|player| *player == repaired[record.clone()]));
        }
    }
}

/// Each layer could expand a small file a thousandfold.
#[test]
fn a_file_is_wrapped_only_once() {
    let folder = Folder::new();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes();
    let compressed = |bytes: &[u8]| gdvar::input::compress(bytes).expect("compressed");
    let plain = batch(&[player(1)]);
    folder.write("once", hex(&compressed(&plain)));
    folder.gdvar(&["check", "once"]).good();
    let twice = [
        ("compressed", compressed(&compressed(&plain))),
        ("hexadecimal", hex(&hex(&plain))),
        ("compressed", compressed(&hex(&compressed(&plain)))),
    ];
    for (layer, bytes) in twice {
        folder.write("twice", bytes);
        let printed = folder.gdvar(&["check", "twice"]);
        assert_eq!(printed.code, Some(1));
        assert_eq!(
            printed.stderr,
            format!("error: twice: {layer}, and so are its contents; a file is unwrapped only once\n")
        );
    }
}

#[test]
fn a_key_option_overrides_the_environment() {
    let folder = Folder::new();
    folder.write("plain.dat", batch(&[player(1)]));
    folder.gdvar(&["convert", "plain.dat", "--encrypt", "pass", "--output", "secret.dat"]).good();
    // The key is the MD5 of the pass, in hexadecimal.
    let key: String = "1a1dc91c907325c69271ddf0c944bc72".bytes().map(|byte| format!("{byte:02x}")).collect();
    let run = |key: Option<&str>, pass: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
        command.arg("check").arg(folder.path("secret.dat")).env("GDVAR_PASS", pass);
        command.args(key.map(|key| format!("--key={key}")));
        command.output().expect("gdvar runs").status.success()
    };
    assert!(run(None, "pass"));
    assert!(!run(None, "wrong"));
    assert!(run(Some(&key), "wrong"));
}

#[test]
fn hexadecimal_text_is_read_in_common_forms() {
    let folder = Folder::new();
    let hex = "0400 00000300000061626300";
    let bytes = folder.encoded("\"abc\"");
    let words = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>();
    for text in [
        hex.to_owned(),
        format!("\u{FEFF}{hex}\r\n"),
        words.join(", "),
        format!("0x{}", hex.replace(' ', "")),
    ] {
        folder.write("value.txt", &text);
        assert!(folder.gdvar(&["convert", "value.txt"]).good() == bytes, "{text}");
    }
    folder.write("value.txt", "\n\n\n\n\n");
    assert_eq!(folder.gdvar(&["check", "value.txt"]).code, Some(1));
}

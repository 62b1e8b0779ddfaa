//! docs/pictures/gdvar.svg shows what the command prints. `SNAPSHOTS=overwrite` redraws it.

use std::process::Command;

use snapbox::data::DataFormat;
use snapbox::{Data, assert_data_eq};

#[test]
fn the_picture_shows_real_output() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    let folder = tempfile::tempdir().expect("a folder");
    let gdvar = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gdvar"));
        let output = command.args(arguments).current_dir(&folder).env("CLICOLOR_FORCE", "1").output();
        output.expect("gdvar runs").stdout
    };
    let players = format!("{docs}gdvar.in/players.json");
    gdvar(&["from-json", &players, "--records", "--output", "save.dat"]);
    let shown = [b"$ gdvar show save.dat\n".to_vec(), gdvar(&["show", "save.dat"])].concat();
    let picture = Data::read_from(format!("{docs}pictures/gdvar.svg").as_ref(), Some(DataFormat::TermSvg));
    assert_data_eq!(Data::binary(shown).coerce_to(DataFormat::TermSvg), picture.raw());
}

//! Files as other processes see them: replaced atomically, appended to in turn, whole after a kill.
//!
//! `cargo xtask platforms` runs these tests on each platform whose programs run on this machine. Under QEMU, the
//! environment variable `EMULATOR` names the emulator.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use tempfile::TempDir;
use variant_disk::{Failure, Stamp, append, create, open, replace, replace_read, resolved};

fn folder() -> Result<TempDir> {
    Ok(tempfile::tempdir()?)
}

fn read(place: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(place)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// A record with one int.
fn record(number: u32) -> Vec<u8> {
    [8_u32, 2, number].iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_file_is_made_and_replaced_whole() -> Result<()> {
    let folder = folder()?;
    let place = resolved(folder.path().join("save.dat"))?;
    replace(&place, &[b"one ".to_vec(), b"two".to_vec()])?;
    assert_eq!(read(&place)?, b"one two");
    replace(&place, &[b"3".to_vec()])?;
    assert_eq!(read(&place)?, b"3");
    replace(&place, &[[0; 0]])?;
    assert_eq!(read(&place)?, b"");
    assert_eq!(names(folder.path())?, ["save.dat"]);
    Ok(())
}

#[test]
fn only_one_creates_a_file() -> Result<()> {
    for round in 0..50 {
        let folder = folder()?;
        let place = &resolved(folder.path().join("save.dat"))?;
        let create_it = |number: u8| create(place, &[vec![number; 1000]]);
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || create_it(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let winner = made.iter().position(Result::is_ok);
        let winner = winner.ok_or_else(|| anyhow::anyhow!("round {round}: {made:?}"))?;
        for (number, made) in made.iter().enumerate() {
            let is_refused =
                matches!(made, Err(Failure::System(error)) if error.kind() == io::ErrorKind::AlreadyExists);
            ensure!(is_refused != (number == winner), "{made:?}");
        }
        ensure!(read(place)? == vec![winner as u8; 1000]);
        ensure!(names(folder.path())? == ["save.dat"]);
    }
    Ok(())
}

/// A reader sees the old content to its end. Windows may refuse to replace an open file, depending on the file system;
/// then nothing changes.
#[test]
fn a_reader_keeps_the_old_file() -> Result<()> {
    let folder = folder()?;
    let place = resolved(folder.path().join("save.dat"))?;
    replace(&place, &[b"old".to_vec()])?;
    let mut reader = File::open(&place)?;
    let replaced = replace(&place, &[b"new".to_vec()]);
    let mut seen = String::new();
    reader.read_to_string(&mut seen)?;
    assert_eq!(seen, "old");
    match replaced {
        Ok(()) => assert_eq!(read(&place)?, b"new"),
        Err(Failure::Locked(_)) if cfg!(windows) => assert_eq!(read(&place)?, b"old"),
        Err(other) => return Err(other.into()),
    }
    assert_eq!(names(folder.path())?, ["save.dat"]);
    Ok(())
}

/// Godot's `FileAccess` on Windows lets no one replace a file that it has open, so a save waits until the
/// file is closed.
#[test]
#[cfg(windows)]
fn a_save_waits_for_an_exclusive_reader() -> Result<()> {
    use std::os::windows::fs::OpenOptionsExt;
    /// `FILE_SHARE_READ` and `FILE_SHARE_WRITE`.
    const NO_DELETING: u32 = 1 | 2;
    let folder = folder()?;
    let place = resolved(folder.path().join("save.dat"))?;
    replace(&place, &[b"old".to_vec()])?;
    let open = || File::options().read(true).share_mode(NO_DELETING).open(&place);

    let reader = open()?;
    assert!(matches!(replace(&place, &[b"new".to_vec()]), Err(Failure::Locked(_))));
    assert_eq!(read(&place)?, b"old");
    assert_eq!(names(folder.path())?, ["save.dat"]);
    drop(reader);

    let reader = open()?;
    let closing = std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(reader);
    });
    replace(&place, &[b"new".to_vec()])?;
    closing.join().expect("it only waits");
    assert_eq!(read(&place)?, b"new");
    Ok(())
}

#[test]
fn file_names_may_be_long_and_unicode() -> Result<()> {
    let folder = folder()?;
    let mut place = folder.path().to_owned();
    // The path is longer than the 260 characters that old Windows programs support.
    for name in ["長い名前のフォルダー", "Ünïcödé und Leerzeichen", "папка", "🗡️ 🛡️"].iter().cycle().take(24)
    {
        place.push(name);
    }
    fs::create_dir_all(resolved(folder.path().to_owned())?.join(place.strip_prefix(folder.path())?))?;
    let place = resolved(
        resolved(folder.path().to_owned())?.join(place.strip_prefix(folder.path())?).join("säve.dat"),
    )?;
    ensure!(place.to_string_lossy().chars().count() > 300, "{}", place.display());
    replace(&place, &[b"one".to_vec()])?;
    replace(&place, &[record(1)])?;
    append(&place, &[record(2)])?;
    // The path of an existing file is resolved differently from that of a new file. Users write the path
    // without the Windows prefix.
    let plain = PathBuf::from(place.to_string_lossy().trim_start_matches(r"\\?\"));
    append(&resolved(plain.clone())?, &[record(3)])?;
    assert_eq!(read(&place)?, [record(1), record(2), record(3)].concat());
    replace(&resolved(plain)?, &[record(4)])?;
    assert_eq!(read(&place)?, record(4));
    Ok(())
}

#[test]
fn paths_that_are_not_files_are_refused() -> Result<()> {
    let folder = folder()?;
    let at = |name: &str| resolved(folder.path().join(name));
    fs::create_dir(folder.path().join("folder"))?;
    for write in [replace, append] {
        let failure = |place: PathBuf| write(&place, &[record(1)]).expect_err("it is no file");
        assert!(matches!(failure(at("folder")?), Failure::IsFolder));
        assert!(matches!(failure(at("none/save.dat")?), Failure::NoFolder));
        assert!(matches!(failure(at(".fast-variant-codec-0123456789abcdef.tmp")?), Failure::ReservedName));
    }
    assert_eq!(names(folder.path())?, ["folder"]);
    Ok(())
}

/// Windows programs can neither open nor remove a file with the name of a device.
#[test]
#[cfg(windows)]
fn device_names_are_refused() -> Result<()> {
    let folder = folder()?;
    for name in ["con", "NUL", "aux.dat", "Com1.tar.gz", "lpt9", "COM¹", "clock$", "CONIN$.dat"] {
        for write in [replace, append] {
            let written = write(&resolved(folder.path().join(name))?, &[record(1)]);
            assert!(matches!(written, Err(Failure::DeviceName)), "{name}: {written:?}");
        }
    }
    for name in ["console.dat", "com10", "com", "null"] {
        replace(&resolved(folder.path().join(name))?, &[record(1)])?;
    }
    assert_eq!(names(folder.path())?.len(), 4);
    Ok(())
}

/// Windows reads these names as a stream, a file on another drive, or a file without trailing dots and
/// spaces.
#[test]
#[cfg(windows)]
fn ambiguous_file_names_are_refused() -> Result<()> {
    let folder = folder()?;
    replace(&resolved(folder.path().join("there.dat"))?, &[record(1)])?;
    let start = folder.path().display().to_string();
    for name in
        ["C:there.dat", "z:new.dat", "there.dat:stream", "there.dat.", "there.dat ", "new.dat.", "new. ."]
    {
        for write in [replace, append] {
            // The name is joined as text, because joining paths would treat `C:` as a drive.
            let written = write(&resolved(format!("{start}/{name}").into())?, &[record(2)]);
            assert!(matches!(written, Err(Failure::AmbiguousName)), "{name}: {written:?}");
        }
    }
    for name in ["NUL:", "com1:x"] {
        let written = replace(&resolved(format!("{start}/{name}").into())?, &[record(2)]);
        assert!(matches!(written, Err(Failure::DeviceName)), "{name}: {written:?}");
    }
    assert_eq!(names(folder.path())?, ["there.dat"]);
    assert_eq!(fs::read(folder.path().join("there.dat"))?, record(1));
    Ok(())
}

#[test]
fn a_truncated_record_is_not_appended_to() -> Result<()> {
    let folder = folder()?;
    let place = resolved(folder.path().join("log.dat"))?;
    append(&place, &[record(1), record(2)])?;
    let torn = [record(1), record(2), record(3)[..9].to_vec()].concat();
    fs::write(&place, &torn)?;
    assert!(matches!(append(&place, &[record(4)]), Err(Failure::Truncated(24))));
    assert_eq!(read(&place)?, torn);
    Ok(())
}

/// A dangling link exists but cannot be opened.
#[test]
#[cfg(all(unix, not(target_family = "wasm")))]
fn dangling_links_are_replaced_but_not_appended_to() -> Result<()> {
    let folder = folder()?;
    let place = folder.path().join("link");
    // This is as if the link were created after the path was resolved.
    std::os::unix::fs::symlink(folder.path().join("none").join("file"), &place)?;
    assert!(append(&place, &[record(1)]).is_err());
    replace(&place, &[record(1)])?;
    assert_eq!(read(&place)?, record(1));
    Ok(())
}

/// Appends by others are checked, and so is another file at the same path.
#[test]
fn appends_of_other_processes_are_checked() -> Result<()> {
    use std::io::Write;
    let folder = folder()?;
    let place = resolved(folder.path().join("log.dat"))?;
    let others =
        |bytes: &[u8]| File::options().append(true).open(&place).and_then(|mut file| file.write_all(bytes));
    append(&place, &[record(1)])?;
    others(&record(2))?;
    append(&place, &[record(3)])?;
    others(&record(4)[..5])?;
    assert!(matches!(append(&place, &[record(5)]), Err(Failure::Truncated(36))));
    fs::remove_file(&place)?;
    fs::write(&place, [record(1), record(2)[..7].to_vec()].concat())?;
    assert!(matches!(append(&place, &[record(5)]), Err(Failure::Truncated(12))));
    Ok(())
}

/// An append by others between reading and replacing is not lost.
#[test]
fn a_file_that_has_changed_is_not_replaced() -> Result<()> {
    let folder = folder()?;
    let place = resolved(folder.path().join("log.dat"))?;
    append(&place, &[record(1)])?;
    append(&place, &[record(2)])?;
    let stamp = Stamp::at(&place)?;
    // A change that keeps the length is detected too.
    replace(&place, &[record(4), record(5)])?;
    assert!(matches!(replace_read(&place, &stamp, &[record(3)]), Err(Failure::Changed)));
    let stamp = Stamp::at(&place)?;
    append(&place, &[record(2)])?;
    assert!(matches!(replace_read(&place, &stamp, &[record(3)]), Err(Failure::Changed)));
    let stamp = Stamp::at(&place)?;
    replace_read(&place, &stamp, &[record(3)])?;
    assert_eq!(read(&place)?, record(3));
    fs::remove_file(&place)?;
    assert!(matches!(replace_read(&place, &stamp, &[record(3)]), Err(Failure::Changed)));
    Ok(())
}

/// Neither the length nor the time of a file proves that its records are whole.
#[test]
fn a_file_with_an_unchanged_stamp_is_checked() -> Result<()> {
    let folder = folder()?;
    let torn = |length: u8| [&[length, 0, 0, 0][..], &[0; 8]].concat();
    for (name, content) in [("same file", [record(1), torn(40)]), ("another file", [torn(9), record(2)])] {
        let place = resolved(folder.path().join(name))?;
        append(&place, &[record(1), record(2)])?;
        let time = fs::metadata(&place)?.modified()?;
        let changed = if name == "same file" { place.clone() } else { folder.path().join("other") };
        fs::write(&changed, content.concat())?;
        File::options().write(true).open(&changed)?.set_modified(time)?;
        fs::rename(&changed, &place)?;
        assert!(append(&place, &[record(3)]).is_err(), "{name}");
        assert_eq!(read(&place)?, content.concat(), "{name}");
    }
    Ok(())
}

/// A reader sees an append only when the append is finished, and nothing of an append that fails halfway.
#[test]
#[cfg(not(any(target_family = "wasm", target_os = "android")))]
fn an_unfinished_append_is_not_read() -> Result<()> {
    use std::io::Write;
    use std::time::Instant;

    use variant_codec::frames::Index;
    use variant_disk::{Journal, LONGEST_WAIT, open_at_rest};

    let folder = folder()?;
    let place = resolved(folder.path().join("log.dat"))?;
    append(&place, &[record(1)])?;
    let (journal, index) = (Journal::open(&place)?, Index::ignoring_torn());
    assert_eq!(index.count(&journal)?, 1);
    append(&place, &[record(9)])?;
    let mut options = File::options();
    options.append(true);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 1);
    let mut writer = options.open(&place)?;
    #[cfg(not(windows))]
    writer.lock()?;
    writer.write_all(&[record(2), record(3)[..5].to_vec()].concat())?;
    // The journal has not read the length since this process's own append, but that append is finished, so
    // its record counts.
    assert_eq!((index.count(&journal)?, index.find(&journal, 2)?), (2, None));
    #[cfg(not(windows))]
    {
        // Even under another name, the journal's file is the one that the writer has locked.
        let moved = folder.path().join("moved.dat");
        fs::rename(&place, &moved)?;
        assert_eq!(index.count(&journal)?, 2);
        fs::rename(&moved, &place)?;
    }
    let place = &place;
    // A reader of the whole file waits for the append, and leaves out the bytes that are removed again.
    let (whole, stamp) = std::thread::scope(|threads| {
        let deadline = Instant::now() + LONGEST_WAIT;
        let whole = threads.spawn(move || open_at_rest(place, deadline));
        writer.write_all(&record(5))?;
        std::thread::sleep(std::time::Duration::from_millis(20));
        writer.set_len(24)?;
        drop(writer);
        anyhow::Ok(whole.join().expect("it does not panic")?)
    })?;
    assert_eq!((stamp.length(), whole.metadata()?.len()), (24, 24));
    let longer = [&[20, 0, 0, 0][..], &[0; 20]].concat();
    append(place, &[longer, record(4)])?;
    assert_eq!((index.count(&journal)?, index.find(&journal, 2)?), (4, Some(28..48)));
    Ok(())
}

/// A reader whose first wait times out does not see bytes that may be removed again.
#[test]
#[cfg(all(unix, not(any(target_family = "wasm", target_os = "android"))))]
fn a_reader_times_out_during_appends() -> Result<()> {
    use std::time::Instant;

    use variant_codec::frames::ReadAt;
    use variant_disk::{Journal, LONGEST_WAIT, open_at_rest};

    let folder = folder()?;
    let place = resolved(folder.path().join("log.dat"))?;
    append(&place, &[record(1)])?;
    let writer = File::options().append(true).open(&place)?;
    writer.lock()?;
    let moved = folder.path().join("moved.dat");
    let own = Journal::open(&place)?;
    fs::rename(&place, &moved)?;
    std::os::unix::fs::symlink(&moved, &place)?;
    let others = Journal::open(&moved)?;
    // Each journal waits for 5 seconds, but only once.
    let (own, others) = std::thread::scope(|threads| {
        let own = threads.spawn(|| own.size());
        let asked = (0..100).map(|_| others.size()).last().expect("it was asked 100 times");
        (own.join().expect("it does not panic"), asked)
    });
    // This process's own append is finished, but others may have finished appends after it.
    for length in [own, others] {
        assert_eq!(length.as_ref().unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
        assert!(length.unwrap_err().to_string().contains(".dat: file locked by "));
    }
    assert!(matches!(open_at_rest(&moved, Instant::now()), Err(Failure::Locked(_))));
    // A reader of the whole file does not wait for a file that another one has replaced.
    let other = folder.path().join("other.dat");
    fs::write(&other, record(2))?;
    let asked = Instant::now();
    let replaced = std::thread::scope(|threads| {
        let whole = threads.spawn(|| open_at_rest(&moved, asked + 100 * LONGEST_WAIT));
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::rename(&other, &moved)?;
        anyhow::Ok(io::read_to_string(whole.join().expect("it does not panic")?.0)?.into_bytes())
    });
    assert_eq!(replaced?, record(2));
    Ok(())
}

#[test]
#[cfg(unix)]
#[cfg(not(target_family = "wasm"))]
fn links_are_followed_and_modes_kept() -> Result<()> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder()?;
    let place = folder.path().join("save.dat");
    fs::write(&place, "old")?;
    fs::set_permissions(&place, fs::Permissions::from_mode(0o640))?;
    symlink("save.dat", folder.path().join("link"))?;
    replace(&resolved(folder.path().join("link"))?, &[b"new".to_vec()])?;
    assert!(folder.path().join("link").is_symlink());
    assert_eq!(fs::read(&place)?, b"new");
    assert_eq!(fs::metadata(&place)?.permissions().mode() & 0o777, 0o640);
    Ok(())
}

#[cfg(not(target_family = "wasm"))]
mod processes {
    //! Tests that run this program again, in another process with a task.

    use std::env;
    use std::io::{BufRead, BufReader, Cursor, Write};
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::time::{Duration, Instant};

    use anyhow::Context;
    use variant_codec::frames;
    use variant_disk::at_rest;

    use super::*;

    const TASK: &str = "DISK_TASK";
    const PLACE: &str = "DISK_PLACE";

    /// The task of a process that another test started. Does nothing in any other process.
    #[test]
    fn task() -> Result<()> {
        let (Ok(task), Some(place)) = (env::var(TASK), env::var_os(PLACE)) else { return Ok(()) };
        let place = PathBuf::from(place);
        let ready = || {
            println!("\nready");
            std::io::stdout().flush()
        };
        match task.as_str() {
            "append" => {
                ready()?;
                (0..100).try_for_each(|number| append(&place, &[record(number)]))?;
            }
            "replace" => {
                ready()?;
                for number in 0.. {
                    replace(&place, &vec![record(number); 1000])?;
                }
            }
            "hold" => {
                let _held = at_rest(&place, Instant::now())?;
                ready()?;
                std::thread::sleep(Duration::from_secs(env::var("DISK_SECONDS")?.parse()?));
            }
            other => anyhow::bail!("no task {other}"),
        }
        Ok(())
    }

    /// A running task, and its output, which must stay open for the task to write to it.
    struct Process(Child, Option<BufReader<ChildStdout>>);

    impl Drop for Process {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    /// Starts a task and waits until it begins.
    fn start(task: &str, place: &Path, seconds: u32) -> Result<Process> {
        let own = env::current_exe()?;
        let mut command = match env::var_os("EMULATOR") {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(own);
                command
            }
            None => Command::new(own),
        };
        command.args(["--exact", "processes::task", "--nocapture"]);
        command.env(TASK, task).env(PLACE, place).env("DISK_SECONDS", seconds.to_string());
        let mut process = Process(command.stdout(Stdio::piped()).spawn()?, None);
        let mut output = BufReader::new(process.0.stdout.take().context("a stream")?);
        let mut line = String::new();
        while output.read_line(&mut line)? > 0 {
            if line.trim() == "ready" {
                process.1 = Some(output);
                return Ok(process);
            }
            line.clear();
        }
        anyhow::bail!("the process for {task} did not begin")
    }

    #[test]
    fn processes_append_in_turn() -> Result<()> {
        let folder = folder()?;
        let place = resolved(folder.path().join("log.dat"))?;
        let mut others = [start("append", &place, 0)?, start("append", &place, 0)?];
        (0..100).try_for_each(|number| append(&place, &[record(number)]))?;
        for other in &mut others {
            assert!(other.0.wait()?.success());
        }
        let bytes = read(&place)?;
        assert_eq!(bytes.len(), 300 * record(0).len());
        assert!(frames::find_torn(&mut Cursor::new(&bytes), bytes.len() as u64)?.is_none());
        for number in 0..100 {
            let found = bytes.chunks(12).filter(|found| **found == *record(number)).count();
            assert_eq!(found, 3, "record {number}");
        }
        Ok(())
    }

    #[test]
    fn a_writer_waits_for_another_process() -> Result<()> {
        let folder = folder()?;
        let place = resolved(folder.path().join("save.dat"))?;
        replace(&place, &[b"old".to_vec()])?;
        let _other = start("hold", &place, 1)?;
        replace(&place, &[b"new".to_vec()])?;
        assert_eq!(read(&place)?, b"new");
        Ok(())
    }

    /// The loops release the lock only between two saves.
    #[test]
    fn repeated_saves_do_not_starve_other_processes() -> Result<()> {
        let folder = folder()?;
        let place = resolved(folder.path().join("save.dat"))?;
        let _others = [start("replace", &place, 0)?, start("replace", &place, 0)?];
        for number in 0..20 {
            replace(&place, &[record(number)])?;
            append(&place, &[record(number)])?;
        }
        Ok(())
    }

    #[test]
    fn a_writer_that_times_out_changes_nothing() -> Result<()> {
        let folder = folder()?;
        let place = resolved(folder.path().join("save.dat"))?;
        replace(&place, &[record(1)])?;
        let _other = start("hold", &place, 3600)?;
        let fails = |write: fn(&Path, &[Vec<u8>]) -> std::result::Result<(), Failure>| {
            assert!(matches!(write(&place, &[record(2)]), Err(Failure::Locked(_))));
        };
        // Each call waits for 5 seconds.
        std::thread::scope(|threads| {
            threads.spawn(|| fails(replace));
            fails(append);
        });
        assert_eq!(read(&place)?, record(1));
        assert_eq!(names(folder.path())?, ["save.dat"]);
        Ok(())
    }

    /// A killed process leaves the old or the new file, and the next process removes its temporary files.
    #[test]
    fn a_file_is_whole_after_a_kill() -> Result<()> {
        let folder = folder()?;
        let place = resolved(folder.path().join("save.dat"))?;
        replace(&place, &vec![record(0); 1000])?;
        for pause in 0..10 {
            let process = start("replace", &place, 0)?;
            std::thread::sleep(Duration::from_millis(20 + 7 * pause));
            drop(process);
            let bytes = read(&place)?;
            let (first, rest) = bytes.split_at(12);
            assert_eq!(bytes.len(), 12_000);
            assert!(rest.chunks(12).all(|other| other == first), "records of two saves");
        }
        Ok(())
    }
}

//! Linux only: the list of all locks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

/// The process that has locked a file. `None` if the process is unknown, such as one outside this
/// container.
pub fn holder(place: &Path) -> Option<String> {
    let found = fs::metadata(place).ok()?;
    let file = format!("{:02x}:{:02x}:{}", major(found.dev()), minor(found.dev()), found.ino());
    // 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let number = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&file.as_str())).then(|| words[4].to_owned())
    })?;
    Some(match fs::read_to_string(format!("/proc/{number}/comm")) {
        Ok(name) => format!("process {number} ({})", name.trim()),
        Err(_) => format!("process {number}"),
    })
}

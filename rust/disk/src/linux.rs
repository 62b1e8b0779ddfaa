//! Linux only: unnamed files, access control lists, and the list of all locks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, OFlags, XattrFlags, fgetxattr, fremovexattr, fsetxattr, linkat, major, minor,
};
use rustix::io::Errno;

/// An unnamed file in the file system of a folder.
pub fn unnamed(folder: &Path) -> Option<File> {
    OpenOptions::new().write(true).custom_flags(OFlags::TMPFILE.bits().cast_signed()).open(folder).ok()
}

/// Gives an unnamed file a name.
pub fn name(file: &File, place: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, place, AtFlags::SYMLINK_FOLLOW)?)
}

/// Copies the access control list, or removes one that came from the folder. Returns whether that was possible: the
/// list may name users who do not exist for this process.
pub fn copy_access(from: &File, to: &File) -> bool {
    const LIST: &str = "system.posix_acl_access";
    /// The longest attribute that the system allows.
    const LONGEST: usize = 64 << 10;

    let mut list = vec![0; LONGEST];
    let copied = match fgetxattr(from, LIST, &mut list) {
        Ok(length) => fsetxattr(to, LIST, list.get(..length).unwrap_or_default(), XattrFlags::empty()),
        Err(Errno::NODATA) => fremovexattr(to, LIST),
        Err(error) => Err(error),
    };
    matches!(copied, Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::NOSYS))
}

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

//! Replaces files atomically and appends to them, with one writer at a time across all processes. The crate
//! is independent of the engine, and is tested without the engine on each platform.
//!
//! **The lock is on the file itself**, so there are no lock files, and the system releases the lock however a
//! process ends. A save replaces the file, so a lock on the old file then excludes no one. After locking, a writer
//! therefore checks that the path still leads to the locked file, and retries if not.
//!
//! A save does not lock the old file before the new content is on disk. Until then, readers and appends need
//! not wait.
//!
//! On a file system without locks, files are written without one, so that a game can still save.

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod access;
mod append;
mod failure;
mod journal;
#[cfg(target_os = "linux")]
mod linux;
mod locks;
mod paths;
mod replace;
mod stamp;

pub use append::append;
pub use failure::Failure;
pub use journal::Journal;
pub use locks::{LONGEST_WAIT, at_rest, open, open_at_rest};
pub use paths::resolved;
pub use replace::{create, replace, replace_read};
pub use stamp::Stamp;

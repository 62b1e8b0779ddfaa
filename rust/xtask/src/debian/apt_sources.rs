//! The machine's own apt configuration: where its Debian archive is, and which keys sign it.

use std::fs;
use std::path::{Path, PathBuf};

/// An archive that apt knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Its address, as apt takes it.
    pub uri: String,
    /// The key file that its entry names.
    pub signed_by: Option<PathBuf>,
}

/// The Debian archive among the sources of `/etc/apt`, if there is one.
pub fn debian_archive(etc_apt: &Path) -> Option<Archive> {
    let mut files = vec![etc_apt.join("sources.list")];
    if let Ok(entries) = fs::read_dir(etc_apt.join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    files
        .iter()
        .filter_map(|file| {
            let text = fs::read_to_string(file).ok()?;
            match file.extension()?.to_str()? {
                "sources" => Some(parse_deb822(&text)),
                "list" => Some(parse_lines(&text)),
                _ => None,
            }
        })
        .flatten()
        .find(is_debian)
}

/// Third parties have keys and addresses of their own; the security archive holds no testing suite.
fn is_debian(archive: &Archive) -> bool {
    let path = archive.uri.trim_end_matches('/');
    if path.contains("security") {
        return false;
    }
    let debian_key = archive
        .signed_by
        .as_ref()
        .and_then(|key| key.file_name()?.to_str())
        .is_some_and(|name| name.starts_with("debian-archive"));
    let debian_address = archive.signed_by.is_none()
        && (path.ends_with("/debian") || (path.starts_with("mirror") && path.ends_with("debian.list")));
    debian_key || debian_address
}

/// The stanzas of a `.sources` file.
fn parse_deb822(text: &str) -> Vec<Archive> {
    let without_comments: String = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    without_comments.split("\n\n").flat_map(parse_stanza).collect()
}

fn parse_stanza(stanza: &str) -> Vec<Archive> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in stanza.lines().filter(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value);
    let enabled = !matches!(field("enabled").to_ascii_lowercase().as_str(), "no" | "false" | "0" | "off");
    if !enabled || !field("types").split_whitespace().any(|kind| kind == "deb") {
        return vec![];
    }
    let signed_by = key_file(field("signed-by"));
    field("uris")
        .split_whitespace()
        .map(|uri| Archive { uri: uri.to_owned(), signed_by: signed_by.clone() })
        .collect()
}

/// The lines of a `.list` file: `deb [options] uri suite component…`.
fn parse_lines(text: &str) -> Vec<Archive> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Archive> {
    let rest = line.split('#').next()?.trim().strip_prefix("deb")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    Some(Archive { uri: rest.split_whitespace().next()?.to_owned(), signed_by: signed_by.and_then(key_file) })
}

/// `Signed-By` may also hold a fingerprint or the key itself; only files serve here.
fn key_file(value: &str) -> Option<PathBuf> {
    let first = value.split([',', '\n']).next()?.trim();
    first.starts_with('/').then(|| PathBuf::from(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(uri: &str, key: Option<&str>) -> Archive {
        Archive { uri: uri.into(), signed_by: key.map(PathBuf::from) }
    }

    const KEY: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

    #[test]
    fn deb822() {
        let text = "Types: deb\n# a note\nURIs: http://mirror.example/debian\nSuites: stable stable-updates\n\
                    Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\
                    Types: deb deb-src\nURIs: http://a.example/x\n http://b.example/y\nSuites: s\n\n\
                    Types: deb-src\nURIs: http://source.example/debian\n\n\
                    Enabled: no\nTypes: deb\nURIs: http://off.example/debian\n";
        assert_eq!(
            parse_deb822(text),
            [
                archive("http://mirror.example/debian", Some(KEY)),
                archive("http://a.example/x", None),
                archive("http://b.example/y", None),
            ]
        );
    }

    #[test]
    fn deb822_with_the_key_inside() {
        let text = "Types: deb\nURIs: http://mirror.example/debian\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ==\n";
        assert_eq!(parse_deb822(text), [archive("http://mirror.example/debian", None)]);
    }

    #[test]
    fn one_line_entries() {
        let text = "# deb http://off.example/debian stable main\n\
                    deb http://mirror.example/debian stable main # note\n\
                    deb-src http://mirror.example/debian stable main\n\
                    deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://c.example/d s m\n\
                    debris\n";
        assert_eq!(
            parse_lines(text),
            [archive("http://mirror.example/debian", None), archive("http://c.example/d", Some(KEY))]
        );
    }

    #[test]
    fn only_the_debian_archive_serves() {
        assert!(is_debian(&archive("http://mirror.example/debian/", None)));
        assert!(is_debian(&archive("http://mirror.example/any", Some(KEY))));
        assert!(is_debian(&archive("mirror+file:/etc/apt/mirrors/debian.list", None)));
        assert!(!is_debian(&archive("http://mirror.example/debian-security", Some(KEY))));
        assert!(!is_debian(&archive("http://mirror.example/debian", Some("/usr/share/keyrings/vendor.gpg"))));
        assert!(!is_debian(&archive("http://mirror.example/ubuntu", None)));
    }

    #[test]
    fn a_folder_is_searched_in_both_formats() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(debian_archive(folder.path()), None);
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).unwrap();
        fs::write(parts.join("a-vendor.list"), "deb http://vendor.example/apt stable main\n").unwrap();
        fs::write(parts.join("old.sources.disabled"), "Types: deb\nURIs: http://old.example/debian\n")
            .unwrap();
        assert_eq!(debian_archive(folder.path()), None);
        fs::write(folder.path().join("sources.list"), "deb http://list.example/debian stable main\n")
            .unwrap();
        assert_eq!(debian_archive(folder.path()), Some(archive("http://list.example/debian", None)));
        fs::remove_file(folder.path().join("sources.list")).unwrap();
        fs::write(parts.join("debian.sources"), "Types: deb\nURIs: http://deb822.example/debian\n").unwrap();
        assert_eq!(debian_archive(folder.path()), Some(archive("http://deb822.example/debian", None)));
    }
}

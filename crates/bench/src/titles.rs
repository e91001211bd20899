//! Files of application titles for a directory: lists, and substation configuration files (SCL).
//!
//! A list has one title a line, and its station or another title behind it:
//!
//! ```text
//! # cell 4
//! cell4.welder    welder
//! welder-of-cell  cell4.welder
//! ```
//!
//! Of an SCL file (IEC 61850-6), each device is a station: by its name, by its name and that of an
//! access point (`AA1.S1`), and by the application process title of an access point (`1.3.9999.33`).

use stack::directory::{self, Directory};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use wire::addr::Mac;

/// Most octets of a list: 16,384 titles of 64 octets with their stations.
const MOST_OCTETS: u64 = 4 << 20;

/// File that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TitlesFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text as it was read.
    pub text: String,
    /// Its entries.
    pub entries: Entries,
}

/// Entries of a file by title.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Entries {
    /// Entries.
    pub by_title: BTreeMap<String, Entry>,
    /// True if the file is SCL: all targets are devices, and none is a title.
    pub is_scl: bool,
}

/// Entry of a title.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Name of a station, or another title.
    pub target: String,
    /// Line of a list, from 1; 0 in SCL.
    pub line: usize,
}

/// Reason for which a file has no titles.
#[derive(Debug, thiserror::Error)]
pub enum TitlesError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// File.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("{} is no regular file", path.display())]
    NoFile {
        /// File.
        path: PathBuf,
    },
    /// It has too many octets.
    #[error("{} has more than {most} octets", path.display())]
    TooLong {
        /// File.
        path: PathBuf,
        /// Limit.
        most: u64,
    },
    /// A line of a list is wrong.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Reason.
        reason: String,
    },
    /// It begins as SCL and is none.
    #[error("{}: {error}", path.display())]
    Scl {
        /// File.
        path: PathBuf,
        /// Reason and place.
        error: scl::Error,
    },
}

/// Reads a file.
///
/// # Errors
/// Fails if it cannot be read, or is neither a list nor SCL.
pub fn read(path: &Path) -> Result<TitlesFile, TitlesError> {
    let failed = |error| TitlesError::Io { path: path.to_owned(), error };
    // A pipe or a device may never end, or never begin.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(TitlesError::NoFile { path: path.to_owned() });
    }
    let mut octets = Vec::new();
    let most = scl::MOST_OCTETS as u64;
    File::open(path).map_err(failed)?.take(most + 1).read_to_end(&mut octets).map_err(failed)?;
    let is_scl =
        octets.trim_ascii_start().starts_with(b"<") || octets.starts_with(b"\xEF\xBB\xBF<");
    let most = if is_scl { most } else { MOST_OCTETS };
    if octets.len() as u64 > most {
        return Err(TitlesError::TooLong { path: path.to_owned(), most });
    }
    let text = String::from_utf8(octets).map_err(|error| {
        let octets = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = 1 + octets.filter(|octet| **octet == b'\n').count();
        TitlesError::Line { path: path.to_owned(), line, reason: "not UTF-8 text".to_owned() }
    })?;
    let entries = if is_scl { of_scl(path, &text)? } else { of_list(path, &text)? };
    Ok(TitlesFile { path: path.to_owned(), text, entries })
}

impl Entries {
    /// Directory of a station that takes the part of every station of a file. An address of a MAC
    /// stands for that station.
    #[must_use]
    pub fn directory_at(&self, station: Mac) -> Directory {
        let mut directory = Directory::default();
        for (title, entry) in &self.by_title {
            let is_alias = !self.is_scl && self.by_title.contains_key(&entry.target);
            let meaning = match (entry.target.parse(), is_alias) {
                (_, true) => directory::Entry::Alias(entry.target.clone()),
                (Ok(mac), false) => directory::Entry::Station(mac),
                (Err(_), false) => directory::Entry::Station(station),
            };
            directory.insert(title.clone(), meaning);
        }
        directory
    }

    /// Titles of a list whose aliases lead to no station, with their lines.
    pub fn loops(&self) -> impl Iterator<Item = (&str, usize)> {
        let directory = self.directory_at(Mac::local(1));
        let is_lost = move |title: &str| directory.station(title).is_err();
        let titles = self.by_title.iter().map(|(title, entry)| (title.as_str(), entry.line));
        titles.filter(move |(title, _)| is_lost(title))
    }
}

fn of_list(path: &Path, text: &str) -> Result<Entries, TitlesError> {
    let mut by_title: BTreeMap<String, Entry> = BTreeMap::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        let wrong = |reason: String| TitlesError::Line { path: path.to_owned(), line, reason };
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [title, target] = match words[..] {
            [] => continue,
            [title, target] => [title, target].map(str::to_owned),
            _ => return Err(wrong("expected a title and a station, or another title".to_owned())),
        };
        if let Some(before) = by_title.get(&title) {
            return Err(wrong(format!("\"{title}\" is in line {} already", before.line)));
        }
        by_title.insert(title, Entry { target, line });
    }
    Ok(Entries { by_title, is_scl: false })
}

fn of_scl(path: &Path, text: &str) -> Result<Entries, TitlesError> {
    let document = scl::Document::read(text.as_bytes())
        .map_err(|error| TitlesError::Scl { path: path.to_owned(), error })?;
    let mut by_title = BTreeMap::new();
    for ied in &document.ieds {
        let entry = || Entry { target: ied.name.clone(), line: 0 };
        by_title.insert(ied.name.clone(), entry());
        for point in &ied.access_points {
            by_title.insert(format!("{}.{}", ied.name, point.name), entry());
            let arcs = point.address.as_ref().and_then(|address| address.ap_title.as_ref());
            if let Some(arcs) = arcs {
                let arcs: Vec<String> = arcs.iter().map(u32::to_string).collect();
                // Devices often keep the title of their maker's example: the first one has it.
                by_title.entry(arcs.join(".")).or_insert_with(entry);
            }
        }
    }
    Ok(Entries { by_title, is_scl: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Entries, String> {
        of_list(Path::new("names.txt"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_has_a_title_and_its_station_on_a_line() {
        let found = list("# cell 4\n\ncell4.welder  welder # new\nold cell4.welder\r\n").unwrap();
        let entry = |target: &str, line| Entry { target: target.to_owned(), line };
        let expected = [
            ("cell4.welder".to_owned(), entry("welder", 3)),
            ("old".to_owned(), entry("cell4.welder", 4)),
        ];
        assert_eq!(found.by_title, BTreeMap::from(expected));
        assert_eq!(list("").unwrap(), Entries::default());
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("a b\nc\n", "names.txt:2: expected a title and a station, or another title"),
            ("a b c\n", "names.txt:1: expected a title and a station, or another title"),
            ("a b\n\na c\n", "names.txt:3: \"a\" is in line 1 already"),
        ] {
            assert_eq!(list(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn one_station_takes_the_part_of_all() {
        let own = Mac::local(7);
        let text = "welder here\ncell welder\nfar 02:00:00:00:00:09\na b\nb a\n";
        let entries = list(text).unwrap();
        let directory = entries.directory_at(own);
        assert_eq!((directory.station("welder"), directory.station("cell")), (Ok(own), Ok(own)));
        assert_eq!(directory.station("far"), Ok(Mac([2, 0, 0, 0, 0, 9])));
        assert_eq!(entries.loops().collect::<Vec<_>>(), [("a", 4), ("b", 5)]);
    }

    #[test]
    fn devices_of_scl_have_their_names_and_titles() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/models/feeder.cid"));
        let found = read(path).unwrap();
        assert!(found.entries.is_scl && !found.entries.by_title.is_empty());
        let document = scl::Document::read(found.text.as_bytes()).unwrap();
        let (ied, entries) = (&document.ieds[0], &found.entries.by_title);
        assert_eq!(entries[&ied.name].target, ied.name);
        let point = format!("{}.{}", ied.name, ied.access_points[0].name);
        assert_eq!(entries[&point].target, ied.name);
        println!("seen: {:?}", entries.keys());
    }

    #[test]
    fn what_is_no_file_of_titles_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names");
        let written = |octets: &[u8]| {
            fs::write(&path, octets).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(written(b"a b\n\xFF").ends_with("names:2: not UTF-8 text"));
        assert!(written(b"<SCL>").contains("line 1"), "{}", written(b"<SCL>"));
        assert!(written(&vec![b' '; 4 << 20 | 1]).ends_with("more than 4194304 octets"));
        assert!(read(folder.path()).unwrap_err().to_string().ends_with("is no regular file"));
        let none = read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(none.contains("cannot read"), "{none}");
    }
}

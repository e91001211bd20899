//! Profile files: machines that users describe themselves, and the search for them.

use super::{Profile, parse_file};
use crate::scenario::ScenarioError;
use core::fmt;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The most octets of a profile file.
pub const MOST_OCTETS: u64 = 256 * 1_024;

/// Returns true for the name of a profile file: it ends in `.toml` or has a path separator.
#[must_use]
pub fn is_file_name(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|end| end == "toml")
}

/// A profile file that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text as it was read.
    pub text: String,
    /// The machine that it describes.
    pub profile: Profile,
}

/// Place of the files that a scenario names: profiles, and titles of a directory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Files {
    /// Nowhere: the scenario is not a file itself.
    #[default]
    None,
    /// At paths relative to this folder, that of the scenario.
    In(PathBuf),
    /// Copies of them, by the names that the scenario has for them.
    Copies(BTreeMap<String, PathBuf>),
}

impl Files {
    /// Reads the profile file that a scenario calls `name`.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it is not a valid profile.
    pub fn read(&self, name: &str) -> Result<ProfileFile, Unreadable> {
        read_file(name, &self.path(name)?)
    }

    /// Reads the text of the scenario that another one calls `name`; its path comes first.
    ///
    /// # Errors
    /// Fails if there is no such file, or if it is no text.
    pub(crate) fn text(&self, name: &str) -> Result<(PathBuf, String), Unreadable> {
        let path = self.path(name)?;
        let text = text_of(octets_of(&path, MOST_OCTETS)?, &path)?;
        Ok((path, text))
    }

    /// Path of a file that a scenario calls `name`.
    ///
    /// # Errors
    /// Fails if the scenario is no file itself, or the run folder has no copy of it.
    pub fn path(&self, name: &str) -> Result<PathBuf, Unreadable> {
        match self {
            Self::None => Err(Unreadable::NoFolder),
            Self::In(folder) => Ok(folder.join(name)),
            Self::Copies(copies) => copies.get(name).cloned().ok_or(Unreadable::NoCopy),
        }
    }
}

/// Reads the profile file at `path`, which a scenario calls `name`.
///
/// # Errors
/// Fails if there is no such file, or if it is not a valid profile.
pub fn read_file(name: &str, path: &Path) -> Result<ProfileFile, Unreadable> {
    let text = text_of(octets_of(path, MOST_OCTETS)?, path)?;
    let profile = parse_file(name, &path.display().to_string(), &text);
    let profile = profile.map_err(|error| Unreadable::Wrong(Box::new(error)))?;
    Ok(ProfileFile { path: path.to_owned(), text, profile })
}

fn text_of(octets: Vec<u8>, path: &Path) -> Result<String, Unreadable> {
    String::from_utf8(octets).map_err(|error| Unreadable::NoText {
        path: path.to_owned(),
        octet: error.utf8_error().valid_up_to(),
    })
}

/// Reads a file of at most `most` octets.
///
/// # Errors
/// The file does not exist, is none, or is longer.
pub fn octets_of(path: &Path, most: u64) -> Result<Vec<u8>, Unreadable> {
    let failed = |error| Unreadable::Io { path: path.to_owned(), error };
    let about = fs::metadata(path).map_err(failed)?;
    // A pipe or a device may never end, or never begin.
    if !about.is_file() {
        let what = if about.is_dir() { "a folder" } else { "no regular file" };
        return Err(Unreadable::NoFile { path: path.to_owned(), what });
    }
    let mut octets = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(most.saturating_add(1)).read_to_end(&mut octets).map_err(failed)?;
    if octets.len() as u64 > most {
        return Err(Unreadable::TooLong { path: path.to_owned(), most });
    }
    Ok(octets)
}

/// The reason for which a profile cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// Only a scenario that is a file names files.
    NoFolder,
    /// The run folder has no copy of it.
    NoCopy,
    /// It cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It is something else.
    NoFile {
        /// The file.
        path: PathBuf,
        /// Its kind.
        what: &'static str,
    },
    /// It is longer than any file of its kind.
    TooLong {
        /// The file.
        path: PathBuf,
        /// Maximum number of octets.
        most: u64,
    },
    /// It is not UTF-8.
    NoText {
        /// The file.
        path: PathBuf,
        /// The first octet that is wrong.
        octet: usize,
    },
    /// Its text is not a valid profile.
    Wrong(Box<ScenarioError>),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str("only a scenario file can name other files"),
            Self::NoCopy => f.write_str("the run folder has no copy of it"),
            Self::Io { path, error } => write!(f, "cannot read {}: {error}", path.display()),
            Self::NoFile { path, what } => write!(f, "{} is {what}", path.display()),
            Self::TooLong { path, most } => {
                write!(f, "{} has more than {most} octets", path.display())
            }
            Self::NoText { path, octet } => {
                write!(f, "{} is not UTF-8 text: octet {octet}", path.display())
            }
            Self::Wrong(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Unreadable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_an_ending_or_a_folder_is_that_of_a_file() {
        for name in ["mine.toml", "machines/mine", "./ideal", "../mine.toml", "/mine"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in ["ideal", "nbs-1986", "mine.tml", ""] {
            assert!(!is_file_name(name), "{name}");
        }
        assert!(matches!(Files::None.read("mine.toml"), Err(Unreadable::NoFolder)));
    }
}

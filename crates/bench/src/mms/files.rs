//! Files of a server: those of a folder, read once, when it starts. A client names a file that was
//! read then, so no name leads out of the folder.

use bytes::Bytes;
use stack::mms::server::Files;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Maximum number of files.
const MOST_FILES: usize = 1_000;
/// Maximum number of octets of all files.
const MOST_OCTETS: u64 = 64 << 20;
/// Deepest folder below the one that is named.
const DEEPEST: usize = 8;

/// Reason why a folder is not served.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or folder cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// Path.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// More files than a server has.
    #[error("more than {MOST_FILES} files")]
    TooMany,
    /// More octets than a server holds.
    #[error("more than 64 MiB")]
    TooLong,
    /// Folders below folders.
    #[error("{0}: more than {DEEPEST} folders deep")]
    TooDeep(PathBuf),
    /// Name that is no UTF-8 text.
    #[error("{0}: the name is no UTF-8 text")]
    Unnamed(PathBuf),
}

/// Reads all files of a folder and of the folders below it. Names have `/` between their parts.
/// Links, devices and sockets are left out.
///
/// # Errors
/// [`FilesError`], at the first file that is not read.
pub fn files(folder: &Path) -> Result<Files, FilesError> {
    let mut found = Folder { files: Files::new(), octets: 0 };
    found.read(folder, "", 0)?;
    Ok(found.files)
}

struct Folder {
    files: Files,
    octets: u64,
}

impl Folder {
    fn read(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), FilesError> {
        let unreadable =
            |path: &Path, error| FilesError::Unreadable { path: path.to_owned(), error };
        if depth > DEEPEST {
            return Err(FilesError::TooDeep(folder.to_owned()));
        }
        let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(folder, error))?;
            let path = entry.path();
            // The kind of the entry itself: a link is not followed.
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            let unnamed = || FilesError::Unnamed(path.clone());
            let name = entry.file_name().into_string().map_err(|_| unnamed())?;
            let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                self.read(&path, &name, depth + 1)?;
            } else if kind.is_file() {
                let content = self.content(&path).map_err(|error| unreadable(&path, error))?;
                self.octets += content.len() as u64;
                self.files.insert(name, content);
            }
            if self.files.len() > MOST_FILES {
                return Err(FilesError::TooMany);
            }
            if self.octets > MOST_OCTETS {
                return Err(FilesError::TooLong);
            }
        }
        Ok(())
    }

    /// Contents of a file, up to one octet more than there is room for.
    fn content(&self, path: &Path) -> io::Result<Bytes> {
        let room = MOST_OCTETS - self.octets + 1;
        let mut content = Vec::new();
        fs::File::open(path)?.take(room).read_to_end(&mut content)?;
        Ok(content.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_names_below_the_folder_and_links_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "secret").unwrap();
        let served = folder.path().join("served");
        fs::create_dir_all(served.join("COMTRADE")).unwrap();
        fs::write(served.join("COMTRADE/a.cfg"), "a").unwrap();
        fs::write(served.join("b"), "bc").unwrap();
        std::os::unix::fs::symlink(&outside, served.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), served.join("folder")).unwrap();
        let found = files(&served).unwrap();
        let names: Vec<_> =
            found.iter().map(|(name, octets)| (name.as_str(), &octets[..])).collect();
        assert_eq!(names, [("COMTRADE/a.cfg", &b"a"[..]), ("b", b"bc")]);
    }

    #[test]
    fn a_folder_beyond_the_limits_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let deep = (0..=DEEPEST).fold(folder.path().to_owned(), |path, _| path.join("d"));
        fs::create_dir_all(deep).unwrap();
        assert!(matches!(files(folder.path()), Err(FilesError::TooDeep(_))));
        let folder = tempfile::tempdir().unwrap();
        let long = fs::File::create(folder.path().join("long")).unwrap();
        // A sparse file.
        long.set_len(MOST_OCTETS + 1).unwrap();
        assert!(matches!(files(folder.path()), Err(FilesError::TooLong)));
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MOST_FILES {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert!(matches!(files(folder.path()), Err(FilesError::TooMany)));
        let absent = folder.path().join("absent");
        assert!(matches!(files(&absent), Err(FilesError::Unreadable { .. })));
    }
}

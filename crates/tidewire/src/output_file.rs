//! Output files: never one that is read, and in place only when they are whole.
//!
//! Two names may stand for one file (a hard link, a symbolic link, `./x` for `x`), so files are compared
//! by device and inode. A file that is made from captures or from a simulation is written under a
//! temporary name in its folder and renamed at its end: an older file of that name stays as it is until
//! then, and so does every other name that it has. A file that is followed while it grows, as one of
//! events or of a live port, is written in place.

use crate::exit::Failure;
use crate::interrupt;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Identity of a file, whatever its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// That of the file with this name; none where there is no such file, or none that keeps what is
    /// written.
    fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        about.is_file().then(|| Self { device: about.dev(), inode: about.ino() })
    }
}

/// Files that a command reads.
#[derive(Clone, Default, Debug)]
pub(crate) struct Inputs(Vec<Identity>);

impl Inputs {
    /// The files with these names; `-` is standard input.
    pub(crate) fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let named = |path: P| Identity::of(standard(path.as_ref(), "/dev/stdin"));
        Self(paths.into_iter().filter_map(named).collect())
    }

    /// True if the file with this name is one of them; `-` is standard output.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let identity = Identity::of(standard(path, "/dev/stdout"));
        identity.is_some_and(|identity| self.0.contains(&identity))
    }

    /// Refuses to write to a file that is read.
    ///
    /// # Errors
    /// A usage error that names the option.
    pub(crate) fn refuse(&self, option: &str, path: &Path) -> Result<(), Failure> {
        if !self.has(path) {
            return Ok(());
        }
        let message =
            format!("{option} {}: this file is also read and would be lost", path.display());
        Err(Failure::usage(message).with_fix(format!("{option} ANOTHER-FILE")))
    }
}

/// Refuses outputs of a command that are one file, whatever names they have.
///
/// # Errors
/// A usage error that names both options.
pub(crate) fn refuse_same<'a>(
    outputs: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
) -> Result<(), Failure> {
    let mut seen: Vec<(&str, Place)> = Vec::new();
    for (option, path) in outputs {
        let Some((path, place)) = path.and_then(|path| Some((path, Place::of(path)?))) else {
            continue;
        };
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == place) {
            let message = format!("{other} and {option} both write {}", path.display());
            return Err(Failure::usage(message).with_fix("a file for each"));
        }
        seen.push((option, place));
    }
    Ok(())
}

/// Destination of an output.
#[derive(PartialEq, Eq, Debug)]
enum Place {
    /// To a file that is there.
    File(Identity),
    /// To one that is not there yet, under its name without symbolic links.
    New(PathBuf),
}

impl Place {
    /// The place of the output with this name, `-` being standard output; none of a pipe or a device, which may be
    /// written to twice.
    fn of(path: &Path) -> Option<Self> {
        let path = standard(path, "/dev/stdout");
        if let Ok(about) = fs::metadata(path) {
            return about.is_file().then(|| Identity::of(path).map(Self::File)).flatten();
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(Self::New(folder.join(path.file_name()?)))
    }
}

fn standard<'a>(path: &'a Path, stream: &'static str) -> &'a Path {
    if path.as_os_str() == "-" { Path::new(stream) } else { path }
}

/// Time at which a file appears under its name.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Placing {
    /// At its end, in place of an older one.
    #[default]
    AtTheEnd,
    /// At once: it is followed while it grows.
    AtOnce,
}

impl Placing {
    /// Placing of outputs of a command on a live port, or on captures.
    pub(crate) const fn of_source(is_live: bool) -> Self {
        if is_live { Self::AtOnce } else { Self::AtTheEnd }
    }
}

/// A file that is open for writing.
#[derive(Debug)]
pub(crate) struct Created {
    /// The file.
    pub(crate) file: File,
    /// Renames it when it is dropped; to be kept as long as the file is written.
    pub(crate) pending: Pending,
}

/// A file's name until the file is whole.
#[derive(Debug)]
pub(crate) struct Pending(Option<Names>);

#[derive(Debug)]
struct Names {
    temporary: PathBuf,
    path: PathBuf,
}

impl Pending {
    /// Removes the file: an older one of its name stays as it is.
    pub(crate) fn discard(mut self) {
        self.remove();
    }

    fn remove(&mut self) {
        if let Some(Names { temporary, .. }) = self.0.take() {
            fs::remove_file(temporary).ok();
        }
    }
}

impl Drop for Pending {
    /// Gives the file its name. What ended early is kept as far as it goes.
    fn drop(&mut self) {
        if let Some(Names { temporary, path }) = self.0.take() {
            // Where that fails the file stays under its temporary name.
            fs::rename(temporary, path).ok();
        }
    }
}

/// Opens a file for writing, from its beginning. A pipe or a device is opened under its own name.
///
/// # Errors
/// Those of the system.
pub(crate) fn create(path: &Path, placing: Placing) -> io::Result<Created> {
    let about = fs::metadata(path);
    let is_special = about.as_ref().is_ok_and(|about| !about.is_file());
    if is_special || placing == Placing::AtOnce {
        return Ok(Created { file: interrupt::create(path)?, pending: Pending(None) });
    }
    // A symbolic link stays one.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let temporary = temporary(&path)?;
    let file = File::create_new(&temporary)?;
    if let Ok(about) = about {
        file.set_permissions(about.permissions()).ok();
    }
    Ok(Created { file, pending: Pending(Some(Names { temporary, path })) })
}

/// A name in the same folder: `.seen.pcapng.1234.part`.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::IsADirectory.into()) };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    let temporary = path.with_file_name(hidden);
    // Left over from a process that was killed and had this number.
    fs::remove_file(&temporary).ok();
    Ok(temporary)
}

/// Writes a whole file.
///
/// # Errors
/// Those of the system; an older file stays then.
pub(crate) fn write(path: &Path, octets: &[u8]) -> io::Result<()> {
    use io::Write as _;
    let Created { mut file, mut pending } = create(path, Placing::AtTheEnd)?;
    let written = file.write_all(octets);
    if written.is_err() {
        pending.remove();
    }
    written
}

/// Writes a whole file under a name that nothing has yet.
///
/// # Errors
/// Those of the system; `AlreadyExists` where there is such a file, which stays as it is.
pub(crate) fn write_new(path: &Path, octets: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let temporary = temporary(path)?;
    let made = fs::write(&temporary, octets).and_then(|()| place_new(&temporary, path, octets));
    fs::remove_file(&temporary).ok();
    made
}

/// Gives a file a second name, or makes it anew where files have one name only.
fn place_new(temporary: &Path, path: &Path, octets: &[u8]) -> io::Result<()> {
    use io::Write as _;
    match fs::hard_link(temporary, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            File::create_new(path)?.write_all(octets)
        }
        placed => placed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_file_is_the_same_under_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [file, hard, soft, other] =
            ["a.pcap", "b.pcap", "c.pcap", "d.pcap"].map(|name| folder.path().join(name));
        fs::write(&file, "frames").unwrap();
        fs::hard_link(&file, &hard).unwrap();
        std::os::unix::fs::symlink(&file, &soft).unwrap();
        fs::write(&other, "frames").unwrap();
        let inputs = Inputs::of([&file]);
        for name in [&file, &hard, &soft, &folder.path().join("./a.pcap")] {
            assert!(inputs.refuse("-w", name).is_err(), "{}", name.display());
        }
        assert!(inputs.refuse("-w", &other).is_ok());
        assert!(inputs.refuse("-w", &folder.path().join("none")).is_ok());
    }

    #[test]
    fn two_outputs_are_one_file_under_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("soft")).unwrap();
        let refused = |one: &Path, other: &Path| {
            refuse_same([("--log", Some(one)), ("--capture", Some(other))]).is_err()
        };
        for name in ["a", "hard", "soft", "./a"] {
            assert!(refused(&at("a"), &at(name)), "{name}");
        }
        assert!(refused(&at("new"), &at("./new")));
        assert!(!refused(&at("new"), &at("other")) && !refused(&at("a"), &at("new")));
        let null = Path::new("/dev/null");
        assert!(!refused(null, null), "a device may be written to twice");
        assert!(refuse_same([("--log", None), ("--capture", Some(null))]).is_ok());
    }

    #[test]
    fn an_older_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["out", "link"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::hard_link(&path, &link).unwrap();
        let Created { mut file, pending } = create(&path, Placing::AtTheEnd).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(pending);
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&link).unwrap()),
            (b"new".into(), b"old".into())
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing temporary stays");
    }
}

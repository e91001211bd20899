//! Clean roots: folders that a program sees as the whole file system.

use super::CAPTURE;
use crate::dist::Release;
use crate::output;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder that programs run in, as the whole file system.
pub(super) struct Root<'a> {
    folder: &'a Path,
    /// Another user, if any.
    user: Option<User>,
    /// True if `proc` is mounted, by which a program finds its own file.
    has_proc: bool,
    /// True if programs run in [`EMULATOR`].
    is_emulated: bool,
}

/// Emulator of another processor, within a root.
const EMULATOR: &str = "/emulator";

/// User and group by their numbers.
#[derive(Clone, Copy)]
struct User {
    user: u32,
    group: u32,
}

/// Makes an empty folder in place of what is there.
pub(super) fn fresh(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|it| format!("{}: {it}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|it| format!("{}: {it}", folder.display()))
}

impl<'a> Root<'a> {
    /// A folder with a capture to try programs on, and an empty one for files that they write.
    pub(super) fn of(folder: &'a Path, release: &Release) -> Result<Self, String> {
        let made = fs::copy(release.root.join(CAPTURE), folder.join("capture.pcapng"))
            .and_then(|_| fs::create_dir_all(folder.join("tmp")));
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { folder, user: None, has_proc: false, is_emulated: false })
    }

    /// The same folder, where programs run in a static emulator, which is copied into it.
    pub(super) fn emulated(self, emulator: &Path) -> Result<Self, String> {
        let to = self.folder.join(EMULATOR.trim_start_matches('/'));
        fs::copy(emulator, &to).map_err(|error| format!("{}: {error}", to.display()))?;
        Ok(Self { is_emulated: true, ..self })
    }

    /// The same folder for another user and group.
    pub(super) fn by(&self, user: u32, group: u32) -> Self {
        Self { user: Some(User { user, group }), ..*self }
    }

    /// The same folder with `proc`, as on a running system.
    pub(super) fn with_proc(self) -> Result<Self, String> {
        let made = fs::create_dir_all(self.folder.join("proc"));
        made.map_err(|error| format!("{}: {error}", self.folder.display()))?;
        Ok(Self { has_proc: true, ..self })
    }

    /// Standard output of a program in the root, which has to succeed.
    pub(super) fn run(&self, words: &[&str]) -> Result<String, String> {
        output(&mut self.command(words)).map_err(|why| format!("{}: {why}", words.join(" ")))
    }

    /// Reason why a program in the root fails, which has to.
    pub(super) fn refused(&self, words: &[&str]) -> Result<String, String> {
        match output(&mut self.command(words)) {
            Ok(_) => Err(format!("{}: not refused", words.join(" "))),
            Err(why) => Ok(why),
        }
    }

    /// A name space for mounts and one for processes, so that nothing of the run stays.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        if !is_root() {
            command.arg("--map-root-user");
        }
        if self.has_proc {
            command.arg(format!("--mount-proc={}", self.folder.join("proc").display()));
        }
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.arg("--").arg("chroot");
        if let Some(User { user, group }) = self.user {
            command.arg(format!("--userspec={user}:{group}")).arg("--groups=");
        }
        command.arg(self.folder).args(self.is_emulated.then_some(EMULATOR));
        command.args(words);
        command
    }
}

/// True if this process is that of the superuser.
pub(super) fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

/// Folders that many systems keep below `usr`.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Copies programs of this machine into a root, each with its libraries.
pub(super) fn borrow(names: &[&str], folder: &Path) -> Result<(), String> {
    for name in MERGED {
        let is_merged = Path::new("/").join(name).is_symlink();
        let of_usr = folder.join("usr").join(name);
        let made = fs::create_dir_all(&of_usr).and_then(|()| {
            if is_merged { symlink(format!("usr/{name}"), folder.join(name)) } else { Ok(()) }
        });
        made.map_err(|error| format!("{}: {error}", of_usr.display()))?;
    }
    let search = "for name; do command -v \"$name\"; done";
    let found = output(Command::new("sh").args(["-c", search, "sh"]).args(names))?;
    let mut files: Vec<PathBuf> = found.lines().map(PathBuf::from).collect();
    if files.len() < names.len() {
        return Err(format!("not all of {} are here", names.join(", ")));
    }
    for line in output(Command::new("ldd").args(&files))?.lines() {
        let words = line.split_whitespace();
        files.extend(
            words.filter(|word| word.starts_with('/') && !word.ends_with(':')).map(PathBuf::from),
        );
    }
    for file in files {
        let to = folder.join(file.strip_prefix("/").unwrap_or(&file));
        let parent = to.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::copy(&file, &to).map(drop))
            .map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

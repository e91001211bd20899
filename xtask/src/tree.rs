//! Files of the workspace as the rules see them: paths with `/`, and texts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Every file that belongs to the project, by its path below the top folder.
#[derive(Default)]
pub(crate) struct Tree {
    /// Texts by path; a file that is not UTF-8 has an empty text.
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the files below `root`, except `.git` and those named by the `/`-lines of
    /// `.gitignore`.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let mut skipped: Vec<&str> = ignored.lines().filter_map(|l| l.strip_prefix('/')).collect();
        skipped.push(".git");
        let mut tree = Self::default();
        tree.read_folder(root, "", &skipped)?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str, skipped: &[&str]) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if skipped.contains(&path.as_str()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                self.read_folder(&entry.path(), &format!("{path}/"), skipped)?;
            } else {
                let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// Creates a made-up tree, for tests of rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { files: files.collect() }
    }

    /// All files, in the order of their paths.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Files whose paths start with `start` and end with `end`.
    pub(crate) fn between<'a>(
        &'a self,
        start: &'a str,
        end: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.starts_with(start) && path.ends_with(end))
    }

    /// Text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns whether the path is a file, or a folder with files in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(p, _)| p.starts_with(&folder))
    }

    /// Names of the crates: the folders of `crates/` that have a manifest.
    pub(crate) fn crates(&self) -> Vec<&str> {
        self.between("crates/", "/Cargo.toml")
            .filter_map(|(path, _)| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
            .filter(|name| !name.contains('/'))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_the_folders_with_a_manifest() {
        let tree = Tree::of(&[
            ("crates/wire/Cargo.toml", ""),
            ("crates/wire/src/lib.rs", ""),
            ("crates/notes/read.md", ""),
        ]);
        assert_eq!(tree.crates(), ["wire"]);
        assert!(tree.has("crates/wire/src") && tree.has("crates/notes/read.md"));
        assert!(!tree.has("crates/wi"), "half a name is no folder");
    }
}

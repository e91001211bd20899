//! Packages with files that differ from the last commit.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Changed packages; every package if git fails.
pub(super) fn packages(root: &Path) -> Vec<String> {
    let mut ask = Command::new("git");
    ask.current_dir(root).args(["status", "--porcelain", "--untracked-files=all"]);
    let told = ask.output().ok().filter(|told| told.status.success());
    let names = told.map(|told| of(&String::from_utf8_lossy(&told.stdout)));
    let folders = names.unwrap_or_else(|| everything(root));
    folders.iter().map(|name| package(name)).collect()
}

/// Folders below `crates/`, and `xtask`, named in the lines of `git status --porcelain`.
fn of(status: &str) -> BTreeSet<String> {
    let paths = status.lines().filter_map(|line| line.get(3..));
    let both_names = paths.flat_map(|path| path.split(" -> "));
    let folder = |path: &str| {
        let mut parts = path.split('/');
        match (parts.next()?, parts.next()?) {
            ("crates", name) => Some(name.to_owned()),
            ("xtask", _) => Some("xtask".to_owned()),
            _ => None,
        }
    };
    both_names.filter_map(folder).collect()
}

fn everything(root: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.chain(std::iter::once("xtask".to_owned())).collect()
}

fn package(folder: &str) -> String {
    match folder {
        "tidewire" | "xtask" => folder.to_owned(),
        _ => format!("tidewire-{folder}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_new_and_renamed_files_name_their_crates() {
        let status = " M crates/wire/src/lib.rs\n?? xtask/src/new.rs\n M README.md\n\
                      R  crates/sim/src/a.rs -> crates/stack/src/a.rs\n";
        assert_eq!(Vec::from_iter(of(status)), ["sim", "stack", "wire", "xtask"]);
        assert_eq!(package("wire"), "tidewire-wire");
        assert_eq!(package("tidewire"), "tidewire");
    }
}

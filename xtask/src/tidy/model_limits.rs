//! Models state their limits: media and faults open with `Not modelled:`, measures with `Bias:`.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "confession", check };

/// Folders, and the words that each file in them, except the list in `mod.rs`, must contain.
const OWED: [(&str, &str); 3] = [
    ("crates/sim/src/medium", "Not modelled:"),
    ("crates/stack/src/fault", "Not modelled:"),
    ("crates/meter/src/measure", "Bias:"),
];

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (folder, words) in OWED {
        for (path, text) in tree.between(folder, ".rs").filter(|(path, _)| owes(folder, path)) {
            if !header(text).any(|line| line.contains(words)) {
                finds.push(format!("{path}: its header lacks `{words}`"));
            }
        }
    }
    finds
}

/// Returns whether the file at `path` is a model: `folder.rs`, `folder/X.rs` or `folder/X/mod.rs`.
fn owes(folder: &str, path: &str) -> bool {
    let Some(rest) = path.strip_prefix(folder) else { return false };
    let parts: Vec<&str> = rest.split('/').collect();
    match parts.as_slice() {
        [".rs"] | ["", _, "mod.rs"] => true,
        ["", file] => !matches!(*file, "mod.rs" | "tests.rs"),
        _ => false,
    }
}

/// Lines of a file's own documentation.
fn header(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_silent_medium_is_found_wherever_it_lies() {
        check(
            &RULE,
            &[
                ("crates/sim/src/medium/bus.rs", "//! A bus.\n\nfn f() {} // Not modelled: x\n"),
                ("crates/sim/src/medium/ideal.rs", "//! A wire.\n//! Not modelled: noise.\n"),
                ("crates/sim/src/medium/mod.rs", "//! The list.\n"),
                ("crates/sim/src/medium/ring/mod.rs", "//! A ring.\n"),
                ("crates/sim/src/medium/ring/token.rs", "//! Its token.\n"),
            ],
            &[
                "crates/sim/src/medium/bus.rs: its header lacks `Not modelled:`",
                "crates/sim/src/medium/ring/mod.rs: its header lacks `Not modelled:`",
            ],
        );
    }

    #[test]
    fn faults_and_measures_owe_theirs_too() {
        check(
            &RULE,
            &[
                ("crates/meter/src/measure/volume.rs", "//! Counts.\n"),
                ("crates/meter/src/measure/window.rs", "//! Window. Bias: none known.\n"),
                ("crates/stack/src/fault.rs", "//! Faults.\n"),
            ],
            &[
                "crates/stack/src/fault.rs: its header lacks `Not modelled:`",
                "crates/meter/src/measure/volume.rs: its header lacks `Bias:`",
            ],
        );
    }
}

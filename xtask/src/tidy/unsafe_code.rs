//! Every crate but `cpu`, `live`, `tap` and `capi` forbids unsafe code itself: the workspace's
//! lint only denies it.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "unsafe_code", check };

/// Crates that permit it, file by file.
const EXEMPT: [&str; 4] = ["capi", "cpu", "live", "tap"];
const WORDS: &str = "#![forbid(unsafe_code)]";

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for name in tree.crates().into_iter().filter(|name| !EXEMPT.contains(name)) {
        let tops = ["lib.rs", "main.rs"].map(|file| format!("crates/{name}/src/{file}"));
        for top in tops {
            let Some(text) = tree.text(&top) else { continue };
            if !text.lines().any(|line| line == WORDS) {
                finds.push(format!("{top}: lacks {WORDS}"));
            }
        }
    }
    finds
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        let says = format!("//! A crate.\n{WORDS}\n");
        check(
            &RULE,
            &[
                ("crates/capi/Cargo.toml", ""),
                ("crates/capi/src/lib.rs", "//! For C.\n"),
                ("crates/live/Cargo.toml", ""),
                ("crates/live/src/lib.rs", "//! Ports.\n"),
                ("crates/sim/Cargo.toml", ""),
                ("crates/sim/src/lib.rs", "//! Media.\n"),
                ("crates/stats/Cargo.toml", ""),
                ("crates/stats/src/lib.rs", &says),
                ("crates/cpu/Cargo.toml", ""),
                ("crates/cpu/src/lib.rs", "//! Instructions.\n"),
            ],
            &["crates/sim/src/lib.rs: lacks #![forbid(unsafe_code)]"],
        );
    }
}

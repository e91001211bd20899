//! The project speaks of itself alone: not of the machine it is written on, nor of where its
//! dependencies happen to be fetched from.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "alone", check };

/// What may not stand in a file, put together here so that this file does not contain it.
const WORDS: [&str; 9] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/", "target"),
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".org"),
    concat!("proxy.", "golang"),
];

/// Cargo writes into its lock files where packages come from.
const EXEMPT: &str = "Cargo.lock";

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| !path.ends_with(EXEMPT)) {
        for (number, line) in text.lines().enumerate() {
            let said = WORDS.iter().filter(|word| line.contains(**word));
            finds.extend(said.map(|word| format!("{path}:{}: says {word}", number + 1)));
        }
    }
    finds
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_path_of_somebodys_machine_is_found() {
        for word in WORDS {
            let text = format!("first\nsee {word}x\n");
            check(
                &RULE,
                &[("README.md", &text), ("fuzz/Cargo.lock", &text)],
                &[&format!("README.md:2: says {word}")],
            );
        }
    }
}

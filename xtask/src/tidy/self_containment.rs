//! The project mentions neither the machine it is written on nor the source of its downloaded
//! dependencies.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "alone", check };

/// Forbidden text, assembled here so that this file does not contain it.
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

/// Cargo writes the origin of packages into its lock files.
const EXEMPT: &str = "Cargo.lock";

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| !path.ends_with(EXEMPT)) {
        for (number, line) in text.lines().enumerate() {
            let said = WORDS.iter().filter(|word| line.contains(**word));
            finds.extend(said.map(|word| format!("{path}:{}: contains {word}", number + 1)));
        }
    }
    finds
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_path_of_a_developers_machine_is_found() {
        for word in WORDS {
            let text = format!("first\nsee {word}x\n");
            check(
                &RULE,
                &[("README.md", &text), ("fuzz/Cargo.lock", &text)],
                &[&format!("README.md:2: contains {word}")],
            );
        }
    }
}

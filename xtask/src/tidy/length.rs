//! A file has at most 600 lines. Clippy counts the lines of functions.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "length", check };

const LIMIT: usize = 600;

fn check(tree: &Tree) -> Vec<String> {
    let lengths = tree.between("", ".rs").map(|(path, text)| (path, text.lines().count()));
    lengths
        .filter(|(_, lines)| *lines > LIMIT)
        .map(|(path, lines)| format!("{path}: {lines} lines, more than {LIMIT}; split by meaning"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_file_of_601_lines_is_too_long() {
        let long = "\n".repeat(601);
        let just = "\n".repeat(600);
        check(
            &RULE,
            &[("a.rs", &long), ("b.rs", &just), ("c.txt", &long)],
            &["a.rs: 601 lines, more than 600; split by meaning"],
        );
    }
}

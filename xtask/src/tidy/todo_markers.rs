//! Nothing is left half done: no reminders, no ignored tests, no templates still to be filled in.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "leftovers", check };

/// Forbidden text, assembled here so that this file does not contain it.
const WORDS: [(&str, &[&str]); 8] = [
    (concat!("TO", "DO"), &[".rs", ".md", ".toml"]),
    (concat!("FIX", "ME"), &[".rs", ".md", ".toml"]),
    (concat!("XX", "X"), &[".rs", ".md", ".toml"]),
    (concat!("todo", "!"), &[".rs"]),
    (concat!("unimplemented", "!"), &[".rs"]),
    (concat!("#[ig", "nore"), &[".rs"]),
    (concat!("[al", "low("), &[".rs"]),
    (concat!("fill", " in:"), &[".rs", ".md", ".toml"]),
];

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (path, text) in tree.files() {
        for (number, line) in text.lines().enumerate() {
            for (word, endings) in WORDS {
                if endings.iter().any(|ending| path.ends_with(ending)) && stands_in(word, line) {
                    finds.push(format!("{path}:{}: {word}", number + 1));
                }
            }
        }
    }
    finds
}

/// Returns whether `word` occurs in `line` as a whole word, not as part of a longer one.
fn stands_in(word: &str, line: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let starts_word = word.starts_with(is_letter);
    let ends_word = word.ends_with(is_letter);
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).is_some_and(|l| l.ends_with(is_letter));
        let after = line.get(at + word.len()..).is_some_and(|l| l.starts_with(is_letter));
        !(starts_word && before || ends_word && after)
    })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn every_word_is_found_where_it_may_not_stand() {
        for (word, _) in WORDS {
            let text = format!("fn a() {{}}\n    // {word} later\n");
            check(&RULE, &[("a.rs", &text), ("a.bin", &text)], &[&format!("a.rs:2: {word}")]);
        }
    }

    #[test]
    fn a_part_of_a_longer_word_is_no_find() {
        let text = format!("{}ED and m{0}", concat!("FIX", "ME"));
        check(&RULE, &[("a.rs", &text)], &[]);
    }
}

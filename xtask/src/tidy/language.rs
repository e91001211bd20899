//! The language of sources and documents: doc comments begin with a noun or a verb, words of the private dialect do not
//! occur, and test names are short enough to read.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "language", check };

/// Letters of a test's name.
const LONGEST_NAME: usize = 60;

/// Words that begin no doc comment.
const QUESTIONS: [&str; 10] =
    ["What ", "How ", "Whether ", "When ", "Where ", "Which ", "Who ", "Whom ", "Whose ", "Why "];
/// Words of the private dialect; here in two parts each, so that this file has none.
const DIALECT: [[&str; 2]; 7] = [
    ["who", "ever"],
    ["no", "body"],
    ["some", "body"],
    ["so ", "many"],
    ["is ", "told"],
    ["are ", "told"],
    ["be", "side"],
];

/// Lines whose doc comment begins with a question word. Lines that continue a sentence do not count.
fn questions(path: &str, text: &str) -> Vec<String> {
    let mut finds = Vec::new();
    let mut is_first = true;
    for (line, place) in text.lines().map(str::trim_start).zip(1..) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(words) = doc.map(str::trim_start)
            && is_first
            && let Some(word) = QUESTIONS.iter().find(|question| words.starts_with(**question))
        {
            finds.push(format!("{path}:{place}: a doc comment begins with {}", word.trim_end()));
        }
        is_first = doc.is_none();
    }
    finds
}

/// Lines with a word of the private dialect.
fn dialect(path: &str, text: &str) -> Vec<String> {
    let words = DIALECT.map(|parts| parts.concat());
    let mut finds = Vec::new();
    for (line, place) in text.lines().zip(1..) {
        let line = line.to_lowercase();
        for word in words.iter().filter(|word| has_word(&line, word)) {
            finds.push(format!("{path}:{place}: \"{word}\""));
        }
    }
    finds
}

/// True if a word occurs that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

fn long_names(path: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ")
            && core::mem::take(&mut is_test)
        {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if name.len() > LONGEST_NAME {
                names.push(format!("{path}: {name}: {} letters", name.len()));
            }
        }
    }
    names
}

fn check(tree: &Tree) -> Vec<String> {
    let sources = || tree.between("", ".rs");
    let questions = sources().flat_map(|(path, text)| questions(path, text));
    let names = sources().flat_map(|(path, text)| long_names(path, text));
    let documents = tree.between("", ".md");
    let dialect = sources().chain(documents).flat_map(|(path, text)| dialect(path, text));
    questions.chain(names).chain(dialect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Vec<String> {
        check(&Tree::of(&[("a.rs", source)]))
    }

    #[test]
    fn a_doc_comment_counts_by_its_first_line_alone() {
        let source =
            "/// What it is.\n/// When it was.\nfn a() {}\n//! How much.\n//! How.\n// Why not.\n";
        let begins = |place, word| format!("a.rs:{place}: a doc comment begins with {word}");
        assert_eq!(of(source), [begins(1, "What"), begins(4, "How")]);
    }

    #[test]
    fn dialect_counts_in_whole_words_of_either_case() {
        let [first, second] = DIALECT[6];
        let source = format!("// {first}{second}s\n// B{}{second}\n", &first[1..]);
        assert_eq!(of(&source), [format!("a.rs:2: \"{first}{second}\"")]);
    }

    #[test]
    fn a_test_name_of_61_letters_is_too_long() {
        let name = |length: usize| format!("#[test]\nfn {}() {{}}\n", "a".repeat(length));
        assert_eq!(of(&name(61)), [format!("a.rs: {}: 61 letters", "a".repeat(61))]);
        assert_eq!(of(&name(60)), Vec::<String>::new());
        assert_eq!(of(&name(61).replace("#[test]\n", "")), Vec::<String>::new());
    }
}

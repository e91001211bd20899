//! The language of sources and documents: doc comments begin with a noun or a verb, words of the private dialect are
//! rare, and test names are short enough to read.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "language", check };

/// Doc comments that may begin with a question word.
const MOST_QUESTIONS: usize = 300;
/// Words of the private dialect that sources and documents may have.
const MOST_DIALECT: usize = 150;
/// Letters of a test's name.
const LONGEST_NAME: usize = 60;

/// Words that begin no doc comment.
const QUESTIONS: [&str; 8] =
    ["What ", "How ", "Whether ", "When ", "Where ", "Which ", "Who ", "Why "];
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

/// Numbers of this rule in a tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Language {
    /// Doc comments that begin with a question word.
    pub(super) questions: usize,
    /// Words of the private dialect.
    pub(super) dialect: usize,
    /// Test names that are too long, with their files.
    pub(super) long_names: Vec<String>,
}

/// Counts in all sources and documents.
pub(super) fn measure(tree: &Tree) -> Language {
    let sources = || tree.between("", ".rs");
    let questions = sources().map(|(_, text)| questions(text)).sum();
    let documents = tree.between("", ".md");
    let dialect = sources().chain(documents).map(|(_, text)| dialect(text)).sum();
    let long_names = sources().flat_map(|(path, text)| long_names(path, text)).collect();
    Language { questions, dialect, long_names }
}

/// Doc comments that begin with a question word. Lines that continue a sentence do not count.
fn questions(text: &str) -> usize {
    let mut count = 0;
    let mut is_first = true;
    for line in text.lines().map(str::trim_start) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(words) = doc {
            let words = words.trim_start();
            let is_question = QUESTIONS.iter().any(|question| words.starts_with(question));
            count += usize::from(is_first && is_question);
        }
        is_first = doc.is_none();
    }
    count
}

fn dialect(text: &str) -> usize {
    let text = text.to_lowercase();
    let words = DIALECT.map(|parts| parts.concat());
    words.iter().map(|word| whole_words(&text, word)).sum()
}

/// Occurrences of a word that is no part of a longer one.
fn whole_words(text: &str, word: &str) -> usize {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(word).filter(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    });
    found.count()
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
    let Language { questions, dialect, long_names } = measure(tree);
    let over = |count: usize, most: usize, what: &str| {
        (count > most).then(|| format!("{count} {what}, more than {most}"))
    };
    let mut finds: Vec<String> = long_names;
    finds.extend(over(questions, MOST_QUESTIONS, "doc comments begin with a question word"));
    finds.extend(over(dialect, MOST_DIALECT, "words of the private dialect"));
    finds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Language {
        measure(&Tree::of(&[("a.rs", source)]))
    }

    #[test]
    fn a_doc_comment_counts_by_its_first_line_alone() {
        let source =
            "/// What it is.\n/// When it was.\nfn a() {}\n//! How much.\n//! How.\n// Why not.\n";
        assert_eq!(of(source).questions, 2);
    }

    #[test]
    fn dialect_counts_in_whole_words_of_either_case() {
        let [first, second] = DIALECT[6];
        let source = format!("// {first}{second} {first}{second}s B{}{second}\n", &first[1..]);
        assert_eq!(of(&source).dialect, 2);
    }

    #[test]
    fn a_test_name_of_61_letters_is_too_long() {
        let name = |length: usize| format!("#[test]\nfn {}() {{}}\n", "a".repeat(length));
        assert_eq!(of(&name(61)).long_names, [format!("a.rs: {}: 61 letters", "a".repeat(61))]);
        assert_eq!(of(&name(60)).long_names, Vec::<String>::new());
        assert_eq!(of(&name(61).replace("#[test]\n", "")).long_names, Vec::<String>::new());
    }
}

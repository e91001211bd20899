//! `docs/glossary.md` is made from `tidewire help glossary`.

use crate::examples::root;
use crate::{check_code, run, stdout};
use std::fmt::Write as _;
use std::{env, fs};

/// Columns of the topic at which terms and their texts begin.
const TERM: usize = 4;
const TEXT: usize = 20;
/// The note on where the page comes from.
const SOURCE: &str = "`tidewire help glossary` prints these terms; this page is made from it.";

#[test]
fn the_glossary_in_docs_has_the_terms_of_the_help_topic() {
    let output = run(&["help", "glossary"]);
    check_code(&output, 0);
    let made = page(&stdout(&output));
    let path = root().join("docs/glossary.md");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "docs/glossary.md differs from the topic: BLESS=1 rewrites it\n{made}");
}

#[test]
fn terms_headings_and_long_texts_become_markdown() {
    let blank = " ".repeat(TEXT);
    let topic = [
        "# glossary\n\nTerms.\n\nOn the wire\n",
        "    AK              First half",
        &format!("{blank}second half."),
        "    confidence interval",
        &format!("{blank}A range."),
    ];
    let expected = [
        &format!("# Glossary\n\nTerms.\n\n{SOURCE}\n\n## On the wire\n"),
        "- **AK**: First half second half.",
        "- **confidence interval**: A range.\n",
    ];
    assert_eq!(page(&topic.join("\n")), expected.join("\n"));
}

/// The topic as Markdown: its opening paragraph, and below each heading a list of terms.
fn page(topic: &str) -> String {
    let mut made = String::from("# Glossary\n");
    let mut is_opening = true;
    for block in topic.trim_end().split("\n\n").skip(1) {
        let is_list = block.starts_with(' ');
        match (is_list, is_opening) {
            (false, true) => writeln!(made, "\n{block}\n\n{SOURCE}").unwrap(),
            (false, false) => writeln!(made, "\n## {block}").unwrap(),
            (true, _) => list(block, &mut made),
        }
        is_opening = false;
    }
    made
}

/// A list of terms. A term that reaches into the column of texts stands alone on its line.
fn list(block: &str, made: &mut String) {
    for line in block.lines() {
        let is_whole = line.as_bytes().get(TEXT - 1).is_some_and(|octet| *octet != b' ');
        let (term, text) = line.split_at(if is_whole { line.len() } else { line.len().min(TEXT) });
        match term.trim() {
            "" => {}
            name => {
                assert_eq!(line.find(name), Some(TERM), "{line}");
                write!(made, "\n- **{name}**:").unwrap();
            }
        }
        if !text.is_empty() {
            write!(made, " {}", text.trim()).unwrap();
        }
    }
    made.push('\n');
}

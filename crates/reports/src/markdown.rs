//! A report as Markdown, for pull requests and wikis.
//!
//! Text of a run cannot become markup: marks of Markdown and HTML are escaped, and so are the characters that make
//! mentions, issue numbers and links on GitHub.

use crate::document::{Document, Fact, Table};
use crate::html::parts::{validity, word};
use core::fmt::Write as _;

/// Rows of a table.
const MOST_ROWS: usize = 40;

/// The report as Markdown.
#[must_use]
pub fn markdown(document: &Document) -> String {
    let Document { kind, title, verdict, about, .. } = document;
    let mut text = format!("# {}: {}\n\n", escaped(verdict.word.as_str()), escaped(title.as_str()));
    line(&mut text, &format!("**{}** {}", kind.name(), escaped(verdict.reason.as_str())));
    let numbers = document.numbers.iter().map(|it| {
        let cells = [&it.name, &it.value, &it.spread, &it.count];
        cells.map(|cell| escaped(cell.as_str())).to_vec()
    });
    table(&mut text, &["deciding number", "value", "spread", "count"], numbers);
    if !document.next.is_empty() {
        line(&mut text, "What to try next:");
        let steps = document.next.iter().map(|step| format!("- {}", escaped(step.as_str())));
        line(&mut text, &steps.collect::<Vec<_>>().join("\n"));
    }
    line(&mut text, &escaped(about.as_str()));
    acceptance(&mut text, document);
    section(&mut text, &format!("{} and evidence", kind.claims()));
    let requirements = document.requirements.iter().map(|it| {
        let cells = [&it.text, &it.of, &it.found, &it.interval, &it.verdict];
        cells.map(|cell| escaped(cell.as_str())).to_vec()
    });
    if document.requirements.is_empty() {
        line(&mut text, "None.");
    }
    table(&mut text, &["requirement", "of", "found", "interval", "result"], requirements);
    if !document.findings.is_empty() {
        section(&mut text, "Findings");
        let findings = document.findings.iter().map(|it| {
            let cells = [it.text.as_str(), it.evidence.as_str()].map(escaped);
            [word(it.grade).to_owned()].into_iter().chain(cells).collect()
        });
        table(&mut text, &["grade", "finding", "evidence"], findings);
    }
    if !document.tables.is_empty() {
        section(&mut text, "Results");
        document.tables.iter().for_each(|it| captioned(&mut text, it));
    }
    if !document.checks.is_empty() {
        section(&mut text, "Validity");
        let checks = document.checks.iter().map(|it| {
            vec![it.name.to_owned(), validity(it.grade).to_owned(), escaped(it.text.as_str())]
        });
        table(&mut text, &["check", "result", "reason"], checks);
    }
    if let Some(comparison) = &document.comparison {
        section(&mut text, "Comparison");
        line(&mut text, &escaped(comparison.about.as_str()));
        comparison.tables.iter().for_each(|it| captioned(&mut text, it));
    }
    commands(&mut text, &document.commands);
    facts(&mut text, "Provenance", &document.provenance);
    facts(&mut text, "Glossary", &document.glossary);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push_str("\n\n");
}

fn section(text: &mut String, title: &str) {
    line(text, &format!("## {title}"));
}

fn acceptance(text: &mut String, document: &Document) {
    let acceptance = &document.acceptance;
    let given = [("Tester", &acceptance.tester), ("Time of the test", &acceptance.tested_at)];
    for (name, value) in given {
        if let Some(value) = value {
            line(text, &format!("{name}: {}", escaped(value.as_str())));
        }
    }
}

fn facts(text: &mut String, title: &str, facts: &[Fact]) {
    if facts.is_empty() {
        return;
    }
    section(text, title);
    for Fact { name, value } in facts {
        let _ = writeln!(text, "- {}: {}", escaped(name.as_str()), escaped(value.as_str()));
    }
    text.push('\n');
}

/// Commands as they are typed: nothing is markup between fences that are longer than any in the command.
fn commands(text: &mut String, commands: &[Fact]) {
    if commands.is_empty() {
        return;
    }
    section(text, "Repeat it");
    for Fact { name, value } in commands {
        let value = value.as_str();
        let longest = value.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        line(text, &format!("{}:", escaped(name.as_str())));
        line(text, &format!("{fence}sh\n{value}\n{fence}"));
    }
}

fn captioned(text: &mut String, it: &Table) {
    line(text, &format!("**{}**", escaped(it.caption.as_str())));
    let heads: Vec<String> = it.heads.iter().map(|head| escaped(head.as_str())).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = it.rows.iter().take(MOST_ROWS);
    let rows = rows.map(|row| row.iter().map(|cell| escaped(cell.as_str())).collect());
    table(text, &heads, rows);
    let left_out = it.left_out + it.rows.len().saturating_sub(MOST_ROWS);
    if left_out > 0 {
        line(text, &format!("{left_out} more rows are left out."));
    }
    for note in &it.notes {
        line(text, &format!("Note: {}", escaped(note.as_str())));
    }
}

/// A table of escaped cells; nothing without rows.
fn table(text: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "| {} |", heads.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(heads.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text.push('\n');
}

/// Text in which no character is markup, a mention, an issue number or a link.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut symbols = text.chars().peekable();
    while let Some(symbol) = symbols.next() {
        match symbol {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '#' => escaped.push_str("&#35;"),
            // The colon of a web address.
            ':' if symbols.peek() == Some(&'/') => escaped.push_str("&#58;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '!' | '|' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(symbol);
            }
            symbol => escaped.push(symbol),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_cannot_mention_link_or_format() {
        assert_eq!(
            escaped("@team #12 http://x [a](b) | `c` <b>"),
            "&#64;team &#35;12 http&#58;//x \\[a\\](b) \\| \\`c\\` &lt;b&gt;"
        );
    }
}

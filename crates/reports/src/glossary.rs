//! Glossary of a report: the terms, measures and metrics that it uses.

use crate::document::{Document, Fact};
use meter::metric::METRICS;
use meter::registry::Measure;
use std::collections::BTreeMap;

/// Terms of a report.
const MOST_TERMS: usize = 24;

/// Terms with their definitions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Glossary {
    terms: BTreeMap<String, String>,
}

impl Glossary {
    /// Reads the topic `glossary`: a term in the fifth column, its definition from the 21st on, also in the lines that
    /// follow.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let (mut terms, mut last) = (BTreeMap::new(), None::<String>);
        for line in text.lines() {
            let Some(line) = line.strip_prefix("    ") else {
                last = None;
                continue;
            };
            let (term, definition) = match line.trim_start() {
                rest if rest.len() < line.len() => ("", rest),
                _ => line.split_once("  ").unwrap_or((line, "")),
            };
            if !term.is_empty() {
                last = Some(term.trim().to_owned());
            }
            if let Some(term) = &last {
                let known: &mut String = terms.entry(term.clone()).or_default();
                if !known.is_empty() {
                    known.push(' ');
                }
                known.push_str(definition.trim());
            }
        }
        Self { terms }
    }

    /// The definitions of the standing terms, and of the terms, measures and metrics in requirements, numbers and
    /// headings of a report.
    #[must_use]
    pub fn of_document(&self, document: &Document, standing: &[&str]) -> Vec<Fact> {
        let mut words = String::new();
        let mut add = |text: &str| {
            words.push_str(text);
            words.push(' ');
        };
        document.requirements.iter().for_each(|it| add(it.text.as_str()));
        document.numbers.iter().for_each(|it| add(it.name.as_str()));
        document.findings.iter().for_each(|it| add(it.text.as_str()));
        document.tables.iter().flat_map(|it| &it.heads).for_each(|it| add(it.as_str()));
        document.tables.iter().for_each(|it| add(it.caption.as_str()));
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let words: Vec<&str> = words.split(|c| !is_part(c)).filter(|it| !it.is_empty()).collect();
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        for (term, definition) in &self.terms {
            let is_used = |name: &str| words.iter().any(|word| is_same(word, name));
            if standing.contains(&term.as_str()) || term.split(", ").any(is_used) {
                found.insert(term.clone(), definition.clone());
            }
        }
        for word in &words {
            if let Some(metric) = METRICS.iter().find(|metric| metric.symbol == *word) {
                let source = metric.source();
                let text =
                    format!("{}, {} = {} ({source})", metric.name, metric.symbol, metric.formula);
                found.insert((*word).to_owned(), text);
            }
            if let Some(measure) = Measure::from_name(word) {
                found.insert((*word).to_owned(), measure.help().to_owned());
            }
        }
        found.into_iter().take(MOST_TERMS).map(|(term, text)| Fact::new(term, text)).collect()
    }
}

/// Returns true for a term and its plural; abbreviations keep their case.
fn is_same(word: &str, term: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let is_term = |word: &str| word == term || word.to_lowercase() == term;
    is_term(word) || is_term(singular) || word.strip_suffix("ed") == Some(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_has_the_lines_of_its_definition() {
        let text = "# glossary\n\nTransport\n\n    AK              Acknowledgement. It\n                    grants credit.\n    class 0         Plain.\n";
        let glossary = Glossary::read(text);
        assert_eq!(glossary.terms.get("AK").unwrap(), "Acknowledgement. It grants credit.");
        assert_eq!(glossary.terms.get("class 0").unwrap(), "Plain.");
        assert_eq!(glossary.terms.len(), 2);
    }
}

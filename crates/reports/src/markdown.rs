//! A report as Markdown.

use crate::Document;

/// The report as Markdown.
#[must_use]
pub fn markdown(document: &Document) -> String {
    document.title.to_string()
}

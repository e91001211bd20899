//! A report as annotations of GitHub's workflow commands.

use crate::Document;

/// The report as workflow commands.
#[must_use]
pub fn github(document: &Document) -> String {
    document.title.to_string()
}

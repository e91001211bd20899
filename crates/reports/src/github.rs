//! A report as annotations of GitHub's workflow commands: `::error title=...::message`.
//!
//! A failure is an error, an undecided or invalid result a warning, the rest a notice.

use crate::document::{Document, Grade};
use crate::text::joined;

/// Annotations of a report. GitHub shows ten of a kind in each step.
const MOST: usize = 30;

/// The report as workflow commands.
#[must_use]
pub fn github(document: &Document) -> String {
    let Document { kind, title, verdict, .. } = document;
    let message = format!("{title}. {}", verdict.reason);
    let head = command(verdict.grade, &format!("{}: {}", kind.name(), verdict.word), &message);
    let numbers = document.numbers.iter().map(|it| {
        command(Grade::Note, it.name.as_str(), &joined(&[&it.value, &it.spread, &it.count]))
    });
    let requirements = document.requirements.iter().filter(|it| it.grade > Grade::Note);
    let requirements = requirements.map(|it| {
        command(
            it.grade,
            it.text.as_str(),
            &joined(&[&it.of, &it.found, &it.interval, &it.verdict]),
        )
    });
    let findings = document.findings.iter().filter(|it| it.grade > Grade::Note);
    let findings = findings
        .map(|it| command(it.grade, "finding", format!("{} {}", it.text, it.evidence).trim_end()));
    let checks = document.checks.iter().filter(|it| it.grade > Grade::Note);
    let checks =
        checks.map(|it| command(it.grade, &format!("validity: {}", it.name), it.text.as_str()));
    let lines = [head].into_iter().chain(numbers).chain(requirements).chain(findings).chain(checks);
    lines.take(MOST).collect()
}

/// A line: the command, its title and its message, with their separators escaped.
fn command(grade: Grade, title: &str, message: &str) -> String {
    let kind = match grade {
        Grade::Fail => "error",
        Grade::Open => "warning",
        Grade::Pass | Grade::Note => "notice",
    };
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{kind} title={property}::{}\n", data(message))
}

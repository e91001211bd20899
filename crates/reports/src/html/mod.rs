//! A report as one HTML file without scripts and without requests, for a screen and for paper.

pub(crate) mod parts;

use crate::document::{Acceptance, Document, Fact, Grade, Illustration};
use crate::figure::Place;
use crate::text::Text;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use parts::{cell, is_long, number_cell, section, table, word};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Style sheet of every report.
const STYLE: &str = include_str!("style.css");
/// SHA-256 of [`STYLE`] in base 64, by which the policy of the page admits it; a test compares them.
const STYLE_HASH: &str = "2bZkoIP21w1vHVRdXsj6TvwAFyJK0QDH770JEdv2FxM=";
/// Rows of the table of a figure.
const MOST_ROWS: usize = 400;

/// The report as an HTML document.
#[must_use]
pub fn html(document: &Document) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'"
    );
    let Document { kind, title, verdict, .. } = document;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="tidewire";
                title { (verdict.word) ": " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { (kind.name()) }
                    h1 { (title) }
                }
                main {
                    (self::verdict(document))
                    section aria-labelledby="about" {
                        h2 id="about" { "The run" }
                        p { (document.about) }
                        (acceptance(&document.acceptance))
                    }
                    (requirements(document))
                    (findings(document))
                    @if !document.tables.is_empty() {
                        section aria-labelledby="results" {
                            h2 id="results" { "Results" }
                            @for it in &document.tables { (table(it)) }
                        }
                    }
                    (figures(&document.pictures))
                    (checks(document))
                    (comparison(document))
                    (commands(&document.commands))
                    (facts("provenance", "Provenance", &document.provenance))
                    (facts("glossary", "Glossary", &document.glossary))
                }
                footer { p { "Written by tidewire report. The file makes no request and has no script." } }
            }
        }
    };
    page.into_string()
}

const fn class(grade: Grade) -> &'static str {
    match grade {
        Grade::Pass => "pass",
        Grade::Note => "note",
        Grade::Open => "open",
        Grade::Fail => "fail",
    }
}

fn verdict(document: &Document) -> Markup {
    let Document { verdict, next, numbers, .. } = document;
    html! {
        section.verdict.(class(verdict.grade)) aria-labelledby="verdict" {
            h2 id="verdict" { (verdict.word) }
            p { (verdict.reason) }
            @if !numbers.is_empty() {
                ul.numbers {
                    @for number in numbers {
                        li.(class(number.grade)) {
                            span { (number.name) }
                            strong { (number.value) }
                            @if !number.spread.is_empty() { span { (number.spread) } }
                            @if !number.count.is_empty() { span.soft { (number.count) } }
                        }
                    }
                }
            }
            @if !next.is_empty() {
                h3 { "What to try next" }
                ul { @for step in next { li { (step) } } }
            }
        }
    }
}

fn acceptance(acceptance: &Acceptance) -> Markup {
    let Acceptance { tester, tested_at } = acceptance;
    html! {
        @if acceptance.is_given() {
            dl {
                @if let Some(tester) = tester { dt { "Tester" } dd { (tester) } }
                @if let Some(tested_at) = tested_at { dt { "Time of the test" } dd { (tested_at) } }
                dt { "Signature" } dd { span.sign { "\u{a0}" } }
            }
        }
    }
}

fn requirements(document: &Document) -> Markup {
    if document.requirements.is_empty() {
        return Markup::default();
    }
    let claims = document.kind.claims();
    let claim = claims.to_lowercase();
    let heads = [claim.trim_end_matches('s'), "of", "found", "interval", "result"];
    let rows = html! {
        @for it in &document.requirements {
            tr {
                th.long[is_long(&it.text)] scope="row" { (it.text) }
                (cell(&it.of, false))
                (cell(&it.found, true))
                (cell(&it.interval, false))
                td.(class(it.grade)).long[is_long(&it.verdict)] { (it.verdict) }
            }
        }
    };
    section("requirements", &format!("{claims} and evidence"), &heads, &rows)
}

fn findings(document: &Document) -> Markup {
    if document.findings.is_empty() {
        return Markup::default();
    }
    let heads = ["grade", "finding", "evidence", "command that shows more"];
    let rows = html! {
        @for it in &document.findings {
            tr {
                td.grade.(class(it.grade)) { (word(it.grade)) }
                th.long scope="row" { (it.text) }
                (cell(&it.evidence, false))
                td.long { code { (it.command) } }
            }
        }
    };
    section("findings", "Findings", &heads, &rows)
}

fn figures(pictures: &[Illustration]) -> Markup {
    html! {
        @if !pictures.is_empty() {
            section aria-labelledby="figures" {
                h2 id="figures" { "Figures" }
                @for (place, illustration) in pictures.iter().enumerate() {
                    (figure(place + 1, illustration))
                }
            }
        }
    }
}

/// A figure with its caption and its numbers.
fn figure(number: usize, illustration: &Illustration) -> Markup {
    let picture = illustration.picture.printable();
    let svg = picture.svg(Place::Page(&format!("figure-{number}")));
    let mut lines = picture.table().into_iter();
    let heads = lines.next().unwrap_or_default();
    let all = lines.len();
    html! {
        figure {
            div.scroll tabindex="0" role="group" aria-label={ "Figure " (number) } { (PreEscaped(svg)) }
            figcaption {
                "Figure " (number) ". " (picture.caption())
                @if !illustration.thinned.is_empty() { " Thinned: " (illustration.thinned) "." }
            }
            details.data {
                summary { "Numbers of figure " (number) }
                p {
                    a href=(link(&picture.csv())) download={ "figure-" (number) ".csv" } {
                        "Numbers of figure " (number) " as CSV"
                    }
                }
                div.scroll tabindex="0" role="group" aria-label={ "Numbers of figure " (number) } {
                    table.numeric {
                        thead { tr { @for head in &heads { th scope="col" { (Text::from(head)) } } } }
                        tbody {
                            @for line in lines.take(MOST_ROWS) {
                                tr { @for cell in &line { (number_cell(cell)) } }
                            }
                        }
                    }
                    @if all > MOST_ROWS { p { (all - MOST_ROWS) " more rows are left out." } }
                }
            }
        }
    }
}

/// Octets of CSV that a link has to escape; digits, points and commas stay as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b',').remove(b'.').remove(b'-').remove(b'_');

/// CSV within a link (RFC 2397), so that saving it makes no request.
fn link(csv: &str) -> String {
    format!("data:text/csv;charset=utf-8,{}", utf8_percent_encode(csv, ESCAPED))
}

fn checks(document: &Document) -> Markup {
    if document.checks.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        @for check in &document.checks {
            tr {
                th scope="row" { (check.name) }
                td.grade.(class(check.grade)) { (parts::validity(check.grade)) }
                td { (check.text) }
            }
        }
    };
    section("validity", "Validity", &["check", "result", "reason"], &rows)
}

fn comparison(document: &Document) -> Markup {
    html! {
        @if let Some(comparison) = &document.comparison {
            section aria-labelledby="comparison" {
                h2 id="comparison" { "Comparison" }
                p { (comparison.about) }
                @for it in &comparison.tables { (table(it)) }
            }
        }
    }
}

fn commands(commands: &[Fact]) -> Markup {
    html! {
        @if !commands.is_empty() {
            section aria-labelledby="commands" {
                h2 id="commands" { "Repeat it" }
                @for Fact { name, value } in commands {
                    p.lead { (name) ":" }
                    pre { code { (value) } }
                }
            }
        }
    }
}

fn facts(id: &str, title: &str, facts: &[Fact]) -> Markup {
    html! {
        @if !facts.is_empty() {
            section aria-labelledby=(id) {
                h2 id=(id) { (title) }
                dl { @for Fact { name, value } in facts { dt { (name) } dd { (value) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};
    use std::collections::BTreeMap;

    /// Octets in base 64 (RFC 4648, section 4).
    fn base_64(octets: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |three: &[u8]| {
            let octet = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
            let bits = octet(0) << 16 | octet(1) << 8 | octet(2);
            let digits = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
            let used = three.len() + 1;
            let shown = |(place, digit)| if place < used { char::from(digit) } else { '=' };
            digits.into_iter().enumerate().map(shown).collect::<String>()
        };
        octets.chunks(3).map(group).collect()
    }

    #[test]
    fn the_policy_admits_the_style_sheet() {
        assert_eq!(base_64(b"fo"), "Zm8=");
        assert_eq!(STYLE_HASH, base_64(&Sha256::digest(STYLE)), "the hash of style.css");
    }

    #[test]
    fn the_link_of_a_figure_holds_its_numbers() {
        let csv = "series,time (ms)\n\"a \"\"b\"\" & <é>\",1.5e-3\n";
        let link = link(csv);
        let data = link.strip_prefix("data:text/csv;charset=utf-8,").unwrap();
        assert!(!data.contains([' ', '"', '<', '&', '#', '\n']), "{data}");
        let octets = percent_encoding::percent_decode_str(data).decode_utf8();
        assert_eq!(octets.unwrap(), csv);
    }

    /// Relative luminance of a colour (WCAG 2.2).
    fn luminance(colour: &str) -> f64 {
        let digits = colour.trim_start_matches('#');
        let channel = |place: usize| {
            let text = match digits.len() {
                3 => digits[place..=place].repeat(2),
                _ => digits[2 * place..2 * place + 2].to_owned(),
            };
            let share = f64::from(u8::from_str_radix(&text, 16).unwrap()) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
    }

    #[test]
    fn text_has_a_contrast_of_4_5_on_every_background() {
        let mut themes = 0;
        for block in STYLE.split(":root{").skip(1) {
            let block = block.split('}').next().unwrap();
            let pairs =
                block.split(';').filter_map(|pair| pair.trim().strip_prefix("--")?.split_once(':'));
            let colours: BTreeMap<&str, &str> = pairs.collect();
            for text in ["ink", "soft", "link", "pass", "fail", "open", "note"] {
                for ground in ["page", "card"] {
                    let both = [text, ground].map(|name| luminance(colours[name]));
                    let (light, dark) = (both[0].max(both[1]), both[0].min(both[1]));
                    let ratio = (light + 0.05) / (dark + 0.05);
                    assert!(ratio >= 4.5, "{text} on {ground}: {ratio:.2}");
                }
            }
            themes += 1;
        }
        assert_eq!(themes, 3, "light, dark and paper");
    }
}

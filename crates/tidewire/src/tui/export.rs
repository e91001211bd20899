//! Files of a screen: its picture as SVG, its text, and its numbers as CSV (RFC 4180).
//!
//! The CSV of a list is its whole table, as the web page has it, with times in nanoseconds. That of the monitor has the
//! samples on the screen; that of any other page has its rows, with a field where two or more blanks stand. No file is
//! ever replaced: the names have the first number that is free.

use super::canvas::text_of;
use super::monitor::Snapshot;
use super::page::Page;
use super::picture::svg;
use super::view::{Body, View};
use ratatui::buffer::Buffer;
use records::state::Model;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use wire::time::nanos;

/// Highest number of a file.
const MOST_FILES: u32 = 9_999;
/// Endings of the files.
const ENDINGS: [&str; 3] = ["svg", "csv", "txt"];

/// Kind of file that is written.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) page: Page,
    pub(super) view: &'a View,
    pub(super) model: &'a Model,
    /// Samples, if there is a monitor.
    pub(super) seen: Option<&'a Snapshot>,
}

/// Writes the files into a folder, and returns their common name with the endings: `tidewire-conn-1.{svg,csv,txt}`.
///
/// # Errors
/// Errors of the files; all numbers are taken.
pub(super) fn export(shown: Shown<'_>, buffer: &Buffer, folder: &Path) -> io::Result<String> {
    let page = shown.page.name().trim_end_matches('.').to_lowercase();
    let text = text_of(buffer);
    let contents = [svg(buffer, &format!("tidewire, {page}")), csv(shown), text];
    for number in 1..=MOST_FILES {
        let stem = format!("tidewire-{page}-{number}");
        let paths = ENDINGS.map(|ending| folder.join(format!("{stem}.{ending}")));
        if paths.iter().any(|path| path.symlink_metadata().is_ok()) {
            continue;
        }
        for (path, content) in paths.iter().zip(&contents) {
            // A file that was made since is not replaced either.
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(content.as_bytes())?;
        }
        return Ok(format!("{stem}.{{{}}}", ENDINGS.join(",")));
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "all numbers of files are taken"))
}

/// Numbers of the page.
fn csv(Shown { page, view, model, seen }: Shown<'_>) -> String {
    let table = match page {
        Page::Connections => Some("connections"),
        Page::Hosts => Some("hosts"),
        Page::Events => Some("events"),
        Page::Services => Some("services"),
        Page::Streams => Some("streams"),
        Page::Transactions => Some("transactions"),
        _ => None,
    };
    if let Some(table) = table.and_then(|id| web::table(model, id)) {
        return lines(&table);
    }
    match (&view.body, seen) {
        (Body::Charts(_), Some(seen)) => lines(&samples(seen)),
        (Body::Rows(rows), _) => {
            let heading = rows.sheet.heading.iter().map(String::as_str);
            let rows = rows.sheet.rows.iter().map(|row| row.text.as_str());
            lines(&heading.chain(rows).map(fields).collect::<Vec<_>>())
        }
        (Body::Charts(_) | Body::Help(_), _) => String::new(),
    }
}

/// Samples of the monitor.
fn samples(seen: &Snapshot) -> Vec<Vec<String>> {
    let heading = ["start_ns", "length_ns", "packets", "octets"].map(str::to_owned).to_vec();
    let length = nanos(seen.interval.span());
    let samples = (seen.first..).zip(&seen.samples).map(|(place, count)| {
        let start = nanos(seen.interval.times(place));
        [start, length, count.packets, count.octets].map(|number| number.to_string()).to_vec()
    });
    [heading].into_iter().chain(samples).collect()
}

/// Fields of a row, between which two or more blanks stand.
fn fields(row: &str) -> Vec<String> {
    row.split("  ").map(str::trim).filter(|field| !field.is_empty()).map(str::to_owned).collect()
}

fn lines(table: &[Vec<String>]) -> String {
    table.iter().map(|line| reports::figure::csv_line(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn fields_stand_between_two_blanks() {
        assert_eq!(fields("  DT data   12  3.4 %"), ["DT data", "12", "3.4 %"]);
        assert_eq!(fields(""), [""; 0]);
    }

    #[test]
    fn no_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tidewire-sizes-1.csv"), "mine").unwrap();
        let model = crate::tui::page::fed::fed(&[], &[], None, 0);
        let view = View {
            header: Default::default(),
            tabs: String::new(),
            body: Body::Help(Vec::new()),
            footer: crate::tui::view::Footer::Keys(Vec::new()),
        };
        let shown = Shown { page: Page::Sizes, view: &view, model: &model, seen: None };
        let buffer = Buffer::with_lines(["a <b>"]);
        let write = || export(shown, &buffer, folder.path()).unwrap();
        assert_eq!(write(), "tidewire-sizes-2.{svg,csv,txt}");
        assert_eq!(write(), "tidewire-sizes-3.{svg,csv,txt}");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("tidewire-sizes-1.csv"), "mine");
        assert_eq!(read("tidewire-sizes-2.txt"), "a <b>\n");
        assert!(read("tidewire-sizes-2.svg").contains(">a &lt;b&gt;</text>"));
    }
}

//! State of a reproduction under way: the rows that are final.

use super::{Page, afterwards};
use crate::tui::Shared;
use live::clock;
use std::path::{Path, PathBuf};
use web::{Line, Ongoing, Progress, Sheet, Stage};
use wire::time::{Instant, nanos};

/// Page of a reproduction.
pub(crate) type PaperPage = Page<PaperState>;

/// State of a reproduction.
pub(crate) struct PaperState {
    title: String,
    /// Noun for a part of its work.
    unit: &'static str,
    began: Instant,
    course: Shared<Course>,
}

/// Course of the work.
struct Course {
    folder: Option<PathBuf>,
    done: u64,
    of: u64,
    sheet: Sheet,
    result: Option<String>,
    ended: Option<(Instant, Option<String>)>,
}

impl PaperState {
    /// Before the first run; with an empty table.
    pub(crate) fn new(title: &str, unit: &'static str, sheet: Sheet) -> Self {
        let course = Course { folder: None, done: 0, of: 0, sheet, result: None, ended: None };
        Self { title: title.to_owned(), unit, began: clock::now(), course: Shared::new(course) }
    }

    /// Notes the run folder.
    pub(crate) fn begin(&self, folder: Option<&Path>) {
        self.course.lock().folder = folder.map(Path::to_owned);
    }

    /// Notes how much of the work is done.
    pub(crate) fn advance(&self, done: u64, of: u64) {
        let mut course = self.course.lock();
        (course.done, course.of) = (done, of);
    }

    /// Adds rows that are final.
    pub(crate) fn add(&self, rows: impl IntoIterator<Item = Line>) {
        self.course.lock().sheet.rows.extend(rows);
    }

    /// Notes how much of the work is done, and shows the rows that it has made, in place of the earlier
    /// ones: no page has one without the other.
    pub(crate) fn replace(&self, done: u64, of: u64, rows: Vec<Line>) {
        let mut course = self.course.lock();
        (course.done, course.of) = (done, of);
        course.sheet.rows = rows;
    }

    /// Notes the end, with the result in a sentence or the reason for an early end.
    pub(crate) fn end(&self, result: Option<String>, error: Option<String>) {
        let mut course = self.course.lock();
        course.result = result;
        course.ended = Some((clock::now(), error));
    }
}

impl Ongoing for PaperState {
    fn progress(&self) -> Progress {
        let course = self.course.lock();
        let Course { folder, done, of, sheet, result, ended } = &*course;
        let until = ended.as_ref().map_or_else(clock::now, |(at, _)| *at);
        let elapsed = nanos(until.since(self.began));
        let each = (*done > 0).then(|| elapsed as f64 / *done as f64);
        Progress {
            title: self.title.clone(),
            verb: "reproduce",
            stage: match ended {
                None => Stage::UnderWay,
                Some((_, None)) => Stage::Complete,
                Some((_, Some(why))) => Stage::CutShort(why.clone()),
            },
            done: *done,
            of: *of,
            may_grow: false,
            unit: self.unit,
            elapsed_ns: elapsed,
            remaining_ns: each.map(|each| (each * of.saturating_sub(*done) as f64) as u64),
            result: result.clone().map(|words| (None, words)),
            notes: Vec::new(),
            afterwards: afterwards(folder.as_deref()),
            has_report: false,
            sheets: vec![sheet.clone()],
        }
    }

    fn report(&self) -> Result<String, String> {
        Err("a reproduction has a report at its end: tidewire report FOLDER".to_owned())
    }
}

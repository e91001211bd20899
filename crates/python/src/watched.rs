//! Captures metered: hosts, connections, services, streams and findings as tables.

use crate::interruptible;
use crate::table::{Rows, Table, escaped};
use core::time::Duration;
use meter::{Content, Settings};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use records::findings::Findings;
use records::tables::{Cell, Kind, Layout, rows, streams, transactions};
use records::{Details, Finding, Head, Item, Origin, Record, Recorder, Spans, Stamps, Subset};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::capture::{Capture, Statistics};

/// Frames between two looks whether to stop.
const LOOK_FRAMES: u64 = 65_536;

/// Tables of one watched capture, in the columns of `watch --csv`.
struct Tables {
    intervals: Rows,
    hosts: Rows,
    connections: Rows,
    services: Rows,
    service_intervals: Rows,
    streams: Rows,
    transactions: Rows,
}

impl Tables {
    fn new(bounds_octets: [u64; 9]) -> Self {
        Self {
            intervals: Rows::new(rows::intervals(bounds_octets)),
            hosts: Rows::new(rows::hosts(bounds_octets)),
            connections: Rows::new(rows::connections(bounds_octets)),
            services: Rows::new(rows::services()),
            service_intervals: Rows::new(rows::service_intervals()),
            streams: Rows::new(streams::layout()),
            transactions: Rows::new(transactions::layout()),
        }
    }

    fn take(&mut self, item: &Item) {
        match item {
            Item::Interval(interval) if interval.is_over => {
                self.intervals.push(&rows::interval(&interval.report));
            }
            Item::Host(host) => self.hosts.push(&rows::host(host)),
            Item::Connection(connection) => {
                self.connections.push(&rows::connection(connection));
                rows::service_rows(connection).iter().for_each(|row| self.services.push(row));
            }
            Item::ServicesInterval(of) => {
                let rows = rows::service_interval_rows(of);
                rows.iter().for_each(|row| self.service_intervals.push(row));
            }
            Item::CyclicStream(stream) => self.streams.push(&streams::row(stream)),
            Item::Transactions(of) => self.transactions.push(&transactions::row(of)),
            _ => {}
        }
    }
}

/// The findings of `tidewire watch` in a capture, as tables in the columns of `watch --csv`.
#[pyclass(frozen, module = "tidewire")]
pub(crate) struct Watched {
    /// The measures of each interval.
    #[pyo3(get)]
    intervals: Py<Table>,
    /// Hosts, the slowest replies first.
    #[pyo3(get)]
    hosts: Py<Table>,
    /// Transport connections.
    #[pyo3(get)]
    connections: Py<Table>,
    /// Services of MMS, by connection.
    #[pyo3(get)]
    services: Py<Table>,
    /// The same in each interval.
    #[pyo3(get)]
    service_intervals: Py<Table>,
    /// Streams of cyclic data.
    #[pyo3(get)]
    streams: Py<Table>,
    /// Requests and replies of Modbus and its like, by server, unit and function.
    #[pyo3(get)]
    transactions: Py<Table>,
    /// Findings, the worst first.
    #[pyo3(get)]
    findings: Py<Table>,
    /// Number of frames.
    #[pyo3(get)]
    frames: u64,
    path: String,
}

#[pymethods]
impl Watched {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = |table: &Py<Table>| table.bind(py).len();
        Ok(format!(
            "<tidewire.Watched {}: {} frames, {} hosts, {} connections, {} streams, {} findings>",
            self.path,
            self.frames,
            count(&self.hosts)?,
            count(&self.connections)?,
            count(&self.streams)?,
            count(&self.findings)?
        ))
    }

    /// The findings, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let table: String = self.findings.bind(py).call_method0("_repr_html_")?.extract()?;
        Ok(format!("<p>{}: {} frames</p>{table}", escaped(&self.path), self.frames))
    }
}

/// Meters a capture (pcap or pcapng, also gzip and zstd) in intervals of this many seconds.
#[pyfunction]
#[pyo3(signature = (path, interval_s = 10.0, progress = None))]
pub(crate) fn watch(
    py: Python<'_>,
    path: PathBuf,
    interval_s: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Watched> {
    let wrong = || PyValueError::new_err("interval: a number of seconds above 0");
    let interval = Duration::try_from_secs_f64(interval_s).map_err(|_| wrong())?;
    if interval.is_zero() {
        return Err(wrong());
    }
    let stop = AtomicBool::new(false);
    let frames = AtomicU64::new(0);
    let metered = interruptible::run(
        py,
        &stop,
        || meter(&path, interval, &stop, &frames),
        |py| match &progress {
            Some(progress) => {
                progress.call1(py, (frames.load(Ordering::Relaxed), None::<u64>)).map(|_| ())
            }
            None => Ok(()),
        },
    )?;
    let Metered { tables, findings, frames } = metered.map_err(PyOSError::new_err)?;
    let table = |rows: Rows| Py::new(py, rows.finish()?);
    Ok(Watched {
        intervals: table(tables.intervals)?,
        hosts: table(tables.hosts)?,
        connections: table(tables.connections)?,
        services: table(tables.services)?,
        service_intervals: table(tables.service_intervals)?,
        streams: table(tables.streams)?,
        transactions: table(tables.transactions)?,
        findings: table(findings_table(&findings))?,
        frames,
        path: path.display().to_string(),
    })
}

struct Metered {
    tables: Tables,
    findings: Vec<Finding>,
    frames: u64,
}

fn meter(
    path: &Path,
    interval: Duration,
    stop: &AtomicBool,
    passed: &AtomicU64,
) -> Result<Metered, String> {
    let wrong = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| wrong(&error))?;
    let mut capture = Capture::open(file).map_err(|error| wrong(&error))?;
    let settings = Settings::every(interval);
    let spans = Spans { report: interval, sample: None, intervals: None };
    let details = Details { top: 10 };
    let origin = Origin::files(&[path], |path| path.display().to_string());
    let head = Head::of(origin, &settings, spans, details, &Subset::default());
    let mut findings = Findings::new(&head);
    let mut tables = Tables::new(settings.bounds_octets);
    let mut recorder = Recorder::new(settings, spans, details);
    let mut frames = 0;
    while let Some(frame) = capture.next().map_err(|error| wrong(&error))? {
        if frames == 0 {
            // The content of the frames is known once the first was read.
            let (at, link, octets) = (frame.at, frame.link, frame.octets.to_vec());
            let original_octets = frame.original_octets;
            if capture.leaves_out_data() {
                recorder.expect(Content::Headers);
            }
            recorder.observe(at, link, &octets, original_octets);
        } else {
            recorder.observe(frame.at, frame.link, frame.octets, frame.original_octets);
        }
        frames += 1;
        take(&mut recorder, &mut tables, &mut findings);
        if frames % LOOK_FRAMES == 0 {
            passed.store(frames, Ordering::Relaxed);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    let mut collected = Statistics::default();
    capture.interfaces().iter().for_each(|interface| collected.add(&interface.statistics));
    recorder.note_collected(collected);
    recorder.note_stamps(Stamps::of_capture(capture.interfaces()));
    recorder.finish(stop.load(Ordering::Relaxed), None);
    take(&mut recorder, &mut tables, &mut findings);
    Ok(Metered { tables, findings: findings.records(), frames })
}

fn take(recorder: &mut Recorder, tables: &mut Tables, findings: &mut Findings) {
    while let Some(item) = recorder.take() {
        tables.take(&item);
        if findings.judges(&item) {
            findings.take(Record::of(&item, &Subset::default()));
        }
    }
}

fn findings_table(findings: &[Finding]) -> Rows {
    let layout = Layout::new(
        "findings",
        &[
            ("grade", Kind::Text),
            ("text", Kind::Text),
            ("evidence", Kind::Text),
            ("command", Kind::Text),
        ],
    );
    let mut rows = Rows::new(layout);
    for Finding { grade, text, evidence, command, .. } in findings {
        rows.push(&[
            Cell::Text(grade.clone()),
            Cell::Text(text.clone()),
            Cell::of(evidence.clone(), Cell::Text),
            Cell::Text(command.clone()),
        ]);
    }
    rows
}

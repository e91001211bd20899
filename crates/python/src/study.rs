//! Studies: scenarios simulated, and runs read from their folders.

use crate::figure::Figure;
use crate::interruptible;
use crate::table::{Rows, Table, escaped};
use bench::analysis::{PointReport, Report, Unit, analyse};
use bench::folder::{self, Folder, Provenance};
use bench::profile::Files;
use bench::run::{self, Goal, Made, Plan, Shard, all_runs};
use bench::sample::{Distribution, End, FlowSample, Line, Origin, Sample};
use bench::scenario::{self, Requirement, Setting, Study};
use bench::scenarios as built_in;
use bench::verdict::{Judged, Verdict, judge, worst};
use bench::{PROGRAM, PROGRAM_VERSION};
use core::ops::ControlFlow;
use core::time::Duration;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use records::calendar;
use records::tables::{Cell, Column, Kind, Layout};
use reports::figure::Picture;
use reports::sweep;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Confidence level of every interval.
pub(crate) const LEVEL: f64 = 0.95;

/// Runs of a study, with their samples, results, verdicts and figures.
#[pyclass(frozen, module = "tidewire")]
pub(crate) struct Runs {
    samples: Vec<Sample>,
    report: Report,
    judged: Vec<Judged>,
    /// The study and the command line that makes it; none of runs that were read.
    study: Option<(Study, Making)>,
}

/// The making of a study, in the words of the command.
struct Making {
    name: String,
    command: Vec<String>,
    shard: Option<Shard>,
}

impl Runs {
    fn of(
        samples: Vec<Sample>,
        study: Option<(Study, Making)>,
        judged: Option<Vec<Judged>>,
    ) -> Self {
        let points = study.as_ref().map(|(study, _)| &*study.points).unwrap_or_default();
        let report = analyse(&samples, LEVEL).with_groups(points).with_bounds(points);
        let is_part = study.as_ref().is_some_and(|(_, making)| making.shard.is_some());
        let all = || if is_part { Vec::new() } else { judge(&report, points) };
        let judged = judged.unwrap_or_else(all);
        Self { samples, report, judged, study }
    }

    pub(crate) const fn report(&self) -> &Report {
        &self.report
    }

    fn keys(&self) -> BTreeSet<String> {
        settings_of(self.report.points.iter().map(|point| &point.settings))
    }
}

#[pymethods]
impl Runs {
    /// Title of the scenario.
    #[getter]
    fn title(&self) -> &str {
        &self.report.title
    }

    fn __len__(&self) -> usize {
        self.samples.len()
    }

    /// The samples as the octets of `samples.ndjson` in a run folder.
    fn ndjson(&self) -> PyResult<Vec<u8>> {
        let complete = self.samples.iter().all(|sample| sample.complete);
        let mut writer = folder::Writer::new(Vec::new());
        let write = || {
            self.samples.iter().try_for_each(|sample| writer.sample(sample))?;
            writer.end(End { complete, error: None })
        };
        let octets = write().map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(octets.unwrap_or_default())
    }

    /// A row for each flow of each run.
    #[getter]
    fn samples(&self) -> PyResult<Table> {
        let keys = self.keys();
        let mut rows = Rows::new(layout("samples", &keys, &SAMPLE_COLUMNS));
        for sample in &self.samples {
            for flow in &sample.flows {
                let mut row = cells_of(&keys, &sample.settings);
                row.extend(sample_cells(sample, flow));
                rows.push(&row);
            }
        }
        rows.finish()
    }

    /// A row for each quantity of each flow at each point: its mean over runs with a 95 % interval, and n.
    #[getter]
    fn results(&self) -> PyResult<Table> {
        let keys = self.keys();
        let mut rows = Rows::new(layout("results", &keys, &RESULT_COLUMNS));
        for point in &self.report.points {
            for row in result_rows(&keys, point) {
                rows.push(&row);
            }
        }
        rows.finish()
    }

    /// A row for each requirement, flow and point.
    #[getter]
    fn verdicts(&self) -> PyResult<Table> {
        let mut rows = Rows::new(layout("verdicts", &BTreeSet::new(), &VERDICT_COLUMNS));
        for judged in &self.judged {
            rows.push(&[
                Cell::Count(judged.point as u64),
                Cell::Text(judged.flow.clone()),
                Cell::Text(judged.requirement.clone()),
                Cell::Text(judged.verdict.word().to_lowercase()),
                Cell::of(judged.found, Cell::Real),
                Cell::of(judged.low, Cell::Real),
                Cell::of(judged.high, Cell::Real),
                Cell::Real(judged.level),
            ]);
        }
        rows.finish()
    }

    /// The worst verdict: `pass`, `fail` or `undecided`; None without a requirement.
    #[getter]
    fn verdict(&self) -> Option<&'static str> {
        (!self.judged.is_empty()).then(|| match worst(&self.judged) {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Undecided => "undecided",
        })
    }

    /// Figures of a sweep; none of a study with one point.
    #[getter]
    fn figures(&self) -> Vec<Figure> {
        let seed = self.samples.first().map_or(0, |sample| sample.seed);
        let seed = self.study.as_ref().map_or(seed, |(study, _)| study.scenario().seed);
        let origin = self.samples.first().map_or(Origin::Predicted, |sample| sample.source);
        let drawn = sweep::figures(&self.report, sweep::Study { seed, origin }, usize::MAX);
        let hash = self.samples.first().map_or("", |sample| &sample.scenario_hash);
        let source = format!("{PROGRAM}, scenario hash {hash}, seed {seed}");
        let figure = |drawn: sweep::Drawn| Figure {
            source: source.clone(),
            name: drawn.name,
            picture: Picture::Curves(drawn.figure),
        };
        drawn.into_iter().map(figure).collect()
    }

    /// Writes a run folder into `folder`, as `tidewire predict -o` does; returns its path.
    #[pyo3(signature = (folder = PathBuf::from("runs")))]
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        let Some((study, making)) = &self.study else {
            return Err(PyValueError::new_err("these runs were read from a folder, and are there"));
        };
        let seconds: f64 = py.import("time")?.call_method0("time")?.extract()?;
        let since_epoch = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let provenance = Provenance {
            title: study.scenario().title.clone(),
            command: making.command.clone(),
            scenario_hash: folder::hash_of(study),
            seed: study.scenario().seed,
            program_version: PROGRAM_VERSION.to_owned(),
            started: calendar::folder_name(since_epoch),
            host: BTreeMap::new(),
            profiles: folder::used_profiles(study),
            models: folder::used_models(study),
            set: BTreeMap::new(),
            shard: making.shard,
            parts: Vec::new(),
        };
        let write = || {
            let mut to = Folder::create(&folder, &making.name, study, &provenance)?;
            self.samples.iter().try_for_each(|sample| to.sample(sample))?;
            let complete = self.samples.iter().all(|sample| sample.complete);
            to.end(End { complete, error: None })
        };
        write().map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))
    }

    fn __repr__(&self) -> String {
        let verdict = self.verdict().map(|verdict| format!(", {verdict}")).unwrap_or_default();
        let (runs, points) = (self.samples.len(), self.report.points.len());
        format!("<tidewire.Runs {:?}: {runs} runs of {points} points{verdict}>", self.title())
    }

    /// Title, verdict, results and figures, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let verdict = self.verdict().map(|verdict| format!(": {verdict}")).unwrap_or_default();
        let results = Py::new(py, self.results()?)?;
        let table: String = results.bind(py).call_method0("_repr_html_")?.extract()?;
        let figures: String = self.figures().iter().map(Figure::svg).collect();
        let title = escaped(self.title());
        Ok(format!(
            "<p><b>{title}</b>{verdict}, n = {} runs</p>{figures}{table}",
            self.samples.len()
        ))
    }
}

/// All keys that vary in some points.
pub(crate) fn settings_of<'a>(
    settings: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeSet<String> {
    settings.flat_map(BTreeMap::keys).cloned().collect()
}

/// The word for a unit.
pub(crate) const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::BitsPerSecond => "bit/s",
        Unit::Fraction => "1",
    }
}

fn layout(name: &'static str, keys: &BTreeSet<String>, columns: &[(&'static str, Kind)]) -> Layout {
    let mut layout = Layout::new(name, &[]);
    let of_keys = keys.iter().map(|key| Column { name: key.clone().into(), kind: Kind::Text });
    let own = columns.iter().map(|(name, kind)| Column { name: (*name).into(), kind: *kind });
    layout.columns = of_keys.chain(own).collect();
    layout
}

fn cells_of(keys: &BTreeSet<String>, settings: &BTreeMap<String, String>) -> Vec<Cell> {
    keys.iter().map(|key| Cell::of(settings.get(key).cloned(), Cell::Text)).collect()
}

const SAMPLE_COLUMNS: [(&str, Kind); 37] = [
    ("point", Kind::Count),
    ("replication", Kind::Count),
    ("seed", Kind::Count),
    ("complete", Kind::Count),
    ("flow", Kind::Text),
    ("sent", Kind::Count),
    ("not_taken", Kind::Count),
    ("not_offered", Kind::Count),
    ("delivered", Kind::Count),
    ("lost", Kind::Count),
    ("duplicated", Kind::Count),
    ("out_of_order", Kind::Count),
    ("damaged", Kind::Count),
    ("answered", Kind::Count),
    ("acknowledged", Kind::Count),
    ("failed", Kind::Count),
    ("acknowledged_and_lost", Kind::Count),
    ("deadline", Kind::Span),
    ("missed", Kind::Count),
    ("delivered_octets", Kind::Count),
    ("throughput_bits_per_second", Kind::Real),
    ("setup", Kind::Span),
    ("delay_count", Kind::Count),
    ("delay_mean_ns", Kind::Real),
    ("delay_sd_ns", Kind::Real),
    ("delay_min", Kind::Span),
    ("delay_p50", Kind::Span),
    ("delay_p99", Kind::Span),
    ("delay_max", Kind::Span),
    ("response_count", Kind::Count),
    ("response_mean_ns", Kind::Real),
    ("response_sd_ns", Kind::Real),
    ("response_min", Kind::Span),
    ("response_p50", Kind::Span),
    ("response_p99", Kind::Span),
    ("response_max", Kind::Span),
    ("end", Kind::Text),
];

fn sample_cells(sample: &Sample, flow: &FlowSample) -> Vec<Cell> {
    let mut cells = vec![
        Cell::Count(sample.point as u64),
        Cell::Count(sample.replication),
        Cell::Count(sample.seed),
        Cell::Count(u64::from(sample.complete)),
        Cell::Text(flow.name.clone()),
    ];
    cells.extend(
        [
            flow.sent,
            flow.not_taken,
            flow.not_offered,
            flow.delivered,
            flow.lost,
            flow.duplicated,
            flow.out_of_order,
            flow.damaged,
            flow.answered,
            flow.acknowledged,
            flow.failed,
            flow.acknowledged_and_lost,
        ]
        .map(Cell::Count),
    );
    cells.extend([
        Cell::of(flow.deadline_ns, Cell::Nanos),
        Cell::of(flow.missed, Cell::Count),
        Cell::Count(flow.delivered_octets),
        Cell::of(flow.throughput_bits_per_second, Cell::Real),
        Cell::of(flow.setup_ns, Cell::Nanos),
    ]);
    cells.extend(distribution(&flow.delay));
    cells.extend(distribution(&flow.response));
    cells.push(Cell::of(flow.end.as_ref().map(|end| end.reason.clone()), Cell::Text));
    cells
}

fn distribution(of: &Distribution) -> [Cell; 7] {
    [
        Cell::Count(of.count),
        Cell::of(of.mean_ns, Cell::Real),
        Cell::of(of.standard_deviation_ns, Cell::Real),
        Cell::of(of.min_ns, Cell::Nanos),
        Cell::of(of.p50_ns, Cell::Nanos),
        Cell::of(of.p99_ns, Cell::Nanos),
        Cell::of(of.max_ns, Cell::Nanos),
    ]
}

const RESULT_COLUMNS: [(&str, Kind); 9] = [
    ("point", Kind::Count),
    ("flow", Kind::Text),
    ("quantity", Kind::Text),
    ("unit", Kind::Text),
    ("mean", Kind::Real),
    ("low", Kind::Real),
    ("high", Kind::Real),
    ("level", Kind::Real),
    ("n", Kind::Count),
];

fn result_rows(keys: &BTreeSet<String>, point: &PointReport) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for flow in &point.flows {
        for found in &flow.quantities {
            let mut row = cells_of(keys, &point.settings);
            let end = |sign: f64| found.half_width.map(|half| found.mean + sign * half);
            row.extend([
                Cell::Count(point.point as u64),
                Cell::Text(flow.name.clone()),
                Cell::Text(found.name.to_owned()),
                Cell::Text(unit(found.unit).to_owned()),
                Cell::Real(found.mean),
                Cell::of(end(-1.0), Cell::Real),
                Cell::of(end(1.0), Cell::Real),
                Cell::Real(found.level),
                Cell::Count(found.n),
            ]);
            rows.push(row);
        }
    }
    rows
}

const VERDICT_COLUMNS: [(&str, Kind); 8] = [
    ("point", Kind::Count),
    ("flow", Kind::Text),
    ("requirement", Kind::Text),
    ("verdict", Kind::Text),
    ("found", Kind::Real),
    ("low", Kind::Real),
    ("high", Kind::Real),
    ("level", Kind::Real),
];

/// Scenario and options of [`predict`].
struct Wanted {
    study: Study,
    /// Runs that other processes made.
    made: Made,
    goal: Option<Goal>,
    shard: Option<Shard>,
    jobs: usize,
}

/// Simulates a scenario, given as its text. `folder` is where it names other files from, and `name` what it is called.
/// `command` is the command line that does the same.
#[pyfunction]
#[pyo3(signature = (text, name, folder, command, *, vary = Vec::new(), seed = None, runs = None, require = Vec::new(),
    until_decided = false, precision = None, at_most = 1_000, shard = None, jobs = None, made = Vec::new(),
    progress = None))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them, with its default")]
pub(crate) fn predict(
    py: Python<'_>,
    text: &str,
    name: &str,
    folder: Option<PathBuf>,
    command: Vec<String>,
    vary: Vec<String>,
    seed: Option<u64>,
    runs: Option<u64>,
    require: Vec<String>,
    until_decided: bool,
    precision: Option<f64>,
    at_most: u64,
    shard: Option<&str>,
    jobs: Option<usize>,
    made: Vec<Vec<u8>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Runs> {
    let study = load(text, name, folder, &vary)?;
    let study = with(study, seed, runs, &require)?;
    let shard = shard.map(|text| text.parse::<Shard>().map_err(refused)).transpose()?;
    let is_growing = until_decided || precision.is_some();
    let goal =
        is_growing.then_some(Goal { precision, decided: until_decided, at_most, level: LEVEL });
    if goal.is_some() && shard.is_some() {
        return Err(PyValueError::new_err("shard: a growing number of runs is not divided here"));
    }
    if until_decided && study.scenario().require.is_empty() {
        return Err(PyValueError::new_err("until_decided: no requirement is given"));
    }
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let made = earlier(&study, &made)?;
    let wanted = Wanted { study, made, goal, shard, jobs };
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let all = all_runs(&wanted.study, Plan { replications: None, jobs: 1 }).len();
    let made = interruptible::run(
        py,
        &stop,
        || make(&wanted, &stop, &done),
        |py| match &progress {
            Some(progress) => progress.call1(py, (done.load(Ordering::Relaxed), all)).map(|_| ()),
            None => Ok(()),
        },
    )?;
    let (samples, judged) = made.map_err(refused)?;
    let making = Making { name: name.to_owned(), command, shard };
    Ok(Runs::of(samples, Some((wanted.study, making)), judged))
}

/// Samples that other processes made of this study, each part as [`Runs::ndjson`] writes it.
fn earlier(study: &Study, parts: &[Vec<u8>]) -> PyResult<Made> {
    let hash = folder::hash(study.source.file_text());
    let mut made = Made::new();
    for line in parts.iter().flat_map(|part| part.split(|octet| *octet == b'\n')) {
        if line.is_empty() {
            continue;
        }
        if let Line::Sample(sample) = serde_json::from_slice(line).map_err(refused)?
            && sample.complete
        {
            if sample.scenario_hash != hash || sample.program_version != PROGRAM_VERSION {
                let message = "made: a part is of another scenario or version";
                return Err(PyValueError::new_err(message));
            }
            made.insert((sample.point, sample.replication), *sample);
        }
    }
    Ok(made)
}

fn load(text: &str, name: &str, folder: Option<PathBuf>, vary: &[String]) -> PyResult<Study> {
    let files = folder.map_or(Files::None, Files::In);
    let settings: Vec<Setting> = vary
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, String>>()
        .map_err(PyValueError::new_err)?;
    scenario::load_from(text, &format!("{name}.toml"), &files, &settings).map_err(refused)
}

fn with(
    mut study: Study,
    seed: Option<u64>,
    runs: Option<u64>,
    require: &[String],
) -> PyResult<Study> {
    if let Some(runs) = runs {
        study.set_runs(runs).map_err(refused)?;
    }
    if let Some(seed) = seed {
        study.set_seed(seed);
    }
    let requirements: Vec<Requirement> =
        require.iter().map(|text| text.parse().map_err(refused)).collect::<PyResult<_>>()?;
    study.require(&requirements).map_err(refused)?;
    Ok(study)
}

fn refused(error: impl core::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Makes the runs; the verdicts too where looks at growing data made them.
fn make(
    wanted: &Wanted,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Result<(Vec<Sample>, Option<Vec<Judged>>), run::RunError> {
    let Wanted { study, made, goal, shard, jobs } = wanted;
    let plan = Plan { replications: None, jobs: (*jobs).max(1) };
    let mut samples = Vec::new();
    let each = |sample| {
        samples.push(sample);
        done.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    if let Some(goal) = goal {
        let ended = run::run_until(study, plan, *goal, made, stop, each, |_| ())?;
        return Ok((samples, Some(ended.judged)));
    }
    let all = all_runs(study, plan);
    let runs = match shard {
        Some(shard) => shard.runs(&all, study.scenario().seed),
        None => all,
    };
    run::run_these(study, &runs, made, plan.jobs, stop, each)?;
    Ok((samples, None))
}

/// Reads a run folder, or a file of samples, as `predict` and `measure` write it.
#[pyfunction]
pub(crate) fn read(path: PathBuf) -> PyResult<Runs> {
    let results = folder::read(&path).map_err(|error| PyOSError::new_err(error.to_string()))?;
    let noise_ns = folder::provenance(&path).ok().and_then(|it| it.host_noise_ns());
    let mut runs = Runs::of(results.samples, None, None);
    runs.report = runs.report.with_host_noise(&runs.samples, noise_ns);
    Ok(runs)
}

/// Names of the built-in scenarios.
#[pyfunction]
pub(crate) fn scenarios() -> Vec<&'static str> {
    built_in::ALL.iter().map(|scenario| scenario.name).collect()
}

/// Text of a built-in scenario; None if there is none of this name.
#[pyfunction]
pub(crate) fn scenario_text(name: &str) -> Option<&'static str> {
    built_in::get(name).map(|scenario| scenario.text)
}

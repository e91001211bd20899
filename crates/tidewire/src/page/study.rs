//! State of a study under way: its samples so far, and the verdict of each finished point.
//!
//! A point is analysed anew only if it has new samples, and analyses rest nine times as long as they
//! take: a browser costs the runs at most a tenth of one core.

use super::{Page, afterwards};
use crate::runs::LEVEL;
use crate::steps::{Length, UPDATE_EVERY};
use crate::tui::Shared;
use crate::verdicts;
use bench::analysis::{PointReport, Report, analyse};
use bench::folder::Results;
use bench::run::look_at;
use bench::sample::{End, Sample};
use bench::scenario::{Point, Study};
use bench::session::SoFar;
use bench::verdict::{Judged, judge, level_of_look, worst};
use live::clock;
use reports::document::{Acceptance, Grade, Table};
use reports::glossary::Glossary;
use reports::of_study::{self, StudyRun, of_study};
use reports::study::{Met, settings};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use web::{Line, Ongoing, Progress, Sheet, Stage};
use wire::time::{Instant, nanos};

/// Page of a study.
pub(crate) type StudyPage = Page<StudyState>;

/// Time that analyses rest, as a multiple of the time that the last one took.
const REST: u32 = 9;

/// Least share of a run that the remaining time is estimated from.
const LEAST_SHARE: f64 = 0.02;

/// Requirements that are listed.
const MOST_REQUIREMENTS: usize = 20;

/// Plan of the runs of a study.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The verb that makes them.
    pub(crate) verb: &'static str,
    /// Number of runs.
    pub(crate) runs: u64,
    /// True if more are made until they are enough.
    pub(crate) may_grow: bool,
    /// True if they are simulated, so that bounds from theory are shown.
    pub(crate) is_predicted: bool,
    /// Noise of the host that measures, in nanoseconds; none of simulated runs.
    pub(crate) host_noise_ns: Option<u64>,
}

/// State of a study.
pub(crate) struct StudyState {
    title: String,
    points: Vec<Point>,
    plan: Plan,
    began: Instant,
    samples: Shared<Vec<Sample>>,
    course: Shared<Course>,
    analysed: Shared<Analysed>,
    /// Held while a report is made, so that requests for it take one core at most.
    reporting: Mutex<()>,
}

/// Course of the runs.
struct Course {
    /// Run folder, if any.
    folder: Option<PathBuf>,
    /// Number of samples that were made earlier.
    kept: usize,
    /// Number of planned runs.
    of: u64,
    /// Run under way, if the study shows its progress.
    under_way: Option<UnderWay>,
    ended: Option<Ended>,
}

/// Progress of the run under way.
struct UnderWay {
    /// Index of its point.
    point: usize,
    /// Messages sent.
    sent: u64,
    /// Delays so far, in words; none before the first message.
    delays: Option<String>,
    /// Share of the run that is over, from 0 to 1.
    share: f64,
    /// Time of the first message.
    began: Option<Instant>,
    /// Time of the last update of `delays`.
    updated: Instant,
}

/// End of a study.
#[derive(Clone)]
struct Ended {
    at: Instant,
    error: Option<String>,
    judged: Vec<Judged>,
}

/// Points as they were analysed last.
#[derive(Default)]
struct Analysed {
    points: BTreeMap<usize, OfPoint>,
    /// Time before which nothing is analysed anew.
    rests_until: Instant,
}

/// Result of a point so far.
struct OfPoint {
    samples: usize,
    report: PointReport,
    judged: Vec<Judged>,
}

/// Results of all points so far.
struct ResultsSoFar {
    report: Report,
    /// Verdicts on the requirements of finished points.
    judged: Vec<Judged>,
    /// Number of finished runs of each point.
    finished: BTreeMap<usize, u64>,
    ended: Option<Ended>,
}

impl UnderWay {
    /// Messages sent, and delays so far.
    fn notes(&self) -> Vec<String> {
        let sent = format!("{} messages sent in the run under way", self.sent);
        [sent].into_iter().chain(self.delays.clone()).collect()
    }
}

impl StudyState {
    /// Before the first run.
    pub(crate) fn new(study: &Study, plan: Plan) -> Self {
        let course = Course { folder: None, kept: 0, of: plan.runs, under_way: None, ended: None };
        Self {
            title: study.scenario().title.clone(),
            points: study.points.clone(),
            plan,
            began: clock::now(),
            samples: Shared::new(Vec::new()),
            course: Shared::new(course),
            analysed: Shared::new(Analysed::default()),
            reporting: Mutex::new(()),
        }
    }

    /// Samples, which the study adds to.
    pub(crate) fn samples(&self) -> Shared<Vec<Sample>> {
        self.samples.clone()
    }

    /// Notes the run folder, and how many of its samples were made earlier.
    pub(crate) fn begin(&self, folder: Option<&Path>, kept: usize) {
        let mut course = self.course.lock();
        course.folder = folder.map(Path::to_owned);
        course.kept = kept;
    }

    /// Notes that more runs are planned.
    pub(crate) fn plan_more(&self, runs: u64) {
        self.course.lock().of += runs;
    }

    /// Notes that a run of this point begins.
    pub(crate) fn begin_run(&self, point: usize) {
        let updated = Instant::default();
        let run = UnderWay { point, sent: 0, delays: None, share: 0.0, began: None, updated };
        self.course.lock().under_way = Some(run);
    }

    /// Notes the progress of the run under way. May be called often.
    pub(crate) fn under_way(&self, so_far: &SoFar, length: &Length) {
        let now = clock::now();
        let mut course = self.course.lock();
        let Some(run) = &mut course.under_way else { return };
        let began = *run.began.get_or_insert(now);
        (run.sent, run.share) = (so_far.sent, length.share(so_far, now.since(began)));
        if run.delays.is_none() || now.since(run.updated) >= UPDATE_EVERY {
            (run.delays, run.updated) = (Some(length.delays(so_far)), now);
        }
    }

    /// Notes the end, with the verdicts that the records have.
    pub(crate) fn end(&self, error: Option<String>, judged: &[Judged]) {
        let ended = Ended { at: clock::now(), error, judged: judged.to_vec() };
        self.course.lock().ended = Some(ended);
    }

    /// Analyses the points with new samples, unless the analyses rest.
    fn so_far(&self) -> ResultsSoFar {
        let ended = self.course.lock().ended.clone();
        let mut analysed = self.analysed.lock();
        let began = clock::now();
        let (mut counts, mut finished) = (BTreeMap::new(), BTreeMap::new());
        let mut changed: BTreeMap<usize, Vec<Sample>> = BTreeMap::new();
        {
            let samples = self.samples.lock();
            for sample in samples.iter() {
                *counts.entry(sample.point).or_insert(0) += 1;
                *finished.entry(sample.point).or_insert(0) += u64::from(sample.complete);
            }
            let is_due = began >= analysed.rests_until || ended.is_some();
            let is_known = |sample: &&Sample| {
                let known = analysed.points.get(&sample.point);
                known.is_some_and(|it| counts.get(&sample.point) == Some(&it.samples))
            };
            for sample in samples.iter().filter(|it| is_due && !is_known(it)) {
                changed.entry(sample.point).or_default().push(sample.clone());
            }
        }
        for (point, samples) in changed {
            if let Some(of_point) = self.analyse(&samples) {
                analysed.points.insert(point, of_point);
            }
        }
        let now = clock::now();
        if now > began {
            analysed.rests_until = now + now.since(began) * REST;
        }
        let points = analysed.points.values();
        let report = Report {
            title: self.title.clone(),
            level: LEVEL,
            host_noise_ns: self.plan.host_noise_ns,
            points: points.clone().map(|it| it.report.clone()).collect(),
        };
        let judged = match &ended {
            Some(ended) => ended.judged.clone(),
            None => points.flat_map(|it| it.judged.iter().cloned()).collect(),
        };
        ResultsSoFar { report, judged, finished, ended }
    }

    /// Result of the samples of a point; its requirements are judged once all its runs are made.
    fn analyse(&self, samples: &[Sample]) -> Option<OfPoint> {
        let bounded: &[Point] = if self.plan.is_predicted { &self.points } else { &[] };
        let of =
            |level: f64| analyse(samples, level).with_groups(&self.points).with_bounds(bounded);
        let report = of(LEVEL).with_host_noise(samples, self.plan.host_noise_ns);
        let runs = samples.iter().filter(|sample| sample.complete).count() as u64;
        let first = self.points.get(samples.first()?.point)?.scenario.replications;
        let judged = match (runs >= first, self.plan.may_grow) {
            (false, _) => Vec::new(),
            (true, false) => judge(&report, &self.points),
            // Each look at growing data is another chance of error.
            (true, true) => judge(&of(level_of_look(LEVEL, look_at(runs, first))), &self.points),
        };
        let report = report.points.into_iter().next()?;
        Some(OfPoint { samples: samples.len(), report, judged })
    }

    /// Each point with its runs and its verdict.
    fn points(&self, so_far: &ResultsSoFar, course: &Course) -> Sheet {
        let row = |point: &Point| {
            let runs = so_far.finished.get(&point.index).copied().unwrap_or(0);
            let planned = point.scenario.replications;
            let here: Vec<Judged> =
                so_far.judged.iter().filter(|it| it.point == point.index).cloned().collect();
            let is_over = so_far.ended.is_some();
            let is_under_way =
                course.under_way.as_ref().is_some_and(|run| run.point == point.index);
            let (grade, words) = match (here.is_empty(), runs) {
                (false, _) => {
                    let verdict = worst(&here);
                    (grade_of(of_study::grade(verdict)), verdict.word())
                }
                (true, 0) if is_over => (None, "not made"),
                (true, 0) if is_under_way => (None, "under way"),
                (true, 0) => (None, "waiting"),
                (true, runs) if runs < planned && !is_over => (None, "under way"),
                (true, _) => deadlines(&so_far.report, point.index),
            };
            let so_far =
                if self.plan.may_grow && !is_over && !here.is_empty() { " so far" } else { "" };
            let number = (point.index + 1).to_string();
            let cells = [
                number,
                settings(&point.settings),
                runs.to_string(),
                planned.max(runs).to_string(),
                format!("{words}{so_far}"),
            ];
            Line { grade, cells: cells.to_vec() }
        };
        Sheet {
            id: "points",
            title: "Points".to_owned(),
            about: "A point is one setting of the keys that vary.".to_owned(),
            heads: ["point", "settings", "runs", "planned", "verdict"].map(str::to_owned).to_vec(),
            rows: self.points.iter().map(row).collect(),
        }
    }

    /// Time so far, and the estimate of the rest.
    fn times(&self, done: u64, course: &Course) -> (u64, Option<u64>) {
        let until = course.ended.as_ref().map_or_else(clock::now, |ended| ended.at);
        let elapsed = nanos(until.since(self.began));
        let fresh = done.saturating_sub(course.kept as u64);
        let share = course.under_way.as_ref().map_or(0.0, |run| run.share);
        let made = fresh as f64 + share;
        let left = (course.of.saturating_sub(done) as f64 - share).max(0.0);
        // A run that has just begun gives no estimate.
        let each = (made >= LEAST_SHARE).then(|| elapsed as f64 / made);
        (elapsed, each.map(|each| (each * left) as u64))
    }
}

impl Ongoing for StudyState {
    fn progress(&self) -> Progress {
        let so_far = self.so_far();
        let ResultsSoFar { report, judged, finished, ended } = &so_far;
        let done = finished.values().sum();
        let course = self.course.lock();
        let (elapsed_ns, remaining_ns) = self.times(done, &course);
        let result = (!judged.is_empty()).then(|| {
            let words = if ended.is_some() { "verdict" } else { "verdict so far" };
            let grade = grade_of(of_study::grade(worst(judged)));
            (grade, format!("{words}: {}", verdicts::conclusion(judged, report)))
        });
        let mut sheets = vec![self.points(&so_far, &course)];
        let tables = of_study::tables(report).into_iter();
        sheets.extend(tables.zip(["times", "deadlines"]).filter_map(|(it, id)| sheet(id, it)));
        sheets.extend(requirements(judged, report));
        let run = course.under_way.as_ref().filter(|_| ended.is_none());
        Progress {
            title: self.title.clone(),
            verb: self.plan.verb,
            stage: match ended {
                None => Stage::UnderWay,
                Some(Ended { error: None, .. }) => Stage::Complete,
                Some(Ended { error: Some(why), .. }) => Stage::CutShort(why.clone()),
            },
            done,
            of: course.of,
            may_grow: self.plan.may_grow && ended.is_none(),
            unit: "run",
            elapsed_ns,
            remaining_ns,
            result,
            notes: run.map(UnderWay::notes).unwrap_or_default(),
            afterwards: afterwards(course.folder.as_deref()),
            has_report: done > 0,
            sheets,
        }
    }

    fn report(&self) -> Result<String, String> {
        let _one = self.reporting.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = self.samples.lock().clone();
        if samples.is_empty() {
            return Err("no run is finished yet".to_owned());
        }
        let of = self.course.lock().of;
        let reason = format!("{} of {of} runs are finished", samples.len());
        let results = Results { samples, end: End { complete: false, error: Some(reason) } };
        let run = StudyRun {
            path: "the run under way",
            results: &results,
            provenance: None,
            points: &self.points,
            judged: Some(self.so_far().judged),
            percentiles: &[],
        };
        let glossary = Glossary::read(include_str!("../../help/glossary.md"));
        let document = of_study(&run, None, Acceptance::default(), &glossary);
        Ok(reports::html::html(&document))
    }
}

/// Worst result of the deadlines of a point, with its severity.
fn deadlines(report: &Report, point: usize) -> (Option<&'static str>, &'static str) {
    let here = report.points.iter().find(|it| it.point == point);
    let all: Vec<Met> = here.map_or_else(Vec::new, |point| {
        point.flows.iter().map(|flow| Met::of(flow, point)).collect()
    });
    let worst_first = [
        (Met::Missed, Some("bad"), "a deadline is missed"),
        (Met::NotKnown, Some("look"), "a deadline is not known to be met"),
        (Met::NoneSent, Some("look"), "a flow sent nothing"),
        (Met::Once, Some("good"), "deadlines met once"),
        (Met::InTheRuns, Some("good"), "deadlines met in these runs"),
        (Met::Always, Some("good"), "deadlines always met"),
    ];
    let found = worst_first.into_iter().find(|(met, ..)| all.contains(met));
    found.map_or((None, "no requirement, no deadline"), |(_, grade, words)| (grade, words))
}

/// Requirements of finished points, the worst first.
fn requirements(judged: &[Judged], report: &Report) -> Option<Sheet> {
    let worst = of_study::requirements(judged, report).into_iter().take(MOST_REQUIREMENTS);
    let rows = worst.map(|it| Line {
        grade: grade_of(it.grade),
        cells: [it.text, it.of, it.found, it.interval, it.verdict]
            .map(|text| text.to_string())
            .to_vec(),
    });
    let heads = ["requirement", "of", "found", "interval", "verdict"];
    let sheet = Sheet {
        id: "requirements",
        title: "Requirements of finished points".to_owned(),
        about: match judged.len() {
            all @ ..=MOST_REQUIREMENTS => format!("{all} in all, the worst first."),
            all => format!("The worst {MOST_REQUIREMENTS} of {all}; the report has more."),
        },
        heads: heads.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    Some(sheet).filter(|sheet| !sheet.rows.is_empty())
}

/// A table of a report as one of the page.
fn sheet(id: &'static str, table: Table) -> Option<Sheet> {
    let Table { caption, heads, rows, left_out, notes: _ } = table;
    let texts = |texts: Vec<reports::text::Text>| texts.iter().map(ToString::to_string).collect();
    let more = match left_out {
        0 => String::new(),
        rows => format!("{rows} more rows are in the records."),
    };
    let rows: Vec<Line> =
        rows.into_iter().map(|row| Line { grade: None, cells: texts(row) }).collect();
    let sheet = Sheet { id, title: caption.to_string(), about: more, heads: texts(heads), rows };
    Some(sheet).filter(|sheet| !sheet.rows.is_empty())
}

/// Name of a grade on the page.
const fn grade_of(grade: Grade) -> Option<&'static str> {
    match grade {
        Grade::Pass => Some("good"),
        Grade::Open => Some("look"),
        Grade::Fail => Some("bad"),
        Grade::Note => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn a_single_run_under_way_shows_its_messages_and_delays() {
        let text = bench::scenarios::get("status-short").unwrap().text;
        let study = bench::scenario::load(text, "status-short").unwrap();
        let plan = Plan {
            verb: "measure",
            runs: 1,
            may_grow: false,
            is_predicted: false,
            host_noise_ns: None,
        };
        let state = StudyState::new(&study, plan);
        let verdict = |of: &Progress| of.sheets[0].rows[0].cells[4].clone();
        let waiting = state.progress();
        assert_eq!((verdict(&waiting).as_str(), waiting.remaining_ns), ("waiting", None));
        state.begin_run(0);
        let length = Length { time: Duration::from_secs(8), messages: Some(80), is_answered: true };
        let mut so_far = SoFar { sent: 40, ..SoFar::default() };
        (0..20).for_each(|_| so_far.responses.record(Duration::from_micros(200)));
        state.under_way(&so_far, &length);
        let progress = state.progress();
        assert_eq!(verdict(&progress), "under way");
        assert!(progress.remaining_ns.is_some(), "half of the run is over");
        let [sent, delays] = progress.notes.as_slice() else { panic!("{:?}", progress.notes) };
        assert_eq!(sent, "40 messages sent in the run under way");
        assert!(delays.starts_with("response so far: p50 200 "), "{delays}");
        state.end(None, &[]);
        assert!(state.progress().notes.is_empty());
    }
}

//! What `watch` and `meter` share: how to measure, as the command line says it, and telling what was
//! found.

use super::watch::{Export, Requirements};
use crate::args::export::FailOn;
use crate::args::measuring::MeasuringOptions;
use crate::calendar;
use crate::exit::{Exit, Failure};
use crate::interrupt::{self, LOOK_UP};
use crate::metrics::{Exporter, Health};
use crate::output::Output;
use crate::quantity::{self, counted};
use crate::screens::Findings;
use crate::stream::{Details, Finding, Head, Item, Lines, Origin, Record, Recorder, Spans, Subset};
use bench::scenario::{Rate, Span};
use bench::verdict::Verdict;
use core::time::Duration;
use live::clock;
use meter::measure::{BOUNDS_OCTETS, NO_BOUND_OCTETS};
use meter::oddity::{Class, Oddities};
use meter::{Report, Settings};
use std::io;
use std::sync::mpsc::SyncSender;
use wire::time::Instant;
use wire::units::BitRate;

/// The measurement interval, unless another is asked for.
pub(super) const MEASURE: Duration = Duration::from_secs(10);

/// How to measure and what of it to tell.
#[derive(Clone, Debug)]
pub(super) struct Measuring {
    pub(super) settings: Settings,
    pub(super) spans: Spans,
    pub(super) details: Details,
    pub(super) only: Subset,
}

impl Measuring {
    /// As the command line says.
    ///
    /// # Errors
    /// What makes no sense of it.
    pub(super) fn of(options: &MeasuringOptions) -> Result<Self, Failure> {
        let span = |name: &str, text: &Option<String>| {
            let span = text.as_deref().map(|text| {
                let Span(span) = quantity::option(name, text)?;
                let nothing =
                    || Failure::usage(format!("{name} {text:?}: an interval takes some time"));
                Some(span).filter(|span| !span.is_zero()).ok_or_else(nothing)
            });
            span.transpose()
        };
        let interval = span("--measure", &options.measure)?.unwrap_or(MEASURE);
        let report = span("--report", &options.report)?.unwrap_or(interval);
        if report > interval {
            let failure = Failure::usage("--report is longer than the measurement interval");
            return Err(failure.with_fix("--measure with as long an interval, or longer"));
        }
        let sample = span("--sample", &options.sample)?;
        let channel = options.channel.as_deref();
        let channel =
            channel.map(|text| quantity::option::<Rate>("--channel", text)).transpose()?;
        let origin = match &options.start {
            None => None,
            Some(text) => Some(calendar::parse(text).ok_or_else(|| {
                Failure::usage(format!("--start {text:?}: expected {}", calendar::EXPECTED))
            })?),
        };
        let settings = Settings {
            origin,
            channel: channel.map_or(BitRate::mbps(10), |Rate(channel)| channel),
            bounds_octets: bounds(&options.sizes)?,
            ..Settings::every(interval)
        };
        let spans = Spans { report, sample, intervals: options.intervals };
        let only = options.only.clone().unwrap_or_default();
        Ok(Self { settings, spans, details: Details { top: options.top }, only })
    }

    /// The head of the stream.
    pub(super) fn head(&self, origin: Origin) -> Head {
        Head::of(origin, &self.settings, (self.spans, self.details, &self.only))
    }

    /// A meter that tells what it finds.
    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.settings.clone(), self.spans, self.details)
    }
}

/// The bounds of the classes of sizes.
fn bounds(sizes: &[u64]) -> Result<[u64; 9], Failure> {
    if sizes.is_empty() {
        return Ok(BOUNDS_OCTETS);
    }
    let is_ascending = sizes.is_sorted_by(|a, b| a < b);
    let is_bounded = sizes.last().is_some_and(|last| *last < NO_BOUND_OCTETS);
    if sizes.len() > BOUNDS_OCTETS.len() || !is_ascending || !is_bounded {
        let failure = Failure::usage("--sizes: up to nine sizes, each greater than the one before");
        return Err(failure.with_fix("--sizes 64,128,256,512,1024"));
    }
    let mut bounds = [NO_BOUND_OCTETS; 9];
    bounds.iter_mut().zip(sizes).for_each(|(bound, size)| *bound = *size);
    Ok(bounds)
}

/// Times the speed at which things came about; none means at once.
///
/// # Errors
/// What is neither a number, with or without an x behind it, nor `max`.
pub(super) fn speed(text: &str) -> Result<Option<f64>, Failure> {
    if text == "max" {
        return Ok(None);
    }
    match text.strip_suffix('x').unwrap_or(text).parse::<f64>() {
        Ok(speed) if (0.001..=1e6).contains(&speed) => Ok(Some(speed)),
        Ok(_) | Err(_) => {
            let expected = "expected from 0.001 to 1000000, or max";
            Err(Failure::usage(format!("--speed {text:?}: {expected}")))
        }
    }
}

/// When what came about at a time is due on a screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    speed: f64,
    /// When it began, on the clock and in the stream.
    begun: Option<(Instant, Instant)>,
}

impl Pace {
    /// So many times as fast as it came about.
    pub(super) const fn new(speed: f64) -> Self {
        Self { speed, begun: None }
    }

    /// The first of all is due at once.
    pub(super) fn begun(&mut self, at: Instant) -> &mut Self {
        self.begun.get_or_insert_with(|| (clock::now(), at));
        self
    }

    /// Waits for what came about at a time, but not for long; whether it is due, or nobody waits.
    pub(super) fn wait(&self, at: Instant) -> bool {
        let Some((clock_begun, begun)) = self.begun else { return true };
        let due = clock_begun + stretched(at.since(begun), 1.0 / self.speed);
        let now = clock::now();
        if now >= due || interrupt::requested() {
            return true;
        }
        clock::sleep_until(due.min(now + LOOK_UP));
        false
    }

    /// What time it is in the stream.
    fn reached(&self) -> Instant {
        let Some((clock_begun, begun)) = self.begun else { return Instant::ZERO };
        begun + stretched(clock::now().since(clock_begun), self.speed)
    }
}

/// A span times a factor, as long as that can be told.
fn stretched(span: Duration, by: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(Duration::MAX)
}

/// How the frames came to an end.
pub(super) struct Heard {
    /// What stopped them, if they were stopped.
    pub(super) failure: Option<Failure>,
    /// Whether the last interval lasts only as long as frames were heard: of a live port, and of
    /// whatever was broken off.
    pub(super) is_cut: bool,
}

/// Tells what a recorder finds: as records or in lines, and to whoever asks for metrics.
pub(super) struct Teller<'a> {
    to: To<'a>,
    only: Subset,
    beside: Beside,
    total: Option<Box<Report>>,
    /// Judges the whole at its end; none for a screen, which judges by itself.
    findings: Option<Findings>,
    /// Finding from which on the exit code is 3.
    fail_on: Option<FailOn>,
    /// Whether there was one.
    has_failed: bool,
    /// Whether frames are missing, so that verdicts are worth less.
    is_missing: bool,
}

/// What is done with findings beside telling them.
#[derive(Default)]
pub(super) struct Beside {
    /// Metrics for whoever asks.
    pub(super) exporter: Option<Exporter>,
    /// Files.
    pub(super) export: Export,
    /// What must hold.
    pub(super) requirements: Requirements,
    /// Finding from which on the exit code is 3.
    pub(super) fail_on: Option<FailOn>,
}

/// Where records go.
enum To<'a> {
    /// To standard output, as they are or as lines.
    Output(&'a Output, Box<Lines>),
    /// To a screen, at the pace at which they came about.
    Screen(SyncSender<Record>, Option<Pace>),
}

impl<'a> Teller<'a> {
    /// Tells the head.
    ///
    /// # Errors
    /// What the system says of standard output.
    pub(super) fn begin(
        output: &'a Output,
        head: Head,
        only: Subset,
        beside: Beside,
    ) -> io::Result<Self> {
        output.record(&Record::Stream(head.clone()))?;
        let findings = (!output.quiet || output.json || beside.fail_on.is_some())
            .then(|| Findings::new(&head));
        let fail_on = beside.fail_on;
        let to = To::Output(output, Box::new(Lines::new(head)));
        let (total, has_failed, is_missing) = (None, false, false);
        Ok(Self { to, only, beside, total, findings, fail_on, has_failed, is_missing })
    }

    /// Tells a screen that has the head; at so many times the speed of the frames, or at once.
    pub(super) fn on_screen(screen: SyncSender<Record>, only: Subset, speed: Option<f64>) -> Self {
        let to = To::Screen(screen, speed.map(Pace::new));
        Self {
            to,
            only,
            beside: Beside::default(),
            total: None,
            findings: None,
            fail_on: None,
            has_failed: false,
            is_missing: false,
        }
    }

    /// Whether nobody waits for frames to be due or asks for metrics.
    pub(super) const fn has_nothing_else(&self) -> bool {
        matches!(self.to, To::Output(..)) && self.beside.exporter.is_none()
    }

    /// Waits until a frame is due on a screen, and tells what is due before it.
    pub(super) fn wait(&mut self, at: Instant, recorder: &mut Recorder) -> io::Result<()> {
        let To::Screen(_, Some(pace)) = &mut self.to else { return Ok(()) };
        let pace = *pace.begun(at);
        while !pace.wait(at) {
            recorder.advance(pace.reached().min(at));
            self.tell(recorder)?;
        }
        Ok(())
    }

    /// Tells all that was found since.
    pub(super) fn tell(&mut self, recorder: &mut Recorder) -> io::Result<()> {
        if let Some(began) = recorder.meter().began() {
            self.beside.export.begin(began);
        }
        while let Some(item) = recorder.take() {
            self.note(&item, recorder.settings())?;
            let record = Record::of(&item, &self.only);
            let is_end = matches!(item, Item::End(_));
            for finding in self.judge(&item, &record) {
                self.write(&Record::Finding(finding))?;
            }
            match &mut self.to {
                To::Output(output, lines) => {
                    // The end is the last record; of lines the last are the verdict.
                    if is_end && output.json {
                        self.beside.requirements.tell(output)?;
                    }
                    output.record(&record)?;
                    lines.tell(&record, output)?;
                    if is_end && !output.json {
                        self.beside.requirements.tell(output)?;
                    }
                }
                To::Screen(screen, _) => {
                    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
                    screen.send(record).map_err(gone)?;
                }
            }
        }
        Ok(())
    }

    /// Judges the whole once its end is known: findings, the worst first; none before.
    fn judge(&mut self, item: &Item, record: &Record) -> Vec<Finding> {
        let Some(findings) = &mut self.findings else { return Vec::new() };
        // Those of the whole judge all measures, whichever of them are reported.
        match item {
            _ if self.only.patterns().is_some() => {
                findings.take(&Record::of(item, &Subset::default()))
            }
            _ => findings.take(record),
        }
        if !matches!(item, Item::End(_)) {
            return Vec::new();
        }
        let found = findings.records();
        let fails = |finding: &Finding| self.fail_on.is_some_and(|on| on.fails(&finding.grade));
        self.has_failed = found.iter().any(fails);
        found
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        if let To::Output(output, lines) = &mut self.to {
            output.record(record)?;
            lines.tell(record, output)?;
        }
        Ok(())
    }

    /// Does what is to be done beside.
    fn note(&mut self, item: &Item, settings: &Settings) -> io::Result<()> {
        let Beside { exporter, export, requirements, .. } = &mut self.beside;
        match item {
            Item::Interval(interval) if interval.is_over => {
                if let Some(exporter) = exporter {
                    exporter.add(&interval.report);
                }
                requirements.interval(&interval.report, settings);
                export.interval(&interval.report);
                Ok(())
            }
            Item::Connection(connection) => {
                requirements.connection(connection);
                export.connection(connection);
                Ok(())
            }
            Item::Host(host) => {
                requirements.host(host);
                export.host(host);
                Ok(())
            }
            Item::Total(total) => {
                self.total = Some(total.clone());
                Ok(())
            }
            Item::End(_) => {
                let Some(total) = self.total.take() else { return Ok(()) };
                export.finish(&total);
                requirements.total(&total, self.is_missing);
                Ok(())
            }
            Item::Interval(_)
            | Item::Sample(_)
            | Item::HostInterval(_)
            | Item::ConnectionInterval(_)
            | Item::Rest(_) => Ok(()),
        }
    }

    /// Publishes what is counted, where somebody asks or it is time.
    pub(super) fn publish(&mut self, recorder: &Recorder, health: impl FnOnce() -> Health) {
        if let Some(exporter) = &mut self.beside.exporter
            && exporter.wants()
        {
            exporter.publish(recorder.meter(), health());
        }
    }
}

impl Teller<'_> {
    /// Warns of frames that are in no measure since they are earlier than the first; whether they are so
    /// many that captures were hardly given in their order. Where `--start` was said, that is as asked.
    fn remark_on_early_frames(&self, recorder: &Recorder, oddities: &Oddities) -> bool {
        let early = oddities.get(Class::Time, "frame before the origin");
        if early == 0 || recorder.settings().origin.is_some() {
            return false;
        }
        if let To::Output(output, _) = &self.to {
            let (frames, are) = (counted(early, "frame"), if early == 1 { "is" } else { "are" });
            output.remark(format_args!(
                "warning: {frames} of {} {are} earlier than the first, and in no measure: captures \
                 are to be given in their order in time",
                recorder.frames()
            ));
        }
        early.saturating_mul(100) >= recorder.frames()
    }
}

/// Tells the last interval, the total and the end.
pub(super) fn conclude(
    heard: Heard,
    recorder: &mut Recorder,
    teller: &mut Teller<'_>,
) -> anyhow::Result<Exit> {
    let Heard { failure, is_cut } = heard;
    let is_interrupted = interrupt::requested();
    let error = match (&failure, is_interrupted) {
        (Some(failure), _) => Some(failure.to_string()),
        (None, true) => Some("interrupted".to_owned()),
        (None, false) => None,
    };
    let has_dropped = recorder.collected().dropped().is_some_and(|dropped| dropped > 0);
    teller.is_missing = failure.is_some() || has_dropped;
    let oddities = recorder.finish(is_cut, error);
    let is_early = teller.remark_on_early_frames(recorder, &oddities);
    teller.is_missing |= is_early;
    teller.tell(recorder)?;
    let verdict = teller.beside.requirements.verdict();
    let exit = match (failure, is_interrupted, recorder.collected().dropped()) {
        (_, true, _) => Exit::Interrupted,
        (Some(failure), ..) => return Err(failure.into()),
        (None, false, _) if verdict == Some(Verdict::Fail) || teller.has_failed => {
            Exit::RequirementNotMet
        }
        (None, false, _) if verdict == Some(Verdict::Undecided) => Exit::Undecided,
        // What was dropped is in no measure, so none of them is valid.
        (None, false, Some(1..)) => Exit::Undecided,
        (None, false, _) if is_early => Exit::Undecided,
        (None, false, _) => Exit::Ok,
    };
    let unwritten = teller.beside.export.take_failure();
    unwritten.map_or(Ok(exit), |failure| Err(failure.into()))
}

//! Output that `watch` and `meter` share: results of a recorder, to all their destinations.

mod conclusion;
mod printer;
mod printing_thread;

pub(super) use conclusion::{CaptureEnd, conclude};

use self::printer::{Content, Printer};
use self::printing_thread::{Destination, PrintingThread};
use super::pace::Pace;
use super::page::LivePage;
use super::side_outputs::SideOutputs;
use super::watch::require;
use crate::args::export::FailOn;
use crate::exit::Failure;
use crate::output::{self, Output};
use crate::record_folder::KeptRun;
use crate::stream::lines::Lines;
use crate::tui::{Gather, SampleLines, Shared, Tempo};
use core::time::Duration;
use live::clock;
use meter::Report;
use records::families::Health;
use records::findings::Findings;
use records::require::EarlyFailure;
use records::state::Model;
use records::tables::{publishers, rows, streams, transactions};
use records::{Finding, Head, Item, Plant, Record, Recorder, Subset};
use reports::provenance::ReadCapture;
use std::io;
use wire::time::Instant;

/// Time between two looks at the state of the meter for a screen.
const HEALTH_EVERY: Duration = Duration::from_millis(500);
/// Age that a frame may have when it leaves a pipe.
const PIPE_LAG: Duration = Duration::from_millis(500);

/// Prints the results of a recorder as records or lines, and serves them as metrics.
pub(super) struct Reporter<'a> {
    to: To<'a>,
    /// Pace at which frames came about; none takes them at once.
    pace: Option<Pace>,
    /// Samples of the monitor.
    samples: Option<Shared<Gather>>,
    content: Content,
    side_outputs: SideOutputs,
    total: Option<Box<Report>>,
    /// Judges the whole at its end; none for a screen, which judges by itself.
    findings: Option<Findings>,
    /// Finding from which on the exit code is 3.
    fail_on: Option<FailOn>,
    /// True if there was such a finding.
    has_failed: bool,
    /// True if a requirement has failed permanently before the end.
    has_failed_early: bool,
    /// Permanent failures that are not yet taken.
    failed_early: Vec<EarlyFailure>,
    /// True if frames are missing, which weakens verdicts.
    is_missing: bool,
    /// True if no frame could be read, so that a total would be zeros.
    has_no_frames: bool,
    /// True if the last interval is over.
    is_over: bool,
    /// True if the records of a whole connection are under way, not those of a report.
    is_of_whole: bool,
    /// Prints records to standard output; none for a screen, and while the thread has it.
    printer: Option<Printer>,
    /// Takes the items before the end, if they are of files and go nowhere else.
    thread: Option<PrintingThread>,
    /// Time at which the screen gets the state of the meter again.
    health_at: Instant,
}

/// Destination of records.
enum To<'a> {
    /// To standard output, as they are or as lines.
    Output(&'a Output),
    /// To pages of measures.
    Screen(Shared<Model>),
    /// To no output: only samples are printed.
    Samples(Box<SampleLines<'a>>),
}

impl<'a> Reporter<'a> {
    /// Writes the head.
    ///
    /// # Errors
    /// Errors of standard output.
    pub(super) fn begin(
        output: &'a Output,
        head: Head,
        only: Subset,
        mut side_outputs: SideOutputs,
    ) -> io::Result<Self> {
        output.record(&Record::Stream(head.clone()))?;
        if let Some(folder) = &mut side_outputs.folder {
            folder.measures(&Record::Stream(head.clone()));
        }
        let is_judged = side_outputs.fail_on.is_some() || side_outputs.folder.is_some();
        let findings = (!output.quiet || output.json || is_judged).then(|| Findings::new(&head));
        let fail_on = side_outputs.fail_on;
        let printer = Some(Printer::new(*output, Lines::new(head)));
        let content = Content { only, histograms: side_outputs.histograms };
        let of_output = Self::to(To::Output(output), Subset::default(), None);
        Ok(Self { findings, fail_on, content, side_outputs, printer, ..of_output })
    }

    /// Gives records to the pages of a screen and reports to its monitor, at a multiple of the speed
    /// of the frames, or at once.
    pub(super) fn on_screen(
        model: Shared<Model>,
        samples: Shared<Gather>,
        only: Subset,
        tempo: Option<Tempo>,
    ) -> Self {
        Self { samples: Some(samples), ..Self::to(To::Screen(model), only, tempo) }
    }

    /// Keeps the records in a run folder too, if there is one.
    pub(super) fn keeping(self, run: KeptRun) -> Self {
        let KeptRun { head, folder: Some(mut folder), hides_reports, hides_samples } = run else {
            return self;
        };
        folder.measures(&Record::Stream(head.clone()));
        let findings = Some(Findings::new(&head));
        let folder = Some(folder);
        let side_outputs =
            SideOutputs { folder, hides_reports, hides_samples, ..self.side_outputs };
        Self { findings, side_outputs, ..self }
    }

    /// Prints the samples of the monitor as lines.
    pub(super) fn of_samples(
        output: &'a Output,
        samples: Shared<Gather>,
        tempo: Option<Tempo>,
    ) -> Self {
        let to = To::Samples(Box::new(SampleLines::new(output)));
        Self { samples: Some(samples), ..Self::to(to, Subset::default(), tempo) }
    }

    fn to(to: To<'a>, only: Subset, tempo: Option<Tempo>) -> Self {
        Self {
            to,
            pace: tempo.map(Pace::new),
            samples: None,
            content: Content { only, histograms: false },
            side_outputs: SideOutputs::default(),
            total: None,
            findings: None,
            fail_on: None,
            has_failed: false,
            has_failed_early: false,
            failed_early: Vec::new(),
            is_missing: false,
            has_no_frames: false,
            is_over: false,
            is_of_whole: false,
            printer: None,
            thread: None,
            health_at: Instant::ZERO,
        }
    }

    /// True if no screen waits for frames and no exporter serves metrics.
    pub(super) const fn has_nothing_else(&self) -> bool {
        matches!(self.to, To::Output(_)) && self.side_outputs.exporter.is_none()
    }

    /// True if samples are printed, which may be complete before the recorder has a result.
    pub(super) const fn prints_samples(&self) -> bool {
        matches!(self.to, To::Samples(_))
    }

    /// Waits until a frame is due on a screen, and sends the records that are due before it.
    pub(super) fn wait(&mut self, at: Instant, recorder: &mut Recorder) -> io::Result<()> {
        let Some(pace) = &mut self.pace else { return Ok(()) };
        pace.begin(at);
        while let Some(pace) = &mut self.pace {
            if pace.wait(at) {
                break;
            }
            let reached = pace.reached().min(at);
            self.pass(recorder, reached)?;
        }
        Ok(())
    }

    /// Advances the time while no frame comes from a pipe, if its frames have a pace.
    pub(super) fn pass_silence(&mut self, recorder: &mut Recorder) -> io::Result<()> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let reached = pace.reached().saturating_sub(PIPE_LAG);
        self.pass(recorder, reached)
    }

    /// Advances the time to at least `now`, and sends the records that are due.
    pub(super) fn pass(&mut self, recorder: &mut Recorder, now: Instant) -> io::Result<()> {
        recorder.advance(now);
        if let Some(samples) = &self.samples {
            samples.lock().advance(now);
        }
        self.tell(recorder)
    }

    /// Begins the time of samples, although no frame has come.
    pub(super) fn begin_samples(&mut self, now: Instant) {
        if let Some(samples) = &self.samples {
            samples.lock().begin(now);
        }
    }

    /// Prints all results since the last call.
    pub(super) fn tell(&mut self, recorder: &mut Recorder) -> io::Result<()> {
        if let Some(began) = recorder.meter().began() {
            self.side_outputs.export.begin(began);
        }
        while let Some(item) = recorder.take() {
            self.note(&item, recorder)?;
            if self.has_no_frames && matches!(item, Item::Total(_)) {
                continue;
            }
            let Some(item) = self.leave_to_thread(item)? else { continue };
            let is_judged = self.findings.as_ref().is_some_and(|it| it.judges(&item));
            let record = self.record(&item);
            let is_put = !self.is_of_page_alone(&item);
            if is_put {
                self.put(&item, &record)?;
            }
            // That of the end was judged before it was written.
            if !is_put || !is_judged || matches!(item, Item::End(_)) {
                self.show(record);
                continue;
            }
            if self.has_model() {
                self.show(record.clone());
            }
            self.judge(&item, record);
        }
        self.flush()?;
        self.tell_samples(recorder)
    }

    /// Leaves the items of files to a thread, if they are printed and go nowhere else.
    pub(super) fn print_apart(&mut self) {
        let SideOutputs { folder, page, .. } = &self.side_outputs;
        if folder.is_some() || page.is_some() {
            return;
        }
        if let Some(printer) = self.printer.take() {
            let (content, is_brief) = (self.content.clone(), self.has_lines_alone());
            let findings = self.findings.take();
            let to = Destination { printer, content, findings, is_brief };
            self.thread = Some(PrintingThread::new(to));
        }
    }

    /// Leaves an item to the thread, if there is one; returns an item that it does not take. After the
    /// others the end is for this thread.
    fn leave_to_thread(&mut self, item: Item) -> io::Result<Option<Item>> {
        let Some(thread) = &mut self.thread else { return Ok(Some(item)) };
        if !matches!(item, Item::End(_)) {
            return thread.put(item).map(|()| None);
        }
        if let Some(to) = thread.end()? {
            let Destination { printer, findings, .. } = *to;
            (self.printer, self.findings, self.thread) = (Some(printer), findings, None);
        }
        Ok(Some(item))
    }

    /// Converts an item to a record, with what its destinations need.
    fn record(&self, item: &Item) -> Record {
        if self.has_lines_alone() { self.content.brief(item) } else { self.content.record(item) }
    }

    /// True if lines alone come from the records of intervals.
    const fn has_lines_alone(&self) -> bool {
        matches!(self.to, To::Output(Output { json: false, .. }))
            && self.side_outputs.folder.is_none()
            && self.side_outputs.page.is_none()
    }

    /// True if a screen or a page shows the records.
    const fn has_model(&self) -> bool {
        matches!(self.to, To::Screen(_)) || self.side_outputs.page.is_some()
    }

    /// Gives a record to the screen or the page, if there is one.
    fn show(&self, record: Record) {
        match (&self.to, &self.side_outputs.page) {
            (To::Screen(model), _) => model.lock().take(record),
            (_, Some(page)) => page.take(record),
            (To::Output(_) | To::Samples(_), None) => {}
        }
    }

    /// Prints a record and saves it, with the findings and the verdict where it is the end.
    fn put(&mut self, item: &Item, record: &Record) -> io::Result<()> {
        let is_end = matches!(item, Item::End(_));
        let findings = if is_end { self.concluded(item, record) } else { Vec::new() };
        self.save(&findings, record);
        for finding in self.shown(findings) {
            self.write(&Record::Finding(finding))?;
        }
        // The end is the last record; of lines the last are the verdict.
        if is_end && self.prints_records() {
            self.verdict()?;
        }
        self.write(record)?;
        if is_end && !self.prints_records() {
            self.verdict()?;
        }
        Ok(())
    }

    /// True of a report within an interval, or a sample, that only the page or the screen asked for.
    fn is_of_page_alone(&mut self, item: &Item) -> bool {
        let is_of_report = match item {
            Item::Interval(_) | Item::HostInterval(_) | Item::ConnectionInterval(_) => {
                self.is_of_whole = false;
                true
            }
            Item::Connection(_) => {
                self.is_of_whole = true;
                false
            }
            Item::Services(_) | Item::ControlBlocks(_) => !self.is_of_whole,
            Item::Publishers(of) => !of.complete,
            Item::ServicesInterval(_)
            | Item::CyclicStreams(_)
            | Item::TransactionsInterval(_)
            | Item::Rest(_) => true,
            Item::Sample(_)
            | Item::Host(_)
            | Item::CyclicStream(_)
            | Item::Publisher(_)
            | Item::Transactions(_)
            | Item::Total(_)
            | Item::End(_) => false,
        };
        let is_of_screen = self.side_outputs.hides_samples && matches!(item, Item::Sample(_));
        is_of_screen || self.side_outputs.hides_reports && is_of_report && !self.is_over
    }

    /// The streams and pollers for a scenario.
    pub(super) fn take_plant(&mut self) -> Option<Plant> {
        self.side_outputs.plant.take()
    }

    /// The page, which outlives the reports.
    pub(super) fn take_page(&mut self) -> Option<LivePage> {
        self.side_outputs.page.take()
    }

    /// Notes lost frames for the monitor, and prints the samples that are complete.
    fn tell_samples(&mut self, recorder: &Recorder) -> io::Result<()> {
        let Some(samples) = &self.samples else { return Ok(()) };
        let mut gather = samples.lock();
        gather.note_dropped(recorder.collected().dropped());
        match &mut self.to {
            To::Samples(lines) => lines.tell(&gather),
            To::Output(_) | To::Screen(_) => Ok(()),
        }
    }

    /// Prints the end of the samples.
    pub(super) fn end_samples(&self, error: Option<String>) -> io::Result<()> {
        match (&self.to, &self.samples) {
            (To::Samples(lines), Some(samples)) => lines.end(&samples.lock(), error),
            (To::Samples(_) | To::Output(_) | To::Screen(_), _) => Ok(()),
        }
    }

    fn judge(&mut self, item: &Item, record: Record) {
        if let Some(findings) = &mut self.findings {
            self.content.judge(findings, item, record);
        }
    }

    /// Findings of the whole, the worst first, with its last record.
    fn concluded(&mut self, item: &Item, end: &Record) -> Vec<Finding> {
        self.judge(item, end.clone());
        self.findings.as_ref().map(Findings::records).unwrap_or_default()
    }

    /// Findings to print: if quiet, those that fail.
    fn shown(&mut self, mut found: Vec<Finding>) -> Vec<Finding> {
        let fails = |finding: &Finding| self.fail_on.is_some_and(|on| on.fails(&finding.grade));
        self.has_failed |= found.iter().any(fails);
        if matches!(&self.to, To::Output(output) if output.quiet && !output.json) {
            found.retain(fails);
        }
        found
    }

    /// Writes a record to the run folder; before the end the findings and the requirements.
    fn save(&mut self, findings: &[Finding], record: &Record) {
        let SideOutputs { folder, requirements, .. } = &mut self.side_outputs;
        let Some(folder) = folder else { return };
        for finding in findings {
            folder.measures(&Record::Finding(finding.clone()));
        }
        if matches!(record, Record::End(_)) {
            requirements.records().for_each(|outcome| folder.record(&outcome));
        }
        folder.measures(record);
        if matches!(record, Record::Interval(_) | Record::End(_)) {
            folder.flush();
        }
    }

    /// True if records are printed as NDJSON.
    const fn prints_records(&self) -> bool {
        matches!(&self.to, To::Output(Output { json: true, .. }))
    }

    /// Prints the verdict on the requirements.
    fn verdict(&mut self) -> io::Result<()> {
        self.flush()?;
        match &self.to {
            To::Output(output) => require::print(&self.side_outputs.requirements, output),
            To::Screen(_) | To::Samples(_) => Ok(()),
        }
    }

    /// Prints a record, at the latest when all that are due are made.
    fn write(&mut self, record: &Record) -> io::Result<()> {
        self.printer.as_mut().map_or(Ok(()), |printer| printer.print(record))
    }

    /// Writes what is not written yet.
    fn flush(&mut self) -> io::Result<()> {
        self.printer.as_mut().map_or(Ok(()), |printer| printer.flush())
    }

    /// Serves the outputs in addition to printing.
    fn note(&mut self, item: &Item, recorder: &Recorder) -> io::Result<()> {
        if let Some(plant) = &mut self.side_outputs.plant {
            plant.take(item);
        }
        if let Item::Interval(interval) = item {
            self.is_over = interval.is_over;
            if let Some(samples) = &self.samples {
                samples.lock().report(&interval.report);
            }
        }
        let SideOutputs { export, requirements, .. } = &mut self.side_outputs;
        match item {
            Item::Interval(interval) if interval.is_over => {
                self.note_interval(&interval.report, recorder);
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
            Item::ServicesInterval(of) if self.is_over => {
                export.service_intervals(|| rows::service_interval_rows(of));
                Ok(())
            }
            Item::CyclicStream(stream) => {
                requirements.stream(&stream.report, stream.until);
                export.stream(|| streams::row(stream));
                Ok(())
            }
            Item::Publisher(of) => {
                requirements.publisher(of);
                export.publisher(|| publishers::row(of));
                Ok(())
            }
            Item::Transactions(of) => {
                requirements.transactions(of);
                export.transactions(|| transactions::row(of));
                Ok(())
            }
            Item::Interval(_)
            | Item::ServicesInterval(_)
            | Item::Sample(_)
            | Item::HostInterval(_)
            | Item::ConnectionInterval(_)
            | Item::Services(_)
            | Item::ControlBlocks(_)
            | Item::CyclicStreams(_)
            | Item::Publishers(_)
            | Item::TransactionsInterval(_)
            | Item::Rest(_) => Ok(()),
        }
    }

    /// Serves them with an interval that is over.
    fn note_interval(&mut self, report: &Report, recorder: &Recorder) {
        let SideOutputs { exporter, export, requirements, .. } = &mut self.side_outputs;
        if let Some(exporter) = exporter {
            exporter.add(report);
        }
        requirements.interval(report, recorder.settings());
        let has_dropped = recorder.collected().dropped().is_some_and(|lost| lost > 0);
        let failed = requirements.failed_early(report, recorder.meter(), has_dropped);
        failed.iter().for_each(output::say);
        export.interval(report);
        self.has_failed_early |= !failed.is_empty();
        self.failed_early.extend(failed);
    }

    /// Takes the requirements that have failed permanently since the last call.
    pub(super) fn take_failed_early(&mut self) -> Vec<EarlyFailure> {
        core::mem::take(&mut self.failed_early)
    }

    /// True if a failure ends the run before its frames do.
    pub(super) const fn is_enough(&self) -> bool {
        self.side_outputs.fails_fast && self.has_failed_early
    }

    /// Publishes the counts on request or when they are due, and the state of the meter to a screen.
    pub(super) fn publish(&mut self, recorder: &Recorder, health: impl FnOnce() -> Health) {
        if let (To::Screen(_), Some(samples)) = (&self.to, &self.samples) {
            let now = clock::now();
            if now >= self.health_at {
                self.health_at = now + HEALTH_EVERY;
                samples.lock().note_health(health(), now);
            }
            return;
        }
        if let Some(exporter) = &mut self.side_outputs.exporter
            && exporter.wants()
        {
            exporter.publish(recorder.meter(), health());
        }
    }
}

impl Reporter<'_> {
    /// True if a run folder is written, which names the captures that were read.
    pub(super) const fn keeps_folder(&self) -> bool {
        self.side_outputs.folder.is_some()
    }

    /// Notes a capture that was read in the run folder.
    pub(super) fn note_read(&mut self, capture: ReadCapture) {
        if let Some(folder) = &mut self.side_outputs.folder {
            folder.note_read(capture);
        }
    }

    /// Removes the run folder: nothing was metered.
    fn discard_folder(&mut self) {
        if let Some(folder) = self.side_outputs.folder.take() {
            folder.discard();
        }
    }

    /// Ends the run folder; returns the reason if it is incomplete.
    fn end_folder(&mut self) -> Option<Failure> {
        let folder = self.side_outputs.folder.take()?;
        match &self.to {
            To::Output(output) => folder.finish(output).err(),
            // The summary names the folder, after the screen.
            To::Screen(_) => folder.finish(&Output { json: false, quiet: true }).err(),
            To::Samples(_) => None,
        }
    }
}

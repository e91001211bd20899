//! Frames on their way to the meter, and the other outputs that receive them.

use super::annotate::{Annotated, Cut, Frame, Wanted};
use super::around::Around;
use super::events::Events;
use super::stages::{Stage, Stages};
use crate::anonymize::Key;
use crate::args::Watch;
use crate::command::reporter::Reporter;
use crate::exit::Failure;
use crate::output::Output;
use crate::secret;
use crate::store::Target;
use crate::tui::{Gather, Shared};
use meter::Remarks;
use records::Recorder;
use wire::capture::Interface;
use wire::filter::Filter;
use wire::rewrite::{Renamed, Renamer};

/// Outputs of frames other than the meter.
#[derive(Default)]
pub(in crate::command) struct FramePipeline {
    /// Filter of the frames; none passes all of them.
    filter: Option<Filter>,
    left_out: u64,
    names: Option<Renamer<Key>>,
    annotated: Option<Annotated>,
    events: Option<Events>,
    around: Option<Around>,
    /// Samples for the monitor.
    samples: Option<Shared<Gather>>,
    remarks: Remarks,
    /// Time of each stage, with --self.
    stages: Option<Stages>,
}

impl FramePipeline {
    /// Creates the outputs of the command line.
    ///
    /// # Errors
    /// Fails if a file cannot be created.
    pub(super) fn new(watch: &Watch, target: &Target, output: &Output) -> Result<Self, Failure> {
        let export = &watch.export;
        let wanting = Self::wanting(watch.source.filter.clone());
        let said = (!export.anonymize).then(|| wanting.wanted());
        let is_live = watch.source.interface.is_some();
        let cut = || is_live.then(|| Cut::of(said.as_ref(), export.full));
        let annotated = export.annotate.as_deref().map(|path| {
            let cut = cut();
            Annotated::new(Wanted { path, target: target.clone(), cut }, output)
        });
        let annotated = annotated.transpose()?;
        let events =
            export.events.as_deref().map(|path| Events::new(path, target, output)).transpose()?;
        let around = Around::new(&export.around, cut(), target, output)?;
        let key = || secret::open(export.anonymize_key.as_deref()).map(Renamer::new);
        let names = export.anonymize.then(key).transpose()?;
        let stages = watch.own_cost.then(Stages::start);
        Ok(Self { names, annotated, events, around, stages, ..wanting })
    }

    /// Creates a filter without other outputs.
    pub(super) fn wanting(filter: Option<Filter>) -> Self {
        Self { filter, ..Self::default() }
    }

    /// Samples the frames for the monitor, too.
    pub(super) fn sampled(self, samples: Shared<Gather>) -> Self {
        Self { samples: Some(samples), ..self }
    }

    /// Returns the filter.
    pub(super) fn wanted(&self) -> Filter {
        self.filter.clone().unwrap_or_else(Filter::all)
    }

    /// Returns true if every frame goes to the meter unchanged and there is no other output.
    #[inline]
    pub(super) const fn is_nothing(&self) -> bool {
        let Self { filter, names, annotated, events, around, samples, .. } = self;
        let are_kept = annotated.is_some() || around.is_some();
        let are_kept = are_kept || events.is_some() || samples.is_some();
        filter.is_none() && names.is_none() && !are_kept
    }

    /// Returns true if the stages of each frame are timed.
    pub(super) const fn is_timed(&self) -> bool {
        self.stages.is_some()
    }

    /// Ends a stage of a frame, if they are timed.
    #[inline]
    pub(super) fn end(&mut self, stage: Stage) {
        if let Some(stages) = &mut self.stages {
            stages.end(stage);
        }
    }

    /// Prints the cost of the frames, if their stages were timed.
    pub(super) fn report_stages(&mut self, recorder: &Recorder, output: &Output) {
        self.end(Stage::Output);
        if let Some(stages) = &self.stages {
            for line in stages.report(recorder.paths()) {
                output.remark(line);
            }
        }
    }

    /// Returns the number of frames left out, if there is a filter.
    pub(super) fn left_out(&self) -> Option<u64> {
        self.filter.as_ref().map(|_| self.left_out)
    }

    /// Starts a new capture with its own interfaces.
    pub(super) fn begin_capture(&mut self) {
        if let Some(annotated) = &mut self.annotated {
            annotated.begin_capture();
        }
        if let Some(around) = &mut self.around {
            around.begin_capture();
        }
    }

    /// Returns true if an interface has to be described before its first frame.
    pub(super) fn lacks(&self, interface: u32) -> bool {
        let of_annotated = self.annotated.as_ref().is_some_and(|it| it.lacks(interface));
        of_annotated || self.around.as_ref().is_some_and(|it| it.lacks(interface))
    }

    /// Describes the interfaces of the capture.
    pub(super) fn describe(&mut self, interfaces: &[Interface]) {
        if let Some(annotated) = &mut self.annotated {
            annotated.describe(interfaces, self.names.is_none());
        }
        if let Some(around) = &mut self.around {
            around.describe(interfaces, self.names.is_none());
        }
    }

    /// Returns true if frames are written, so that interface counters have to be written too.
    pub(super) const fn are_kept(&self) -> bool {
        self.annotated.is_some()
    }

    /// Writes the counters of the capture's interfaces up to the latest frame.
    pub(super) fn count(&mut self, interfaces: &[Interface]) {
        if let Some(annotated) = &mut self.annotated {
            annotated.count(interfaces);
        }
    }

    /// Flushes buffered output during silence.
    pub(super) fn flush(&mut self) {
        if let Some(annotated) = &mut self.annotated {
            annotated.flush();
        }
        if let Some(around) = &mut self.around {
            around.flush();
        }
    }

    /// Passes a frame to the meter if the filter accepts it, pseudonymised if requested.
    pub(super) fn observe(&mut self, recorder: &mut Recorder, frame: &Frame<'_>) {
        let Frame { at, link, octets, original_octets, .. } = *frame;
        if let Some(filter) = &self.filter
            && !filter.matches(link, octets, original_octets)
        {
            self.left_out += 1;
            if let Some(samples) = &self.samples {
                samples.lock().advance(at);
            }
            return recorder.advance(at);
        }
        let Some(renamer) = &mut self.names else { return self.see(recorder, frame, octets) };
        let Renamed { octets, kept, .. } = renamer.rename(link, octets, original_octets);
        self.see(recorder, &Frame { octets: &octets, ..*frame }, &kept)
    }

    /// Passes a frame to the meter, and the part that may be kept to a capture.
    fn see(&mut self, recorder: &mut Recorder, frame: &Frame<'_>, kept: &[u8]) {
        let Frame { at, link, octets, original_octets, .. } = *frame;
        let has_files = self.annotated.is_some() || self.around.is_some();
        if !has_files && self.events.is_none() && self.samples.is_none() {
            recorder.observe(at, link, octets, original_octets);
            return;
        }
        if !recorder.observe_remarking(at, link, octets, original_octets, &mut self.remarks) {
            return;
        }
        if let Some(samples) = &self.samples {
            samples.lock().observe(frame, &self.remarks);
        }
        if let Some(events) = &mut self.events {
            events.write(frame, &self.remarks);
        }
        if let Some(annotated) = &mut self.annotated {
            annotated.write(frame, kept, &self.remarks);
        }
        if let Some(around) = &mut self.around {
            around.write(frame, kept, &self.remarks);
        }
    }

    /// Writes the requirements that have failed permanently to the file of events.
    pub(super) fn note_failures(&mut self, teller: &mut Reporter<'_>) {
        let failures = teller.take_failed_early();
        if let Some(events) = &mut self.events {
            failures.iter().for_each(|failure| events.write_failure(failure));
        }
    }

    /// Ends the outputs; returns the reason if a file is incomplete.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        let of_events = self.events.as_mut().and_then(Events::finish);
        let of_capture = self.annotated.as_mut().and_then(Annotated::finish);
        let of_around = self.around.as_mut().and_then(Around::finish);
        of_events.or(of_capture).or(of_around)
    }
}

//! Frames on their way to the meter, and what is done with each beside.

use super::annotate::{Annotated, Frame};
use super::events::Events;
use crate::args::Watch;
use crate::exit::Failure;
use crate::stream::Recorder;
use meter::Remarks;
use std::io;
use wire::capture::Interface;

/// What is done with frames beside metering them.
#[derive(Default)]
pub(in crate::command) struct Frames {
    annotated: Option<Annotated>,
    events: Option<Events>,
    remarks: Remarks,
}

impl Frames {
    /// What the command line asks for.
    ///
    /// # Errors
    /// Files that cannot be made.
    pub(super) fn new(watch: &Watch) -> Result<Self, Failure> {
        let annotated = watch.export.annotate.as_deref();
        let annotated = annotated.map(|path| Annotated::new(path, watch.read.as_deref()));
        let events = watch.export.events.as_deref().map(Events::new).transpose()?;
        Ok(Self { annotated: annotated.transpose()?, events, remarks: Remarks::default() })
    }

    /// Whether an interface has to be described before its first frame.
    pub(super) fn lacks(&self, interface: u32) -> bool {
        self.annotated.as_ref().is_some_and(|annotated| annotated.lacks(interface))
    }

    /// Takes notice of the interfaces of the capture.
    pub(super) fn describe(&mut self, interfaces: &[Interface]) -> io::Result<()> {
        self.annotated.as_mut().map_or(Ok(()), |annotated| annotated.describe(interfaces))
    }

    /// Gives a frame to the meter.
    pub(super) fn observe(&mut self, recorder: &mut Recorder, frame: &Frame<'_>) -> io::Result<()> {
        let Frame { at, link, octets, original_octets, .. } = *frame;
        if self.annotated.is_none() && self.events.is_none() {
            recorder.observe(at, link, octets, original_octets);
            return Ok(());
        }
        if !recorder.observe_remarking(at, link, octets, original_octets, &mut self.remarks) {
            return Ok(());
        }
        if let Some(events) = &mut self.events {
            events.write(frame, &self.remarks)?;
        }
        self.annotated.as_mut().map_or(Ok(()), |annotated| annotated.write(frame, &self.remarks))
    }

    /// Ends what is being written.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.annotated.as_mut().map_or(Ok(()), Annotated::finish)
    }
}

//! End of a measurement: the last interval, the total, the verdict and the exit code.

use super::{Reporter, To};
use crate::exit::{Exit, Failure};
use crate::failure;
use crate::interrupt;
use crate::quantity::counted;
use bench::verdict::Verdict;
use meter::oddity::{Class, Oddities};
use records::Recorder;

/// End of the frames.
pub(in crate::command) struct CaptureEnd {
    /// Failure that stopped them, if any.
    pub(in crate::command) failure: Option<Failure>,
    /// True if the last interval ends with the frames: of a live port, and of an interrupted source.
    pub(in crate::command) is_cut: bool,
}

impl Reporter<'_> {
    /// Warns of frames that are in no measure because they are earlier than the first. Returns true if their
    /// share shows captures out of order. With `--start` early frames are
    /// expected, and samples count them: there is no warning.
    fn remark_on_early_frames(&self, recorder: &Recorder, oddities: &Oddities) -> bool {
        let early = oddities.get(Class::Time, "frame before the origin");
        if early == 0 || recorder.settings().origin.is_some() || self.prints_samples() {
            return false;
        }
        if let To::Output(output) = &self.to {
            let (frames, are) = (counted(early, "frame"), if early == 1 { "is" } else { "are" });
            output.remark(format_args!(
                "warning: {frames} of {} {are} earlier than the first, and in no measure: captures \
                 must be given in order of time",
                recorder.frames()
            ));
        }
        early.saturating_mul(100) >= recorder.frames()
    }
}

/// Writes the last interval, the total and the end.
pub(in crate::command) fn conclude(
    heard: CaptureEnd,
    recorder: &mut Recorder,
    teller: &mut Reporter<'_>,
) -> anyhow::Result<Exit> {
    let CaptureEnd { failure, is_cut } = heard;
    let is_interrupted = interrupt::requested();
    let error = match (&failure, is_interrupted) {
        (Some(failure), _) => Some(failure.to_string()),
        (None, true) => Some("interrupted".to_owned()),
        (None, false) => None,
    };
    let has_dropped = recorder.collected().dropped().is_some_and(|dropped| dropped > 0);
    teller.is_missing = failure.is_some() || has_dropped;
    teller.has_no_frames = failure.is_some() && recorder.frames() == 0;
    if let (Some(failure), To::Output(output)) = (&failure, &teller.to)
        && teller.has_no_frames
    {
        failure::before_end(failure, output);
    }
    let oddities = recorder.finish(is_cut, error);
    let is_early = teller.remark_on_early_frames(recorder, &oddities);
    teller.is_missing |= is_early;
    teller.tell(recorder)?;
    if teller.has_no_frames {
        teller.discard_folder();
    }
    let no_folder = teller.end_folder();
    let verdict = teller.side_outputs.requirements.verdict();
    let exit = match (failure, is_interrupted, recorder.collected().dropped()) {
        (_, true, _) => Exit::Interrupted,
        (Some(failure), ..) => return Err(failure.into()),
        (None, false, _) if verdict == Some(Verdict::Fail) || teller.has_failed => {
            Exit::RequirementNotMet
        }
        (None, false, _) if is_early || verdict == Some(Verdict::Undecided) => Exit::Undecided,
        // What was dropped is in no measure, so none of them is valid.
        (None, false, Some(1..)) => Exit::Undecided,
        (None, false, _) => Exit::Ok,
    };
    let unwritten = teller.side_outputs.export.take_failure().or(no_folder);
    unwritten.map_or(Ok(exit), |failure| Err(failure.into()))
}

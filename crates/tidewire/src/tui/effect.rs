//! Effects of keys beyond the screen.

use super::monitor::Interval;
use wire::filter::Filter;

/// Effect of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Nothing, or only a change on the screen.
    None,
    /// Freezes or resumes the display.
    Pause,
    /// Freezes the display and shows another interval, or all intervals again.
    Step,
    /// Samples at this interval.
    Interval(Interval),
    /// Shows the frames of this filter.
    Filter(Filter),
    /// Restarts average and peak.
    Restart,
    /// Halves the speed of a replay.
    Slower,
    /// Doubles it.
    Faster,
    /// Writes the screen to files.
    Export,
    /// Leaves the screen.
    Quit,
    /// Leaves the screen, and writes its contents to the terminal.
    Keep,
    /// Leaves the screen by Ctrl-C.
    Interrupt,
}

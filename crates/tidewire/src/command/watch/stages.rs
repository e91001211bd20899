//! Time that `watch --self` spends on frames, by stage, and its report.

use live::clock;
use meter::FramePaths;
use wire::time::Instant;

/// Stage of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Reading it from the capture.
    Reading,
    /// Counting it, and passing it to other outputs of frames.
    Metering,
    /// Printing and writing the results that are due.
    Output,
}

impl Stage {
    const ALL: [Self; 3] = [Self::Reading, Self::Metering, Self::Output];

    const fn name(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Metering => "metering",
            Self::Output => "output",
        }
    }
}

/// Stopwatch that takes the time of each stage of each frame.
#[derive(Debug)]
pub(super) struct Stages {
    /// End of the latest stage.
    last: Instant,
    nanos: [u64; Stage::ALL.len()],
    /// Duration of a reading of the clock, which every stage includes.
    reading_nanos: u64,
    /// Number of times that a stage ended.
    ends: [u64; Stage::ALL.len()],
}

/// Readings of the clock of which the shortest interval is the duration of one.
const READINGS: usize = 1_000;

impl Stages {
    /// Starts the stopwatch.
    pub(super) fn start() -> Self {
        let mut last = clock::now();
        let reading_nanos = (0..READINGS).map(|_| {
            let now = clock::now();
            now.nanos_since(core::mem::replace(&mut last, now))
        });
        let reading_nanos = reading_nanos.min().unwrap_or(0);
        Self { last: clock::now(), nanos: [0; 3], reading_nanos, ends: [0; 3] }
    }

    /// Ends a stage, which began when the one before it ended.
    pub(super) fn end(&mut self, stage: Stage) {
        let now = clock::now();
        self.nanos[stage as usize] += now.nanos_since(self.last);
        self.ends[stage as usize] += 1;
        self.last = now;
    }

    /// Lines of the report: frames by path, and nanoseconds per frame by stage.
    pub(super) fn report(&self, paths: FramePaths) -> [String; 2] {
        let FramePaths { common, plain, dissected } = paths;
        let frames = common + plain + dissected;
        let per_frame = Stage::ALL.map(|stage| {
            let of_clock = self.ends[stage as usize] * self.reading_nanos;
            let nanos = self.nanos[stage as usize].saturating_sub(of_clock);
            let nanos = nanos.checked_div(frames).unwrap_or(0);
            format!("{} {nanos} ns", stage.name())
        });
        [
            format!(
                "frames by path: {common} common, {plain} read at fixed offsets, {dissected} \
                 dissected"
            ),
            format!("time per frame: {}", per_frame.join(", ")),
        ]
    }
}

//! Progress of a command: a bar on a terminal, and elsewhere a line for each tenth.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressStyle};

/// Lines where no bar is drawn.
const LINES: u64 = 10;

/// Progress of a command.
pub(crate) struct Steps<'a> {
    what: &'a str,
    done: u64,
    of: u64,
    bar: ProgressBar,
    /// Output that shows it.
    pub(crate) output: &'a Output,
}

impl<'a> Steps<'a> {
    /// At the start of `of` runs. A single run shows nothing, because it has no parts to count.
    pub(crate) fn new(what: &'a str, of: u64, output: &'a Output) -> Self {
        let bar = if of > 1 && output.draws_progress() { bar(of) } else { ProgressBar::hidden() };
        // Otherwise the bar would appear only after the first run.
        bar.tick();
        Self { what, done: 0, of, bar, output }
    }

    /// One more is done.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        self.bar.set_position(self.done);
        let line = |done: u64| done * LINES / self.of.max(1);
        let is_shown = self.of > 1 && !self.output.draws_progress();
        if is_shown && line(self.done) > line(self.done - 1) {
            let Self { what, done, of, .. } = self;
            self.output.remark(format_args!("{what}: {done} of {of} runs"));
        }
    }

    /// The bar goes away.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Progress bar of runs, on a terminal.
pub(crate) fn bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} to go")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(runs).with_style(style)
}

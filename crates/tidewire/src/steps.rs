//! Progress of a command: a bar on a terminal, and elsewhere a line for each tenth.

use crate::output::Output;
use crate::running_delay::RunningDelay;
use bench::sample::Sample;
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use live::clock;
use wire::time::Instant;

/// Lines where no bar is drawn.
const LINES: u64 = 10;
/// Time between two updates within a single run; without a bar, between two lines.
const UPDATE_EVERY: Duration = Duration::from_secs(1);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of a command.
pub(crate) struct Steps<'a> {
    what: &'a str,
    done: u64,
    of: u64,
    bar: ProgressBar,
    delay: RunningDelay,
    began: Instant,
    /// Time of the last update within a single run.
    updated: Instant,
    /// Output that shows it.
    pub(crate) output: &'a Output,
}

impl<'a> Steps<'a> {
    /// At the start of `of` runs. A single run has no parts to count: [`Steps::sent`] shows it.
    pub(crate) fn new(what: &'a str, of: u64, output: &'a Output) -> Self {
        let bar = match (output.draws_progress(), of) {
            (false, _) => ProgressBar::hidden(),
            (true, 0 | 1) => ProgressBar::new_spinner(),
            (true, _) => bar(of),
        };
        // Otherwise the bar would appear only after the first run.
        bar.tick();
        let began = clock::now();
        let delay = RunningDelay::default();
        Self { what, done: 0, of, bar, delay, began, updated: began, output }
    }

    /// Number of messages sent so far in a single run. May be called often.
    pub(crate) fn sent(&mut self, messages: u64) {
        let now = clock::now();
        let every = if self.output.draws_progress() { UPDATE_EVERY } else { LINE_EVERY };
        if self.of > 1 || now.since(self.updated) < every {
            return;
        }
        self.updated = now;
        let seconds = now.since(self.began).as_secs();
        let text = format!("{}: {messages} messages sent after {seconds} s", self.what);
        if self.output.draws_progress() {
            self.bar.set_message(text);
            self.bar.tick();
        } else {
            self.output.remark(text);
        }
    }

    /// Prints something without the bar, which would stay between the lines.
    pub(crate) fn hidden<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// One more run is done; the bar shows its delay.
    pub(crate) fn run(&mut self, sample: &Sample) {
        if self.of > 1 && self.output.draws_progress() {
            self.delay.take(sample);
            show(&self.bar, &self.delay);
        }
        self.step();
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

/// Progress of runs on a terminal: a bar, and below it the delay so far.
pub(crate) struct RunBar {
    bar: ProgressBar,
    delay: RunningDelay,
}

impl RunBar {
    /// A bar, or none that is drawn.
    pub(crate) fn new(runs: u64, is_drawn: bool) -> Self {
        let bar = if is_drawn { bar(runs) } else { ProgressBar::hidden() };
        Self { bar, delay: RunningDelay::default() }
    }

    /// One more run is made.
    pub(crate) fn run(&mut self, sample: &Sample) {
        if self.bar.is_hidden() {
            return;
        }
        self.delay.take(sample);
        show(&self.bar, &self.delay);
        self.bar.inc(1);
    }

    /// The bar itself, to make it longer while runs are made.
    pub(crate) fn handle(&self) -> ProgressBar {
        self.bar.clone()
    }

    /// The bar goes away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the delay so far below the bar.
fn show(bar: &ProgressBar, delay: &RunningDelay) {
    let [of, values] = delay.told().unwrap_or_default();
    bar.set_prefix(of);
    bar.set_message(values);
}

/// Progress bar of runs, on a terminal.
pub(crate) fn bar(runs: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:40} {pos} of {len} runs, {eta} to go\n{prefix}\n{wide_msg}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(runs).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_run_is_reported_every_ten_seconds() {
        // Tests have no terminal, or a bar: both wait for at least a second.
        let output = Output { json: true, quiet: false };
        let long_ago = Instant::from_nanos(clock::now().as_nanos() - 11_000_000_000);
        for (of, is_reported) in [(1, true), (2, false)] {
            let mut steps = Steps::new("measure", of, &output);
            let began = steps.updated;
            steps.sent(1);
            assert_eq!(steps.updated, began, "too early");
            steps.updated = long_ago;
            steps.sent(2);
            assert_eq!(steps.updated != long_ago, is_reported, "of {of}");
        }
    }
}

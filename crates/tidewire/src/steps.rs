//! Progress of a command: a bar on a terminal, and elsewhere a line for each tenth.

use crate::output::Output;
use crate::quantity;
use crate::running_delay::RunningDelay;
use bench::sample::Sample;
use bench::session::SoFar;
use core::time::Duration;
use indicatif::{ProgressBar, ProgressStyle};
use live::clock;
use wire::time::{Instant, nanos};

/// Lines where no bar is drawn.
const LINES: u64 = 10;
/// Time between two updates within a single run; without a bar, between two lines.
pub(crate) const UPDATE_EVERY: Duration = Duration::from_millis(250);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Length of a run that takes real time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Longest time of sending.
    pub(crate) time: Duration,
    /// Messages after which it ends earlier; none if the time alone ends it.
    pub(crate) messages: Option<u64>,
    /// True if messages are answered, so that the sender has times while it runs.
    pub(crate) is_answered: bool,
}

impl Length {
    /// Returns the share of the run that is over after this time, in parts of [`PARTS`].
    fn done(&self, so_far: &SoFar, took: Duration) -> u64 {
        let part = |of: u128, whole: u128| (of * u128::from(PARTS)).checked_div(whole);
        let of_time = part(took.as_nanos(), self.time.as_nanos());
        let messages = self.messages.map(|messages| part(so_far.sent.into(), messages.into()));
        let done = of_time.into_iter().chain(messages.flatten()).max().unwrap_or(0);
        u64::try_from(done).unwrap_or(PARTS).min(PARTS)
    }

    /// Returns the share of the run that is over after this time, from 0 to 1.
    pub(crate) fn share(&self, so_far: &SoFar, took: Duration) -> f64 {
        self.done(so_far, took) as f64 / PARTS as f64
    }

    /// Describes the delays so far.
    pub(crate) fn delays(&self, so_far: &SoFar) -> String {
        let times = &so_far.responses;
        if times.is_empty() {
            let words = if self.is_answered { "no reply so far" } else { AT_THE_END };
            return words.to_owned();
        }
        let quantile = |share: f64| {
            let found = times.quantile(share).map(nanos);
            quantity::quantile(share, times.count(), found)
        };
        let (p50, p99, n) = (quantile(0.5), quantile(0.99), times.count());
        format!("response so far: p50 {p50}, p99 {p99}, n = {n}")
    }
}

/// Parts of the bar of a run that takes real time.
const PARTS: u64 = 1_000;
/// Reason for which a sender without replies shows no delay.
const AT_THE_END: &str = "delays come at the end: the peer times the arrivals";

/// Progress of a command.
pub(crate) struct Steps<'a> {
    what: &'a str,
    /// Length of the run under way, if it is known.
    length: Option<Length>,
    /// Start of the run under way; none before its first message.
    began_run: Option<Instant>,
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
    /// At the start of `of` runs. A single run has no parts to count: [`Steps::under_way`] shows it.
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
        let (length, began_run) = (None, None);
        Self { what, length, began_run, done: 0, of, bar, delay, began, updated: began, output }
    }

    /// Begins a run of this length: the bar then shows the time of all runs.
    pub(crate) fn begin_run(&mut self, length: Length) {
        if self.length.is_none() && self.output.draws_progress() {
            self.bar.set_style(style("{percent} %, {eta} to go"));
            self.bar.set_length(self.of.max(1) * PARTS);
            self.bar.reset();
        }
        (self.length, self.began_run) = (Some(length), None);
    }

    /// Shows the course of the run under way. May be called often.
    pub(crate) fn under_way(&mut self, so_far: &SoFar) {
        let now = clock::now();
        let began_run = *self.began_run.get_or_insert(now);
        let draws = self.output.draws_progress();
        let every = if draws { UPDATE_EVERY } else { LINE_EVERY };
        if (self.of > 1 && !draws) || now.since(self.updated) < every {
            return;
        }
        self.updated = now;
        let (seconds, messages) = (now.since(self.began).as_secs(), so_far.sent);
        let text = format!("{}: {messages} messages sent after {seconds} s", self.what);
        if !draws {
            self.output.remark(text);
            return;
        }
        if let Some(length) = &self.length {
            let part = length.done(so_far, now.since(began_run));
            self.bar.set_position(self.done * PARTS + part);
            // Delays of complete runs have intervals, and stay.
            if self.done == 0 {
                self.bar.set_message(length.delays(so_far));
            }
        }
        if self.done == 0 {
            self.bar.set_prefix(text);
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
        let parts = if self.length.is_some() { PARTS } else { 1 };
        self.bar.set_position(self.done * parts);
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
    ProgressBar::new(runs).with_style(style("{pos} of {len} runs, {eta} to go"))
}

/// Style of a bar with these words next to it, and two lines below it.
fn style(words: &str) -> ProgressStyle {
    ProgressStyle::with_template(&format!("{{bar:40}} {words}\n{{prefix}}\n{{wide_msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn so_far(sent: u64, responses: u64) -> SoFar {
        let mut so_far = SoFar { sent, ..SoFar::default() };
        (0..responses).for_each(|_| so_far.responses.record(Duration::from_micros(200)));
        so_far
    }

    #[test]
    fn a_run_is_as_far_as_its_time_or_its_messages() {
        let time = Duration::from_secs(8);
        let length = Length { time, messages: None, is_answered: false };
        assert_eq!(length.done(&so_far(100, 0), Duration::from_secs(2)), 250);
        assert_eq!(length.done(&so_far(100, 0), Duration::from_secs(9)), 1_000, "winding up");
        let length = Length { messages: Some(200), ..length };
        assert_eq!(length.done(&so_far(100, 0), Duration::from_secs(2)), 500);
        let none = Length { time: Duration::ZERO, messages: Some(0), ..length };
        assert_eq!(none.done(&so_far(0, 0), time), 0);
    }

    #[test]
    fn delays_of_a_run_under_way_are_those_of_replies() {
        let one_way = Length { time: Duration::from_secs(8), messages: None, is_answered: false };
        assert_eq!(one_way.delays(&so_far(9, 0)), AT_THE_END);
        let answered = Length { is_answered: true, ..one_way };
        assert_eq!(answered.delays(&so_far(9, 0)), "no reply so far");
        let told = answered.delays(&so_far(900, 500));
        assert!(told.starts_with("response so far: p50 ") && told.ends_with(", n = 500"), "{told}");
        assert!(!told.contains("p99 n/a"), "{told}");
    }

    #[test]
    fn a_single_run_is_reported_every_ten_seconds() {
        // Tests have no terminal, or a bar: both wait for at least a second.
        let output = Output { json: true, quiet: false };
        let long_ago = Instant::from_nanos(clock::now().as_nanos() - 11_000_000_000);
        for (of, is_reported) in [(1, true), (2, false)] {
            let mut steps = Steps::new("measure", of, &output);
            let began = steps.updated;
            steps.under_way(&SoFar { sent: 1, ..SoFar::default() });
            assert_eq!(steps.updated, began, "too early");
            steps.updated = long_ago;
            steps.under_way(&SoFar { sent: 2, ..SoFar::default() });
            assert_eq!(steps.updated != long_ago, is_reported, "of {of}");
        }
    }
}

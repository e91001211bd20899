//! One-way transits between two taps of the same traffic: two captures, two ports of this host, or
//! a port and a capture that arrives on standard input.

mod captures;
mod print;
mod rows;
mod streams;
mod tap;

use super::live_port::Port;
use crate::args::Watch;
use crate::command::measuring::MEASURE;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::{interrupt, quantity};
use bench::scenario::Span;
use core::time::Duration;
use live::clock::{self, Correlation};
use meter::transit::{Found, Limits, Stamps, Tap, Transit};
use print::{Taps, tell};
use rows::Rows;
use std::io;
use std::path::Path;
use tap::Source;
use wire::time::{Instant, nanos};

/// Maximum transit time from port to port; later frames are not matched.
const LONGEST: Duration = Duration::from_secs(10);
/// Pause if neither tap has a frame.
const PAUSE: Duration = Duration::from_millis(5);
/// Interval at which the clock is checked, and the tolerance of its error beyond the allowed rate.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(1);
const MARGIN: Duration = Duration::from_micros(20);

/// Reads both taps until both have ended, the time is over or an interrupt arrives, and prints the
/// result.
pub(super) fn run(watch: &Watch, listen: Option<Span>, output: &Output) -> anyhow::Result<Exit> {
    check(watch)?;
    output::install_interrupts()?;
    let taps = open(watch, output)?;
    let (mut taps, found, clock_was_set) = if taps[0].is_port() {
        live(watch, listen, taps, output)?
    } else {
        let (taps, found) = captures::run(watch, taps, output)?;
        (taps, found, None)
    };
    let about = Taps {
        names: taps.each_ref().map(|source| source.name.clone()),
        dropped: taps.each_mut().map(Source::dropped),
        are_simulated: taps.iter().all(Source::is_simulated),
        has_one_clock: watch.one_clock || clock_was_set.is_some(),
        clock_was_set,
    };
    let failure = taps.into_iter().find_map(|source| source.failure);
    let error = failure.as_ref().map(ToString::to_string);
    tell(&about, &found, error.as_deref(), output)?;
    match (failure, interrupt::requested()) {
        (_, true) => Ok(Exit::Interrupted),
        (Some(failure), _) => Err(failure.into()),
        (None, false) if about.lack_frames() => Ok(Exit::Undecided),
        (None, false) => Ok(Exit::Ok),
    }
}

/// Returns the result of taps that have ended.
fn told(taps: &[Source; 2], mut transit: Transit) -> Found {
    taps.iter().for_each(|source| transit.stamps_are_rounded(source.step_ns()));
    transit.finish()
}

/// Matches a port with another port or an arriving capture; returns how often the clock was set, if
/// one clock stamps both.
fn live(
    watch: &Watch,
    listen: Option<Span>,
    taps: [Source; 2],
    output: &Output,
) -> anyhow::Result<([Source; 2], Found, Option<u64>)> {
    let has_one_clock = taps[1].is_port();
    let span = (if has_one_clock { wall() } else { Instant::ZERO }, Instant::MAX);
    let mut pair = Pair { has_one_clock, taps, span };
    let stamps = match has_one_clock {
        true => Stamps::OneClock { longest: LONGEST },
        false => Stamps::TwoClocks,
    };
    let [near, far] = pair.taps.each_ref().map(|source| &source.name);
    output.remark(format_args!("listening on {near}, and {far} is far; Ctrl-C ends it"));
    let mut transit = Transit::new(stamps, Limits::USUAL);
    let mut rows = match has_one_clock {
        true => Some(Rows::begin(interval(watch)?, pair.span.0, &mut transit, output)?),
        false => None,
    };
    let clock_was_set = pair.pass(&mut transit, listen, rows.as_mut())?;
    if let Some(rows) = &mut rows {
        rows.finish(pair.span.1, &mut transit)?;
        output.line("")?;
    }
    let found = told(&pair.taps, transit);
    Ok((pair.taps, found, has_one_clock.then_some(clock_was_set)))
}

/// Returns the length of the intervals of two ports.
fn interval(watch: &Watch) -> Result<Duration, Failure> {
    let Some(text) = &watch.measuring.measure else { return Ok(MEASURE) };
    let Span(length) = quantity::option("--measure", text)?;
    if length.is_zero() {
        return Err(Failure::usage("--measure: an interval has a length"));
    }
    Ok(length)
}

/// Checks that the two taps can be compared.
fn check(watch: &Watch) -> Result<(), Failure> {
    if watch.measuring.measure.is_some() && watch.far_interface.is_none() {
        let why =
            "--measure: by two clocks transits are known at the end, and not interval by interval";
        return Err(Failure::usage(why));
    }
    let (source, far) = (&watch.source, watch.far.as_deref());
    let is_standard = |path: &Path| path.as_os_str() == "-";
    if let Some(near) = &source.interface {
        if Some(near) == watch.far_interface.as_ref() {
            return Err(Failure::usage("--far-interface: one port is one tap"));
        }
        if let Some(far) = far.filter(|far| !is_standard(far)) {
            let failure = Failure::usage(format!(
                "--far {}: what was captured before does not pass {near} now",
                far.display()
            ));
            let fix = format!("ssh FAR tidewire capture -i IF | tidewire watch -i {near} --far -");
            return Err(failure.with_fix(fix));
        }
        return Ok(());
    }
    if watch.far_interface.is_some() {
        return Err(Failure::usage("--far-interface goes with --interface"));
    }
    match &source.read[..] {
        [near] if is_standard(near) && far.is_some_and(is_standard) => {
            Err(Failure::usage("standard input is one capture, and --far another"))
        }
        [_] => Ok(()),
        _ => Err(Failure::usage("--far goes with one capture behind --read")),
    }
}

/// Opens both taps.
fn open(watch: &Watch, output: &Output) -> Result<[Source; 2], Failure> {
    let source = &watch.source;
    let port = |name: &String| {
        let stamps = Some(live::tap::Stamps::Kernel);
        let port = Port { interface: name.clone(), by_helper: source.tap, stamps };
        Source::port(&port, source.filter.clone())
    };
    let capture = |path: &Path| Source::capture(path, source.filter.clone(), output);
    let is_live = source.interface.is_some();
    let near = match (&source.interface, &source.read[..]) {
        (Some(name), _) => port(name)?,
        (None, paths) => capture(paths.first().expect("an interface or a capture is given"))?,
    };
    let far = match (&watch.far_interface, &watch.far) {
        (Some(name), _) => port(name)?,
        (None, Some(_)) if is_live => Source::pipe(source.filter.clone())?,
        (None, path) => capture(path.as_deref().expect("the far tap is given"))?,
    };
    Ok([near, far])
}

/// Two taps, at least one of them a port.
struct Pair {
    taps: [Source; 2],
    has_one_clock: bool,
    /// With one clock, the time during which both taps were captured.
    span: (Instant, Instant),
}

impl Pair {
    /// Passes the frames of both to `transit`; returns the number of times this host's clock was
    /// set meanwhile.
    fn pass(
        &mut self,
        transit: &mut Transit,
        listen: Option<Span>,
        mut rows: Option<&mut Rows<'_>>,
    ) -> io::Result<u64> {
        let end = listen.map(|Span(listen)| clock::now() + listen);
        let mut steps = Steps { seen: Correlation::read(), times: 0 };
        let mut is_over = false;
        loop {
            let now = clock::now();
            // If a live tap has ended, the other has nothing to be matched with.
            let is_alone = self.taps.iter().any(|source| source.is_over);
            let is_enough = interrupt::requested() || end.is_some_and(|end| now >= end);
            if !is_over && (is_enough || is_alone) {
                is_over = true;
                if self.has_one_clock {
                    self.span.1 = wall();
                }
                self.taps.iter_mut().for_each(Source::stop);
            }
            steps.look(now);
            self.taps.iter_mut().for_each(|source| source.look(Instant::ZERO));
            let due = self.due();
            if let Some(rows) = &mut rows {
                rows.advance(self.reached().min(self.span.1), transit)?;
            }
            if let Some(tap) = due {
                self.taps[tap as usize].hand_over(tap, self.span, transit);
            } else if self.taps.iter().all(|source| source.is_over) {
                self.span.1 = self.span.1.min(wall());
                return Ok(steps.times);
            } else if let Some(silent) = self.taps.iter_mut().find(|source| source.is_silent()) {
                silent.look(now + PAUSE);
            }
        }
    }

    /// With one clock, the time before which no more frames can come.
    fn reached(&self) -> Instant {
        let of = |source: &Source| source.next_at().unwrap_or(source.silent_until);
        self.taps.iter().filter(|source| !source.is_over).map(of).min().unwrap_or(Instant::ZERO)
    }

    /// Returns the tap whose next frame is due: the one with the older frame, so that few TPDUs
    /// wait for the other tap. With one clock, it is due once nothing older can come.
    fn due(&self) -> Option<Tap> {
        let [near, far] = &self.taps;
        let may_go = |at: Instant, other: &Source| {
            other.is_over || !self.has_one_clock || at <= other.silent_until
        };
        match (near.next_at(), far.next_at()) {
            (Some(near), Some(far)) => Some(if near <= far { Tap::Near } else { Tap::Far }),
            (Some(at), None) => may_go(at, far).then_some(Tap::Near),
            (None, Some(at)) => may_go(at, near).then_some(Tap::Far),
            (None, None) => None,
        }
    }
}

/// The time of day.
fn wall() -> Instant {
    Instant::from_nanos(nanos(clock::wall()))
}

/// Detects steps of the wall clock, with which the kernel stamps frames.
struct Steps {
    seen: Correlation,
    times: u64,
}

impl Steps {
    fn look(&mut self, now: Instant) {
        let elapsed = now.since(self.seen.monotonic);
        if elapsed < LOOK_AT_CLOCK {
            return;
        }
        let read = Correlation::read();
        let expected = self.seen.to_wall(read.monotonic).as_nanos();
        let difference = Duration::from_nanos(expected.abs_diff(read.wall_nanos));
        // The kernel slews by at most 500 ppm.
        let slewed = elapsed / 2_000;
        if difference > slewed + self.seen.uncertainty + read.uncertainty + MARGIN {
            self.times += 1;
        }
        self.seen = read;
    }
}

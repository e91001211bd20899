//! A live port, captured by this process or by its helper; neither can send.

use super::annotate::Frame;
use super::frames::FramePipeline;
use crate::command::reporter::{CaptureEnd, Reporter};
use crate::exit::Failure;
use crate::interrupt::{self, LOOK_UP};
use crate::listener::{LAG, Listener, SentOctets, Times, Wanted};
use crate::oldest_runs;
use crate::output::Output;
use crate::quantity::agreed;
use bench::scenario::Span;
use core::time::Duration;
use live::clock::{self, Correlation};
use live::tap::Stamps;
use records::families::Health;
use records::{Recorder, Stamps as StampsOfFrames};
use wire::capture::{Record, SNAP_OCTETS, Statistics};
use wire::filter::Filter;

/// Interval at which interface counters are written to a file.
const COUNTS_EVERY: Duration = Duration::from_secs(1);

/// A port to capture on.
#[derive(Clone)]
pub(super) struct Port {
    pub(super) interface: String,
    /// True if the helper captures, even if this process is permitted to.
    pub(super) by_helper: bool,
    /// Clock of the stamps; none for that of the interface where it stamps every frame.
    pub(super) stamps: Option<Stamps>,
}

/// Passes every frame on an interface to the meter, until the time is over or an interrupt arrives.
pub(super) fn meter(
    port: &Port,
    listen: Option<Span>,
    recorder: &mut Recorder,
    frames: &mut FramePipeline,
    teller: &mut Reporter<'_>,
    output: &Output,
) -> anyhow::Result<CaptureEnd> {
    let mut heard = CaptureEnd { failure: None, is_cut: true };
    recorder.note_left_out(frames.left_out());
    let mut listener = match open(port, frames.wanted()) {
        Ok(listener) => listener,
        Err(failure) => return Ok(CaptureEnd { failure: Some(failure), ..heard }),
    };
    recorder.note_stamps(Some(StampsOfFrames::of_port(listener.stamp_clock())));
    let (interface, through) = (&port.interface, listener.through());
    output.remark(format_args!("listening on {interface}{through}; Ctrl-C ends it"));
    // Intervals use the time of day; the monotonic clock schedules them.
    let day = Correlation::read();
    let end = listen.map(|Span(listen)| clock::now() + listen);
    teller.begin_samples(day.to_wall(clock::now()));
    frames.describe(&[listener.described(interface)]);
    let (mut is_over, mut counts_at) = (false, clock::now() + COUNTS_EVERY);
    loop {
        let now = clock::now();
        let is_enough = interrupt::requested() || recorder.is_done() || teller.is_enough();
        if !is_over && (is_enough || end.is_some_and(|end| now >= end)) {
            is_over = true;
            listener.stop();
        }
        let until = end.filter(|_| !is_over).map_or(now + LOOK_UP, |end| end.min(now + LOOK_UP));
        match listener.receive(until) {
            Ok(Some(Record { at, link, octets, original_octets, interface })) => {
                let kept;
                let octets = if recorder.is_due(at) {
                    // It ends an interval, whose record has the statistics up to now.
                    kept = octets.to_vec();
                    note_collected(recorder, listener.statistics());
                    &kept[..]
                } else {
                    octets
                };
                let frame = Frame { at, link, octets, original_octets, interface };
                frames.observe(recorder, &frame);
            }
            Ok(None) if is_over => break,
            Ok(None) => {
                teller.pass(recorder, day.to_wall(clock::now()).saturating_sub(LAG))?;
                frames.flush();
            }
            Err(failure) => {
                heard.failure = Some(failure);
                break;
            }
        }
        if recorder.is_due(day.to_wall(clock::now())) {
            note_collected(recorder, listener.statistics());
        }
        if frames.are_kept() && now >= counts_at {
            counts_at = now + COUNTS_EVERY;
            frames.count(&[listener.described(interface)]);
        }
        teller.tell(recorder)?;
        frames.note_failures(teller);
        let metered = recorder.frames();
        teller.publish(recorder, || Health {
            frames: metered,
            dropped_by_kernel: listener.dropped(),
            processor: clock::processor(),
            clock_error: clock::wall_error(),
            ring_fill: listener.ring_fill(),
        });
    }
    if heard.failure.is_none() {
        teller.pass(recorder, day.to_wall(clock::now()))?;
    }
    note_end(&mut listener, interface, recorder, frames, output);
    Ok(heard)
}

/// Notes what was counted by the end, and warns of dropped frames.
fn note_end(
    listener: &mut Listener,
    interface: &str,
    recorder: &mut Recorder,
    frames: &mut FramePipeline,
    output: &Output,
) {
    frames.count(&[listener.described(interface)]);
    recorder.note_left_out(frames.left_out());
    note_collected(recorder, listener.statistics());
    if let Some(dropped @ 1..) = recorder.collected().dropped() {
        let dropped = agreed(&format!("{dropped} frames were dropped"));
        output.remark(format_args!("warning: {dropped}: the measures are not valid"));
    } else if let Some(SentOctets { by_interface, at_tap }) = listener.unseen() {
        let [sent, seen] = [by_interface, at_tap].map(oldest_runs::size_of);
        output.warn(&format!(
            "this host sent {sent} on {interface}, of which taps here see {seen}: measure, serve and AF_XDP \
             send past them"
        ));
        output.remark("  fix: watch at the peer, or on a mirror port");
    }
}

/// Notes the statistics of the port. A helper reports them now and then: frames that were metered have passed the
/// kernel's filter in any case.
fn note_collected(recorder: &mut Recorder, mut counted: Statistics) {
    counted.accepted = counted.accepted.map(|accepted| accepted.max(recorder.frames()));
    recorder.note_collected(counted);
}

/// Captures on the requested interface. FramePipeline are captured whole: a TCP segment may hold many
/// TPKTs, and a checksum covers every octet. The meter keeps no user data.
pub(super) fn open(port: &Port, filter: Filter) -> Result<Listener, Failure> {
    open_with(port, filter, Times::Steady)
}

/// Like [`open`], with the requested kind of timestamps.
pub(super) fn open_with(port: &Port, filter: Filter, times: Times) -> Result<Listener, Failure> {
    let Port { interface, by_helper, stamps } = port;
    let (by_helper, stamps, snap_octets) = (*by_helper, *stamps, SNAP_OCTETS);
    Listener::open(&Wanted { interface, filter, snap_octets, by_helper, times, stamps })
}

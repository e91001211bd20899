//! A live port, heard through a tap that cannot send.

use super::annotate::Frame;
use super::frames::Frames;
use crate::command::measuring::{Heard, Teller};
use crate::exit::Failure;
use crate::metrics::Health;
use crate::output::Output;
use crate::stream::Recorder;
use crate::{host, interrupt, permission};
use bench::scenario::Span;
use core::time::Duration;
use live::clock::{self, Correlation};
use live::interface::{Interface, Kind};
use live::port::{PortError, Wait};
use live::tap::{Tap, TapParams};
use wire::dissect::Link;

/// Enough for every header there is; the meter keeps no user data.
const SNAP_OCTETS: usize = 256;
/// What the kernel may keep while the terminal is slow.
const BUFFER_OCTETS: i32 = 16 << 20;
/// How long to wait for a frame before looking up.
const LOOK_UP: Duration = Duration::from_millis(100);
/// By how much a frame may be older than the moment it is taken from a port that was silent.
const LAG: Duration = Duration::from_millis(20);

/// Gives the meter every frame heard on an interface, until the time is over or somebody
/// interrupts.
pub(super) fn meter(
    interface: &str,
    listen: Option<Span>,
    recorder: &mut Recorder,
    (beside, teller): (&mut Frames, &mut Teller<'_>),
    output: &Output,
) -> anyhow::Result<Heard> {
    let mut heard = Heard { failure: None, is_cut: true };
    let mut tap = match open(interface) {
        Ok(tap) => tap,
        Err(failure) => {
            heard.failure = Some(failure);
            return Ok(heard);
        }
    };
    output.remark(format_args!("listening on {interface}; Ctrl-C ends it"));
    // Intervals are told in the time of day; frames are stamped by the clock that never steps.
    let day = Correlation::read();
    let end = listen.map(|Span(listen)| clock::now() + listen);
    while !interrupt::requested() && !recorder.is_done() {
        let now = clock::now();
        if end.is_some_and(|end| now >= end) {
            break;
        }
        let until = end.map_or(now + LOOK_UP, |end| end.min(now + LOOK_UP));
        match tap.receive(until) {
            Ok(Some(frame)) => {
                let at = day.to_wall(frame.at);
                let frame = Frame {
                    at,
                    link: Link::Ethernet,
                    octets: frame.octets,
                    original_octets: frame.original_octets,
                    interface: 0,
                };
                beside.observe(recorder, &frame)?;
            }
            Ok(None) => recorder.advance(day.to_wall(clock::now()).saturating_sub(LAG)),
            Err(error) => {
                heard.failure = Some(permission::failure(&error));
                break;
            }
        }
        if recorder.is_due(day.to_wall(clock::now())) {
            recorder.note_dropped(tap.dropped().ok());
        }
        teller.tell(recorder)?;
        let frames = recorder.frames();
        teller.publish(recorder, || Health { frames, dropped_by_kernel: tap.dropped().ok() });
    }
    if heard.failure.is_none() {
        recorder.advance(day.to_wall(clock::now()));
        teller.tell(recorder)?;
    }
    recorder.note_dropped(tap.dropped().ok());
    if let Some(dropped @ 1..) = recorder.dropped_by_kernel() {
        output.remark(format_args!(
            "warning: the kernel dropped {dropped} frames: the measures are not valid"
        ));
    }
    Ok(heard)
}

/// A tap on an interface, to hear what passes and nothing twice.
pub(super) fn open(interface: &str) -> Result<Tap, Failure> {
    // A loopback shows every frame twice: as it goes and as it comes.
    let is_loopback =
        Interface::named(interface).is_ok_and(|interface| interface.kind == Kind::Loopback);
    let params = TapParams {
        interface: interface.to_owned(),
        namespace: None,
        snap_octets: SNAP_OCTETS,
        promiscuous: true,
        outgoing: !is_loopback,
        buffer_octets: BUFFER_OCTETS,
        wait: Wait::Block,
    };
    Tap::open(&params).map_err(|error| cannot_open(interface, &error))
}

/// As for every port, and the way that takes no permission.
fn cannot_open(interface: &str, error: &PortError) -> Failure {
    let failure = permission::failure(error);
    if let PortError::NotPermitted { .. } = error {
        let interface = permission::quoted(interface);
        let give = permission::give(&host::program());
        return failure.with_fix(format!(
            "{give}\n  or, without any privilege of tidewire's own:\n       \
             sudo tcpdump -i {interface} -U -w - | tidewire watch -r -"
        ));
    }
    failure
}

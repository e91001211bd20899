//! The meter's observations on a frame as text.

use crate::quantity;
use core::fmt::Write as _;
use core::time::Duration;
use meter::Remarks;
use meter::observation::{
    DelayKind, Ending, MmsEvent, MmsOutcome, Observation, Order, Role, Segment, Step, StreamEvent,
    Tpdu,
};
use meter::oddity::Class;
use wire::read::Malformed;
use wire::time::nanos;

/// Maximum length of a comment, which Wireshark shows on one line.
const MOST_OCTETS: usize = 2_000;

/// Returns the comment of a frame; empty if there is nothing notable. `fault` is the place where
/// decoding stopped.
pub(super) fn line(remarks: &Remarks, fault: Option<Malformed>) -> String {
    let observations = remarks.observations.iter().filter_map(observation);
    let odd = remarks.oddities.iter().map(|(class, what, times)| oddity(class, what, times, fault));
    let mut line = String::new();
    let mut left_out = 0_u64;
    for remark in observations.chain(odd) {
        if line.len() + remark.len() > MOST_OCTETS {
            left_out += 1;
            continue;
        }
        line += if line.is_empty() { "tidewire: " } else { "; " };
        line += &remark;
    }
    if left_out > 0 {
        write!(line, "; and {left_out} more").expect("writing to a String cannot fail");
    }
    line
}

/// Describes an observation; none for lower layers and for normal events.
pub(super) fn observation(observation: &Observation) -> Option<String> {
    match observation {
        Observation::Lpdu { .. } | Observation::Npdu { .. } | Observation::Placed(_) => None,
        Observation::Segment(Segment { order, .. }) => order_words(*order).map(str::to_owned),
        Observation::Tpdu(seen) => Some(tpdu(seen)),
        // An oddity reports it.
        Observation::Step(Step::Adopted) => None,
        Observation::Step(step) => Some(step_words(*step).to_owned()),
        Observation::WindowClosed => Some("window closed".to_owned()),
        Observation::AmbiguousResponse => {
            Some("reply that pairs with no single request".to_owned())
        }
        Observation::Mms(event) => association(event),
        Observation::Stream(event) => Some(match event {
            StreamEvent::Silent(gap) => {
                format!("stream silent for {}", quantity::span(nanos(*gap)))
            }
            StreamEvent::Missing(frames) => format!("{frames} frames of the stream are missing"),
            StreamEvent::Restarted => "stream counts anew".to_owned(),
            StreamEvent::StateChanged => "stream changed its state".to_owned(),
        }),
        Observation::Span(between, span) => {
            Some(format!("{} {}", between_words(*between), quantity::span(nanos(*span))))
        }
    }
}

/// Describes an event of an association.
fn association(event: &MmsEvent) -> Option<String> {
    let span = |took: Duration| quantity::span(nanos(took));
    match event {
        MmsEvent::Request(service) => Some(format!("MMS {} asked for", service.name())),
        MmsEvent::Answer { service, outcome, took } => {
            let what = match outcome {
                MmsOutcome::Done => "answered",
                MmsOutcome::FailedAccess => "answered with a failed access",
                MmsOutcome::Error => "answered with an error",
            };
            Some(format!("MMS {} {what} after {}", service.name(), span(*took)))
        }
        MmsEvent::Reject(service) => Some(format!("MMS {} rejected", service.name())),
        MmsEvent::Unanswered(service) => Some(format!("MMS {} unanswered", service.name())),
        MmsEvent::Report => Some("MMS report".to_owned()),
        MmsEvent::Associated(took) => Some(format!("associated in {}", span(*took))),
        MmsEvent::Inferred => Some("association found under way".to_owned()),
        MmsEvent::Refused => Some("association refused".to_owned()),
        MmsEvent::Aborted => Some("association aborted".to_owned()),
    }
}

fn tpdu(seen: &Tpdu) -> String {
    let mut text = seen.kind.name().to_owned();
    text += match seen.role {
        Some(Role::Acknowledging) => " acknowledging",
        Some(Role::Crediting) => " crediting",
        Some(Role::Confirming) => " confirming",
        Some(Role::KeepingAlive) => " keeping alive",
        None if seen.unassigned => " unassigned",
        None if seen.retransmitted => " retransmission",
        None => " original",
    };
    if seen.into_closed_window {
        text += " beyond the credit seen";
    }
    if seen.empty_part {
        text += " empty part";
    }
    for octets in seen.finished() {
        write!(text, ", TSDU of {octets} octets whole").expect("writing to a String cannot fail");
    }
    if let Some(step) = seen.step {
        text += ", ";
        text += step_words(step);
    }
    text
}

pub(super) const fn step_words(step: Step) -> &'static str {
    match step {
        Step::Requested => "connection requested",
        Step::Established => "connection established",
        Step::Refused => "connection refused",
        Step::NotAgreed => "connection not agreed on",
        Step::Ended(Ending::Graceful) => "connection ended gracefully",
        Step::Ended(Ending::Abrupt) => "connection ended abruptly",
        Step::Ended(Ending::Erroneous) => "connection ended by an error",
        Step::Adopted => "connection found under way",
        Step::Silent => "a connection fell silent",
    }
}

const fn order_words(order: Order) -> Option<&'static str> {
    match order {
        Order::Next => None,
        Order::Ahead => Some("TCP segment ahead of a gap"),
        Order::Late => Some("TCP segment fills a gap"),
        Order::Again => Some("TCP segment again"),
        Order::KeepAlive => Some("TCP keep-alive"),
        Order::Copy => Some("copy of a mirror port"),
    }
}

const fn between_words(between: DelayKind) -> &'static str {
    match between {
        DelayKind::Acknowledgement => "acknowledged after",
        DelayKind::Response => "reply after",
        DelayKind::SetUp => "set up in",
        DelayKind::CalleeHandshake => "TCP callee answered after",
        DelayKind::CallerHandshake => "TCP caller answered after",
        DelayKind::RoundTrip => "TCP round trip",
        DelayKind::DelayedAck => "TCP delayed ACK",
        DelayKind::ClosedWindow => "window was closed for",
        DelayKind::MmsResponse => "MMS answer after",
        DelayKind::Association => "associated in",
    }
}

fn oddity(class: Class, what: &str, times: u64, fault: Option<Malformed>) -> String {
    let mut text = format!("{}: {what}", class.name());
    let is_here = |fault: &Malformed| class == Class::Malformed && fault.field == what;
    if let Some(fault) = fault.filter(is_here) {
        write!(text, " at octet {}", fault.offset).expect("writing to a String cannot fail");
    }
    if times > 1 {
        write!(text, ", {times} times").expect("writing to a String cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::oddity::Oddities;
    use wire::tp::Kind;

    fn check(observations: &[Observation], expected: &str) {
        let remarks =
            Remarks { observations: observations.to_vec(), oddities: Oddities::default() };
        assert_eq!(line(&remarks, None), expected);
    }

    #[test]
    fn each_tpdu_is_described_by_its_effect_on_its_connection() {
        let dt = Tpdu::plain(Kind::Dt, 5, 100);
        check(&[Observation::Tpdu(dt)], "tidewire: DT original");
        let again = Tpdu { retransmitted: true, into_closed_window: true, ..dt };
        check(&[Observation::Tpdu(again)], "tidewire: DT retransmission beyond the credit seen");
        let whole = Tpdu { finished_tsdus: 1, finished_octets: [300, 0, 0], ..dt };
        let waited = Observation::Span(DelayKind::Response, Duration::from_micros(1_500));
        check(
            &[Observation::Tpdu(whole), waited],
            "tidewire: DT original, TSDU of 300 octets whole; reply after 1.50 ms",
        );
        let role = Some(Role::Confirming);
        let ak = Tpdu { role, retransmitted: true, ..Tpdu::plain(Kind::Ak, 5, 0) };
        check(&[Observation::Tpdu(ak)], "tidewire: AK confirming");
        let lost = Tpdu { unassigned: true, ..Tpdu::plain(Kind::Ea, 5, 0) };
        check(&[Observation::Tpdu(lost)], "tidewire: EA unassigned");
        let step = Some(Step::Ended(Ending::Abrupt));
        let dr = Tpdu { step, ..Tpdu::plain(Kind::Dr, 7, 0) };
        check(&[Observation::Tpdu(dr)], "tidewire: DR original, connection ended abruptly");
    }

    #[test]
    fn a_segment_that_goes_on_is_no_remark_and_a_copy_is() {
        let segment = |order| Observation::Segment(Segment { octets: 10, order });
        check(&[segment(Order::Next)], "");
        check(&[segment(Order::Copy)], "tidewire: copy of a mirror port");
    }

    #[test]
    fn malformed_tpdus_are_described_with_field_and_octet() {
        let mut oddities = Oddities::default();
        oddities.count(Class::Malformed, "TPDU-NR");
        oddities.add(Class::Foreign, "UDP", 2);
        let remarks = Remarks { observations: Vec::new(), oddities };
        let fault = Some(Malformed { field: "TPDU-NR", offset: 21 });
        let expected = "tidewire: malformed: TPDU-NR at octet 21; foreign: UDP, 2 times";
        assert_eq!(line(&remarks, fault), expected);
    }

    #[test]
    fn a_frame_that_releases_thousands_has_a_line_of_bounded_length() {
        let dt = Observation::Tpdu(Tpdu::plain(Kind::Dt, 5, 100));
        let remarks = Remarks { observations: vec![dt; 10_000], oddities: Oddities::default() };
        let line = line(&remarks, None);
        assert!(line.len() < MOST_OCTETS + 100 && line.ends_with(" more"), "{line}");
    }
}

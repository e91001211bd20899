//! What the meter saw in a frame, in words.

use crate::quantity;
use core::fmt::Write as _;
use meter::Remarks;
use meter::oddity::Class;
use meter::sight::{Between, Ending, Order, Role, Segment, Sight, Step, Tpdu};
use wire::read::Malformed;
use wire::time::nanos;

/// The longest comment; Wireshark shows one in one line.
const MOST_OCTETS: usize = 2_000;

/// One line for a frame; nothing where there is nothing to be said. `fault` is where the reading of
/// the frame stopped.
pub(super) fn line(remarks: &Remarks, fault: Option<Malformed>) -> String {
    let sights = remarks.sights.iter().filter_map(sight);
    let odd = remarks.oddities.iter().map(|(class, what, times)| oddity(class, what, times, fault));
    let mut line = String::new();
    let mut left_out = 0_u64;
    for remark in sights.chain(odd) {
        if line.len() + remark.len() > MOST_OCTETS {
            left_out += 1;
            continue;
        }
        line += if line.is_empty() { "tidewire: " } else { "; " };
        line += &remark;
    }
    if left_out > 0 {
        write!(line, "; and {left_out} more").expect("a String takes every text");
    }
    line
}

/// A sight in words; none of what counts at lower levels, or is as it always is.
pub(super) fn sight(sight: &Sight) -> Option<String> {
    match sight {
        Sight::Lpdu { .. } | Sight::Npdu { .. } => None,
        Sight::Segment(Segment { order, .. }) => order_words(*order).map(str::to_owned),
        Sight::Tpdu(seen) => Some(tpdu(seen)),
        // Of it there is an oddity.
        Sight::Step(Step::Adopted) => None,
        Sight::Step(step) => Some(step_words(*step).to_owned()),
        Sight::WindowClosed => Some("window closed".to_owned()),
        Sight::AmbiguousResponse => Some("reply that pairs with no single request".to_owned()),
        Sight::Span(between, span) => {
            Some(format!("{} {}", between_words(*between), quantity::span(nanos(*span))))
        }
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
        write!(text, ", TSDU of {octets} octets whole").expect("a String takes every text");
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

const fn between_words(between: Between) -> &'static str {
    match between {
        Between::Acknowledgement => "acknowledged after",
        Between::Response => "reply after",
        Between::SetUp => "set up in",
        Between::CalleeHandshake => "TCP callee answered after",
        Between::CallerHandshake => "TCP caller answered after",
        Between::RoundTrip => "TCP round trip",
        Between::DelayedAck => "TCP delayed ACK",
        Between::ClosedWindow => "window was closed for",
    }
}

fn oddity(class: Class, what: &str, times: u64, fault: Option<Malformed>) -> String {
    let mut text = format!("{}: {what}", class.name());
    let is_here = |fault: &Malformed| class == Class::Malformed && fault.field == what;
    if let Some(fault) = fault.filter(is_here) {
        write!(text, " at octet {}", fault.offset).expect("a String takes every text");
    }
    if times > 1 {
        write!(text, ", {times} times").expect("a String takes every text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use meter::oddity::Oddities;
    use wire::tp::Kind;

    fn check(sights: &[Sight], expected: &str) {
        let remarks = Remarks { sights: sights.to_vec(), oddities: Oddities::default() };
        assert_eq!(line(&remarks, None), expected);
    }

    #[test]
    fn each_tpdu_says_what_it_was_to_its_connection() {
        let dt = Tpdu::plain(Kind::Dt, 5, 100);
        check(&[Sight::Tpdu(dt)], "tidewire: DT original");
        let again = Tpdu { retransmitted: true, into_closed_window: true, ..dt };
        check(&[Sight::Tpdu(again)], "tidewire: DT retransmission beyond the credit seen");
        let whole = Tpdu { finished_tsdus: 1, finished_octets: [300, 0, 0], ..dt };
        let waited = Sight::Span(Between::Response, Duration::from_micros(1_500));
        check(
            &[Sight::Tpdu(whole), waited],
            "tidewire: DT original, TSDU of 300 octets whole; reply after 1.50 ms",
        );
        let role = Some(Role::Confirming);
        let ak = Tpdu { role, retransmitted: true, ..Tpdu::plain(Kind::Ak, 5, 0) };
        check(&[Sight::Tpdu(ak)], "tidewire: AK confirming");
        let lost = Tpdu { unassigned: true, ..Tpdu::plain(Kind::Ea, 5, 0) };
        check(&[Sight::Tpdu(lost)], "tidewire: EA unassigned");
        let step = Some(Step::Ended(Ending::Abrupt));
        let dr = Tpdu { step, ..Tpdu::plain(Kind::Dr, 7, 0) };
        check(&[Sight::Tpdu(dr)], "tidewire: DR original, connection ended abruptly");
    }

    #[test]
    fn a_segment_that_goes_on_is_no_remark_and_a_copy_is() {
        let segment = |order| Sight::Segment(Segment { octets: 10, order });
        check(&[segment(Order::Next)], "");
        check(&[segment(Order::Copy)], "tidewire: copy of a mirror port");
    }

    #[test]
    fn what_is_malformed_is_told_with_its_place() {
        let mut oddities = Oddities::default();
        oddities.count(Class::Malformed, "TPDU-NR");
        oddities.add(Class::Foreign, "UDP", 2);
        let remarks = Remarks { sights: Vec::new(), oddities };
        let fault = Some(Malformed { field: "TPDU-NR", offset: 21 });
        let expected = "tidewire: malformed: TPDU-NR at octet 21; foreign: UDP, 2 times";
        assert_eq!(line(&remarks, fault), expected);
    }

    #[test]
    fn a_frame_that_sets_thousands_free_has_a_line_of_bounded_length() {
        let dt = Sight::Tpdu(Tpdu::plain(Kind::Dt, 5, 100));
        let remarks = Remarks { sights: vec![dt; 10_000], oddities: Oddities::default() };
        let line = line(&remarks, None);
        assert!(line.len() < MOST_OCTETS + 100 && line.ends_with(" more"), "{line}");
    }
}

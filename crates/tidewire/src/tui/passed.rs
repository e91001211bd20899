//! The newest TPDUs of known connections, for the page that lists those of one.
//!
//! The meter places each TPDU in its connection ([`Placed`]). The newest of all connections are kept, so that the list
//! of a connection has rows as soon as it is opened, even of a file that was read before. While a list is open, the
//! newest of its connection are kept apart, so that busy connections do not displace them.

use core::time::Duration;
use meter::Remarks;
use meter::observation::{DelayKind, Observation, Order, Placed, Role, Step, Tpdu};
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::Kind;

/// TPDUs of all connections that are kept: about 4 MB.
const KEPT: usize = 32_768;
/// TPDUs of the listed connection that are kept, and listed at most.
pub(in crate::tui) const LISTED: usize = 4_096;

/// A TPDU that passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tui) struct Passed {
    /// Time of its frame; if TCP delivered it out of order, time at which order was restored.
    pub(in crate::tui) at: Instant,
    pub(in crate::tui) kind: Kind,
    /// Octets of its header and its user data.
    pub(in crate::tui) octets: u64,
    pub(in crate::tui) placed: Placed,
    pub(in crate::tui) marks: Marks,
}

/// Notable property of a TPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::tui) struct Marks {
    /// True if it was sent before; for an AK, if it carries no new information.
    pub(in crate::tui) is_repeated: bool,
    /// True for a DT beyond the credit that its receiver granted.
    pub(in crate::tui) is_beyond: bool,
    /// True if it closes the window of its receiver.
    pub(in crate::tui) closes: bool,
    /// True if its TCP segment arrived in a gap.
    pub(in crate::tui) is_late_segment: bool,
    /// Role of an AK.
    pub(in crate::tui) role: Option<Role>,
    /// Step of its connection that it caused.
    pub(in crate::tui) step: Option<Step>,
    /// Time that the window was closed which it opens.
    pub(in crate::tui) was_closed: Option<Duration>,
    /// Time from the oldest DT that it acknowledges.
    pub(in crate::tui) acknowledged_after: Option<Duration>,
    /// Time from the request that it answers.
    pub(in crate::tui) replied_after: Option<Duration>,
}

/// The newest TPDUs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::tui) struct Newest {
    all: VecDeque<Passed>,
    /// Connection that is listed, and its newest TPDUs.
    listed: Option<(u32, VecDeque<Passed>)>,
}

impl Newest {
    /// Keeps the TPDUs of a frame that belong to known connections.
    pub(in crate::tui) fn observe(&mut self, remarks: &Remarks) {
        let mut marks = Marks::default();
        let mut tpdu: Option<&Tpdu> = None;
        // An evicted connection may end a window, which is none of the TPDU's connection.
        let mut evicts = false;
        for observation in &remarks.observations {
            match observation {
                Observation::Tpdu(seen) => {
                    tpdu = Some(seen);
                    if seen.unassigned {
                        marks = Marks::default();
                    }
                }
                Observation::Placed(placed) => {
                    if let Some(tpdu) = tpdu.take() {
                        self.keep(passed(tpdu, *placed, core::mem::take(&mut marks)));
                    }
                    evicts = false;
                }
                Observation::Segment(segment) => {
                    marks.is_late_segment = segment.order == Order::Late;
                }
                Observation::Step(Step::Silent) => evicts = true,
                Observation::Step(step) => marks.step = Some(*step),
                Observation::WindowClosed => marks.closes = true,
                Observation::Span(DelayKind::ClosedWindow, span) if !evicts => {
                    marks.was_closed = Some(*span);
                }
                Observation::Span(DelayKind::Acknowledgement, span) => {
                    let longest = marks.acknowledged_after.unwrap_or_default().max(*span);
                    marks.acknowledged_after = Some(longest);
                }
                Observation::Span(DelayKind::Response, span) => marks.replied_after = Some(*span),
                _ => {}
            }
        }
    }

    fn keep(&mut self, passed: Passed) {
        push(&mut self.all, passed, KEPT);
        if let Some((connection, listed)) = &mut self.listed
            && *connection == passed.placed.connection
        {
            push(listed, passed, LISTED);
        }
    }

    /// Keeps the newest TPDUs of this connection apart from now on; of none if none is listed.
    pub(in crate::tui) fn list(&mut self, connection: Option<u32>) {
        if self.listed.as_ref().map(|(listed, _)| *listed) == connection {
            return;
        }
        self.listed = connection.map(|connection| (connection, self.of_all(connection)));
    }

    /// Returns the newest TPDUs of a connection, the oldest first.
    pub(in crate::tui) fn of(&self, connection: u32) -> Vec<Passed> {
        match &self.listed {
            Some((listed, newest)) if *listed == connection => newest.iter().copied().collect(),
            _ => self.of_all(connection).into(),
        }
    }

    fn of_all(&self, connection: u32) -> VecDeque<Passed> {
        let of = self.all.iter().rev().filter(|passed| passed.placed.connection == connection);
        let mut newest: VecDeque<Passed> = of.take(LISTED).copied().collect();
        newest.make_contiguous().reverse();
        newest
    }
}

fn push(kept: &mut VecDeque<Passed>, passed: Passed, most: usize) {
    if kept.len() >= most {
        kept.pop_front();
    }
    kept.push_back(passed);
}

/// A TPDU with the marks that the observations before it gave.
fn passed(tpdu: &Tpdu, placed: Placed, before: Marks) -> Passed {
    let opens = matches!(tpdu.kind, Kind::Cr);
    let marks = Marks {
        is_repeated: tpdu.retransmitted,
        is_beyond: tpdu.into_closed_window,
        role: tpdu.role,
        step: tpdu.step.or(before.step),
        // A new connection has had no window: another one was evicted for it.
        was_closed: before.was_closed.filter(|_| !opens),
        ..before
    };
    let octets = tpdu.header_octets.saturating_add(tpdu.data_octets);
    Passed { at: tpdu.at, kind: tpdu.kind, octets, placed, marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn placed(connection: u32, number: u32) -> Placed {
        Placed { connection, side: 0, number: Some(number), modulus: 128, credit: None }
    }

    fn dt(connection: u32, number: u32) -> Remarks {
        let observations = vec![
            Observation::Tpdu(Tpdu::plain(Kind::Dt, 5, 100)),
            Observation::Placed(placed(connection, number)),
        ];
        Remarks { observations, ..Remarks::default() }
    }

    fn numbers(newest: &Newest, connection: u32) -> Vec<u32> {
        newest.of(connection).iter().filter_map(|passed| passed.placed.number).collect()
    }

    #[test]
    fn a_listed_connection_keeps_its_tpdus_next_to_a_busy_one() {
        let mut newest = Newest::default();
        newest.observe(&dt(1, 0));
        newest.observe(&dt(2, 7));
        newest.list(Some(1));
        (0..KEPT as u32).for_each(|number| newest.observe(&dt(2, number)));
        newest.observe(&dt(1, 1));
        assert_eq!(numbers(&newest, 1), [0, 1]);
        assert_eq!(newest.all.len(), KEPT);
        // No longer listed, it has what the ring of all connections still has.
        newest.list(None);
        assert_eq!(numbers(&newest, 1), [1]);
        assert_eq!(numbers(&newest, 2).len(), LISTED);
        assert_eq!(numbers(&newest, 2).last(), Some(&(KEPT as u32 - 1)));
    }

    #[test]
    fn marks_are_those_of_the_tpdu_behind_them() {
        let closed = Duration::from_millis(12);
        let observations = vec![
            Observation::Span(DelayKind::ClosedWindow, closed),
            Observation::Tpdu(Tpdu { role: Some(Role::Crediting), ..Tpdu::plain(Kind::Ak, 5, 0) }),
            Observation::Placed(Placed { credit: Some(3), ..placed(1, 9) }),
            Observation::Tpdu(Tpdu { retransmitted: true, ..Tpdu::plain(Kind::Dt, 5, 10) }),
            Observation::Placed(placed(1, 4)),
            Observation::WindowClosed,
            Observation::Tpdu(Tpdu { unassigned: true, ..Tpdu::plain(Kind::Ak, 5, 0) }),
            Observation::Tpdu(Tpdu::plain(Kind::Dt, 5, 0)),
            Observation::Placed(placed(1, 5)),
        ];
        let mut newest = Newest::default();
        newest.observe(&Remarks { observations, ..Remarks::default() });
        let [ak, again, last] = newest.of(1)[..] else { panic!("{newest:?}") };
        assert_eq!((ak.kind, ak.marks.was_closed), (Kind::Ak, Some(closed)));
        assert_eq!(ak.placed.credit, Some(3));
        let expected = Marks { is_repeated: true, ..Marks::default() };
        assert_eq!((again.marks, again.octets), (expected, 15));
        assert_eq!(last.marks, Marks::default());
    }

    #[test]
    fn a_window_of_an_evicted_connection_is_no_mark() {
        let observations = vec![
            Observation::Step(Step::Silent),
            Observation::Span(DelayKind::ClosedWindow, Duration::from_secs(300)),
            Observation::Tpdu(Tpdu::plain(Kind::Dt, 5, 0)),
            Observation::Placed(placed(1, 5)),
        ];
        let mut newest = Newest::default();
        newest.observe(&Remarks { observations, ..Remarks::default() });
        assert_eq!(newest.of(1)[0].marks, Marks::default());
    }
}

//! State of a connection that a quiet one of class 0 does not need: numbers, credit and
//! acknowledgement delays, unusual TPDUs, and the times of its end.
//!
//! A connection has it from its first numbered TPDU on, or from the first unusual one. So a
//! connection of class 0, which its TCP connection needs memory for too, has none until it ends.

use super::acknowledgement::AcknowledgementOrder;
use super::data::{Beyond, DataOrder};
use super::outstanding::Request;
use super::side::Side;
use super::waiting::{Behind, Waiting};
use crate::measure::{DelaySum, Times, Volume};
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::Kind;

/// Beginning of the numbers and the credit of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start {
    /// True if its first DT has number 0; false if it was found under way.
    pub(super) is_seen: bool,
    /// Credit that its CR or CC granted; [`Self::NO_CREDIT`] if neither was seen.
    credit: u8,
}

impl Start {
    const NO_CREDIT: u8 = u8::MAX;

    /// Side found under way, or not known yet.
    pub(super) const UNDER_WAY: Self = Self { is_seen: false, credit: Self::NO_CREDIT };

    /// Side that opened the connection and granted this credit.
    pub(super) const fn of(credit: u8) -> Self {
        Self { is_seen: true, credit }
    }
}

/// Numbers, credit and acknowledgement delays of what one side sends.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    pub(crate) data: DataOrder,
    pub(super) waiting: Waiting,
    pub(super) acknowledgements: AcknowledgementOrder,
    /// Acknowledgement delays of its DTs.
    pub(super) delays: DelaySum,
}

const _: () = assert!(size_of::<Numbered>() == 44);

impl Numbered {
    pub(super) fn of(start: Start) -> Self {
        let data = if start.is_seen { DataOrder::from_the_start() } else { DataOrder::under_way() };
        let acknowledgements = match start.credit {
            Start::NO_CREDIT => AcknowledgementOrder::under_way(),
            credit => AcknowledgementOrder::from_the_start(credit),
        };
        Self { data, waiting: Waiting::NONE, acknowledgements, delays: DelaySum::NONE }
    }

    /// Restarts numbers and credit; the delays stay.
    pub(super) fn restart(&mut self, start: Start) {
        *self = Self { delays: self.delays, ..Self::of(start) };
    }
}

/// State that few directions need.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    /// The number of the last ED.
    pub(super) expedited: Option<u32>,
    /// The number of the last EA.
    pub(super) expedited_acknowledged: Option<u32>,
    pub(super) volumes: Vec<(Kind, Volume)>,
    pub(super) dt_octets_again: u64,
    pub(super) confirming: u64,
    pub(super) keeping_alive: u64,
    pub(super) into_closed_window: u64,
    pub(super) empty_parts: u64,
    /// DTs beyond a hole.
    pub(super) beyond: Beyond,
    /// Unacknowledged DTs after the first.
    pub(super) waiting: Behind,
    /// Requests without a reply, except the first of the connection.
    pub(super) requests: VecDeque<Request>,
    /// Time since which the peer grants no credit; none while it grants some.
    pub(super) closed_since: Option<Instant>,
    /// Durations of closed windows, except the one under way.
    pub(super) closed: Times,
}

/// Change of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It was open and is closed.
    Closed,
    /// It was opened; it was closed for this number of nanoseconds.
    Opened(u64),
}

/// State that few connections of class 0 need.
#[derive(Clone, Debug)]
pub(crate) struct Apart {
    pub(crate) numbered: [Numbered; 2],
    pub(super) rare: [Option<Box<Rare>>; 2],
    /// Times of the last two states; the end of time for a state not reached.
    pub(super) ended: [Instant; 2],
}

impl Apart {
    // Cold: a connection begins once.
    #[cold]
    pub(super) fn new(starts: [Start; 2]) -> Box<Self> {
        let numbered = starts.map(Numbered::of);
        Box::new(Self { numbered, rare: [None, None], ended: [Instant::MAX; 2] })
    }

    /// Rare state of a side, made now if there is none.
    pub(super) fn rare(&mut self, side: Side) -> &mut Rare {
        self.rare[side].get_or_insert_default()
    }

    /// Numbers of a side, chosen without an index that could be out of bounds.
    #[inline]
    pub(crate) const fn of(&mut self, side: Side) -> &mut Numbered {
        let [first, second] = &mut self.numbered;
        if side == 0 { first } else { second }
    }

    /// Records whether the peer of a side grants credit; returns the change of the window, if any.
    #[inline]
    pub(super) fn window(&mut self, side: Side, at: Instant, is_closed: bool) -> Option<Turn> {
        if is_closed {
            let rare = self.rare(side);
            if rare.closed_since.is_some() {
                return None;
            }
            rare.closed_since = Some(at);
            return Some(Turn::Closed);
        }
        let rare = self.rare[side].as_mut()?;
        let closed = at.nanos_since(rare.closed_since.take()?);
        rare.closed.add(&Times::one(closed));
        Some(Turn::Opened(closed))
    }

    /// True if all DTs are acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        let are_first_idle = self.numbered.iter().all(|side| side.waiting.is_empty());
        are_first_idle && self.rare.iter().flatten().all(|rare| rare.waiting.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::{Connection, End};
    use super::*;
    use wire::tp::{ClassOption, Format, Reference};

    #[test]
    fn a_confirmer_starts_anew_where_state_was_kept_before() {
        let [from, to] = [0, 1].map(|host| End { host, port: 0 });
        for is_kept in [false, true] {
            let mut connection = Connection::requested(from, to, Reference(1), 3, Instant::ZERO);
            if is_kept {
                connection.apart().of(1).acknowledgements = AcknowledgementOrder::under_way();
            }
            let class = ClassOption::class4(false);
            connection.confirm(Instant::ZERO, Reference(2), 5, class);
            let credit = |side: Side| {
                let grant = connection.apart.as_ref()?.numbered[side].acknowledgements.grant();
                grant.map(|grant| grant.credit)
            };
            assert_eq!([credit(0), credit(1)], [Some(3), Some(5)]);
            let data = &connection.apart().of(1).data;
            assert_eq!(data.expected(Format::Normal, 9), 0, "its first DT has number 0");
        }
    }
}

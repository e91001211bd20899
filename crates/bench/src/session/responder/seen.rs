//! Messages of a session that have arrived: distinguishes duplicates from first arrivals.

use stack::load::FlowId;
use std::collections::BTreeMap;

/// Maximum number of ranges kept for a session, over all its flows: some 16 MB.
const RANGES: usize = 1 << 19;

/// Sequence numbers that have arrived, as ranges. A flow without losses is one range, however long.
///
/// At the maximum number of ranges, the oldest gap of the flow is closed: a message still missing
/// there then counts as a duplicate when it arrives.
#[derive(Default)]
pub(super) struct Seen {
    /// First number of each range, mapped to the number after its last.
    ranges: BTreeMap<(FlowId, u32), u64>,
}

impl Seen {
    /// Returns whether this is the first arrival of the message.
    pub(super) fn is_new(&mut self, flow: FlowId, sequence: u32) -> bool {
        let wide = u64::from(sequence);
        let before = self.ranges.range_mut((flow, 0)..=(flow, sequence)).next_back();
        let grown = match before {
            Some((_, end)) if wide < *end => return false,
            Some(((_, start), end)) if wide == *end => {
                *end += 1;
                Some(*start)
            }
            _ => None,
        };
        let start = grown.unwrap_or_else(|| {
            self.ranges.insert((flow, sequence), wide + 1);
            sequence
        });
        if let Some(next) = sequence.checked_add(1)
            && let Some(end) = self.ranges.remove(&(flow, next))
        {
            self.ranges.insert((flow, start), end);
        }
        if self.ranges.len() > RANGES {
            self.close_gap(flow);
        }
        true
    }

    /// Joins the first two ranges of a flow, or drops its only one.
    fn close_gap(&mut self, flow: FlowId) {
        let mut ranges = self.ranges.range((flow, 0)..=(flow, u32::MAX));
        let (Some((first, _)), second) = (ranges.next(), ranges.next()) else { return };
        let (first, second) = (*first, second.map(|(key, end)| (*key, *end)));
        match second {
            Some((key, end)) => {
                self.ranges.remove(&key);
                self.ranges.insert(first, end);
            }
            None => {
                self.ranges.remove(&first);
            }
        }
    }

    /// Number of ranges kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowId = FlowId(1);

    #[test]
    fn every_message_is_new_once_in_whatever_order_it_comes() {
        let mut seen = Seen::default();
        for sequence in [5, 3, 4, 0, 9, 1, u32::MAX, u32::MAX - 1] {
            assert!(seen.is_new(FLOW, sequence), "{sequence}");
            assert!(!seen.is_new(FLOW, sequence), "{sequence} again");
        }
        // 0 and 1; 3 to 5; 9; the two highest numbers.
        assert_eq!(seen.len(), 4);
        assert!(seen.is_new(FlowId(2), 5), "flows are apart");
    }

    #[test]
    fn more_than_two_to_the_26_messages_fit_one_range() {
        let mut seen = Seen::default();
        seen.ranges.insert((FLOW, 0), 1 << 26);
        for sequence in (1 << 26)..(1 << 26) + 1_000 {
            assert!(seen.is_new(FLOW, sequence) && !seen.is_new(FLOW, sequence));
        }
        assert_eq!(seen.len(), 1);
    }

    #[test]
    fn a_peer_that_leaves_gaps_takes_a_bounded_number_of_ranges() {
        let mut seen = Seen::default();
        for number in 0..RANGES as u32 + 10_000 {
            let flow = FlowId((number % 7) as u16);
            assert!(seen.is_new(flow, number * 2));
            assert!(seen.len() <= RANGES);
        }
        for flow in 10..1_000 {
            assert!(seen.is_new(FlowId(flow), 1 << 26));
        }
        assert_eq!(seen.len(), RANGES);
    }
}

//! Entries of a buffered report control block (IEC 61850-7-2, 17.2.2): kept after they were sent, so
//! that a client that comes back goes on behind the last one that it has. Memory is bounded: the
//! oldest entries give way, and the next report states the overflow.

use bytes::Bytes;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of entries.
const MOST_ENTRIES: usize = 128;
/// Memory of an entry around its values, in octets, rounded up.
const AROUND_OCTETS: usize = 128;
/// Memory of the number of a member, in octets, rounded up.
const MEMBER_OCTETS: usize = 32;

/// Entry: values of a report, as they were when it was due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Number, which is the entry's identifier.
    pub(super) number: u64,
    /// Time, as binary time.
    pub(super) time: [u8; 6],
    /// Members of the data set that it includes.
    pub(super) members: BTreeSet<usize>,
    /// Reason of their inclusion: a bit of the trigger options.
    pub(super) reason: usize,
    /// Values of the members, encoded.
    pub(super) values: Bytes,
}

impl Entry {
    fn cost(&self) -> usize {
        AROUND_OCTETS + self.members.len() * MEMBER_OCTETS + self.values.len()
    }
}

/// Entries of a block, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    entries: VecDeque<Entry>,
    octets: usize,
    /// Place of the entry that is sent next.
    next: usize,
    /// True if entries were lost before they were sent, and no report has stated it.
    has_lost: bool,
}

impl Buffer {
    /// Adds an entry; the oldest ones give way if it needs more than `room` octets.
    pub(super) fn push(&mut self, entry: Entry, room: usize) {
        self.octets += entry.cost();
        self.entries.push_back(entry);
        while self.entries.len() > MOST_ENTRIES || self.octets > room {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.octets -= oldest.cost();
            self.has_lost |= self.next == 0;
            self.next = self.next.saturating_sub(1);
        }
    }

    /// Takes the entry that is sent next, and whether entries before it were lost.
    pub(super) fn next(&mut self) -> Option<(Entry, bool)> {
        let entry = self.entries.get(self.next)?.clone();
        self.next += 1;
        Some((entry, core::mem::take(&mut self.has_lost)))
    }

    /// Begins again with the oldest entry.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    /// Begins behind the entry of this number, or with the oldest one for 0; returns false if it is
    /// not there.
    pub(super) fn seek(&mut self, number: u64) -> bool {
        if number == 0 {
            self.next = 0;
            return true;
        }
        let Some(place) = self.entries.iter().position(|entry| entry.number == number) else {
            return false;
        };
        (self.next, self.has_lost) = (place + 1, false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, octets: usize) -> Entry {
        let values = vec![0; octets].into();
        Entry { number, time: [0; 6], members: BTreeSet::from([0]), reason: 1, values }
    }

    fn numbers(buffer: &mut Buffer) -> Vec<(u64, bool)> {
        core::iter::from_fn(|| buffer.next()).map(|(entry, lost)| (entry.number, lost)).collect()
    }

    #[test]
    fn the_oldest_entries_give_way_and_the_next_one_states_it_once() {
        let mut buffer = Buffer::default();
        (1..=130).for_each(|number| buffer.push(entry(number, 0), usize::MAX));
        let sent = numbers(&mut buffer);
        assert_eq!((sent.len(), sent[0], sent[1]), (128, (3, true), (4, false)));
        // An entry that was sent is not lost.
        buffer.push(entry(131, 0), usize::MAX);
        assert_eq!(numbers(&mut buffer), [(131, false)]);
    }

    #[test]
    fn entries_take_no_more_than_the_room() {
        let mut buffer = Buffer::default();
        let each = entry(1, 1_000).cost();
        (1..=9).for_each(|number| buffer.push(entry(number, 1_000), 3 * each));
        assert_eq!(numbers(&mut buffer), [(7, true), (8, false), (9, false)]);
        buffer.push(entry(10, 4_000), 3 * each);
        assert_eq!((buffer.octets, numbers(&mut buffer)), (0, vec![]));
        assert!(buffer.has_lost, "the entry that has no room");
    }

    #[test]
    fn a_client_goes_on_behind_the_entry_that_it_names() {
        let mut buffer = Buffer::default();
        (1..=4).for_each(|number| buffer.push(entry(number, 0), usize::MAX));
        assert!(buffer.seek(2));
        assert_eq!(numbers(&mut buffer), [(3, false), (4, false)]);
        assert!(!buffer.seek(5));
        buffer.rewind();
        assert_eq!(numbers(&mut buffer).len(), 4);
        assert!(buffer.seek(0));
        assert_eq!(numbers(&mut buffer).len(), 4);
    }
}

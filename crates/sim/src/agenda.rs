//! What is due when: a heap of deadlines, one per node.
//!
//! A 4-ary heap in the order (time, sequence), in which every entry's place is known. A node has at
//! most one entry, and moving it is one sift: no dead entries are left behind, so the heap never
//! holds more than there are nodes. Ties fall to the node that was scheduled first.

use wire::time::Instant;

/// Children of each entry.
const ARITY: usize = 4;

/// The place of a node that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// Deadlines of nodes, the earliest first.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    heap: Vec<Entry>,
    /// Where each node's entry lies in `heap`.
    places: Vec<u32>,
    sequence: u64,
}

/// A deadline: the time in the upper 64 bits of the key, the sequence number in the lower.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u128,
    node: u32,
}

impl Entry {
    fn at(self) -> Instant {
        Instant::from_nanos((self.key >> 64) as u64)
    }
}

impl Agenda {
    /// An empty agenda for nodes 0 to `nodes` - 1; higher ones may be added by scheduling them.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { heap: Vec::with_capacity(nodes), places: vec![ABSENT; nodes], sequence: 0 }
    }

    /// Sets the node's deadline, or moves it; one that stays the same keeps its turn.
    pub fn schedule(&mut self, node: usize, at: Instant) {
        if node >= self.places.len() {
            self.places.resize(node + 1, ABSENT);
        }
        let place = self.places[node];
        if place != ABSENT && self.heap[place as usize].at() == at {
            return;
        }
        let key = (u128::from(at.as_nanos()) << 64) | u128::from(self.sequence);
        self.sequence += 1;
        let entry = Entry { key, node: node as u32 };
        if place == ABSENT {
            self.heap.push(entry);
            self.rise(self.heap.len() - 1, entry);
        } else {
            self.place(place as usize, entry);
        }
    }

    /// Forgets the node's deadline, if it has one.
    pub fn cancel(&mut self, node: usize) {
        let Some(place) = self.places.get_mut(node).filter(|place| **place != ABSENT) else {
            return;
        };
        let hole = core::mem::replace(place, ABSENT) as usize;
        let last = self.heap.pop().expect("a node with a place is in the heap");
        if hole < self.heap.len() {
            self.place(hole, last);
        }
    }

    /// The earliest deadline and its node.
    #[must_use]
    pub fn first(&self) -> Option<(Instant, usize)> {
        self.heap.first().map(|entry| (entry.at(), entry.node as usize))
    }

    /// How many nodes have a deadline.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no node has a deadline.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Puts `entry` where `hole` is, and then where it belongs.
    fn place(&mut self, hole: usize, entry: Entry) {
        if hole > 0 && entry.key < self.heap[(hole - 1) / ARITY].key {
            self.rise(hole, entry);
        } else {
            self.sink(hole, entry);
        }
    }

    fn rise(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].key <= entry.key {
                break;
            }
            self.put(hole, self.heap[parent]);
            hole = parent;
        }
        self.put(hole, entry);
    }

    fn sink(&mut self, mut hole: usize, entry: Entry) {
        loop {
            let first = hole * ARITY + 1;
            let children = first..(first + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|child| self.heap[*child].key) else { break };
            if self.heap[least].key >= entry.key {
                break;
            }
            self.put(hole, self.heap[least]);
            hole = least;
        }
        self.put(hole, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.node as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn ties_fall_to_the_node_that_was_scheduled_first() {
        let mut agenda = Agenda::new(3);
        agenda.schedule(2, at(5));
        agenda.schedule(0, at(5));
        agenda.schedule(2, at(5));
        assert_eq!(agenda.first(), Some((at(5), 2)), "scheduling the same time keeps the turn");
        agenda.schedule(2, at(6));
        agenda.schedule(2, at(5));
        assert_eq!(agenda.first(), Some((at(5), 0)), "moving away and back loses the turn");
    }

    #[test]
    fn it_agrees_with_a_sorted_map_through_random_changes() {
        const SEED: u64 = 0x5EED_0001;
        println!("seed {SEED:#x}");
        let mut stream = stats::rng::Stream::named(SEED, "agenda");
        let mut agenda = Agenda::default();
        let mut model: BTreeMap<usize, (Instant, u64)> = BTreeMap::new();
        for turn in 0..20_000 {
            let node = stream.below(40) as usize;
            if stream.chance(0.3) {
                agenda.cancel(node);
                model.remove(&node);
            } else {
                // Few different times, so that ties are many.
                let due = at(stream.below(50));
                agenda.schedule(node, due);
                if model.get(&node).is_none_or(|old| old.0 != due) {
                    model.insert(node, (due, turn));
                }
            }
            let first = model.iter().min_by_key(|(_, key)| **key).map(|(node, key)| (key.0, *node));
            assert_eq!(agenda.first(), first, "at turn {turn}");
            assert_eq!(agenda.len(), model.len());
        }
    }
}

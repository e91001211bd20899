//! Tournament tree of deadlines, one per node.
//!
//! A winner tree ordered by (time, sequence). Each node has a leaf, and each inner place holds the
//! earlier of its two children, so the earliest deadline is at the root. Moving a deadline replays
//! one path to the root, without a branch that a processor could mispredict; a heap guesses at each
//! level which child is less. No dead entries are left behind. Of equal times, the one scheduled
//! first wins.

use wire::time::Instant;

/// Leaves of the smallest tree.
const FEWEST_LEAVES: usize = 4;

/// Deadlines of nodes, the earliest first.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The root is at index 1; the children of place p are at 2p and 2p + 1. The leaves, a power of
    /// two of them, are the second half.
    tree: Vec<Entry>,
    sequence: u64,
    scheduled: usize,
}

/// Position in the order of deadlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The deadline.
    pub at: Instant,
    /// Serial number of the deadline; of two at one instant, the lower number comes first.
    pub sequence: u64,
}

impl Turn {
    /// Turn of an unscheduled node: after all others.
    pub const NEVER: Self = Self { at: Instant::MAX, sequence: u64::MAX };

    const fn is_ever(self) -> bool {
        self.sequence != Self::NEVER.sequence
    }

    /// Returns whether this turn comes before `other`. Comparing one 128-bit key (time in the upper
    /// 64 bits, sequence number in the lower) takes no branch.
    #[inline]
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        self.key() < other.key()
    }

    const fn key(self) -> u128 {
        ((self.at.as_nanos() as u128) << 64) | self.sequence as u128
    }
}

/// A deadline of a node.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// [`Turn::NEVER`] in the leaf of a node without one.
    turn: Turn,
    /// A full word, like the other fields: a load wider than the preceding stores would stall store
    /// forwarding.
    node: usize,
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Agenda {
    /// Creates an empty agenda for nodes 0 to `nodes` - 1; scheduling a higher node adds it.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let leaves = nodes.next_power_of_two().max(FEWEST_LEAVES);
        // The node named in an inner place of an empty tree is never used.
        let tree = (0..2 * leaves).map(|place| Entry { turn: Turn::NEVER, node: place % leaves });
        Self { tree: tree.collect(), sequence: 0, scheduled: 0 }
    }

    /// Sets or moves the node's deadline; an unchanged deadline keeps its turn.
    pub fn schedule(&mut self, node: usize, at: Instant) {
        self.enter_turn(node, Turn { at, sequence: self.sequence });
        self.sequence += 1;
    }

    /// Like [`Agenda::schedule`], with a sequence number that the caller shares among several
    /// agendas.
    #[inline]
    pub fn enter_turn(&mut self, node: usize, turn: Turn) {
        if node >= self.leaves() {
            self.grow(node + 1);
        }
        let old = self.tree[self.leaves() + node].turn;
        if old.is_ever() {
            if old.at == turn.at {
                return;
            }
        } else {
            self.scheduled += 1;
        }
        self.enter(Entry { turn, node });
    }

    /// Removes the node's deadline, if it has one.
    pub fn cancel(&mut self, node: usize) {
        if node < self.leaves() && self.tree[self.leaves() + node].turn.is_ever() {
            self.scheduled -= 1;
            self.enter(Entry { turn: Turn::NEVER, node });
        }
    }

    /// Returns the earliest deadline and its node.
    #[must_use]
    pub fn first(&self) -> Option<(Instant, usize)> {
        let (turn, node) = self.first_turn();
        turn.is_ever().then_some((turn.at, node))
    }

    /// Returns the earliest deadline and its node, in the form used to compare agendas;
    /// [`Turn::NEVER`] if there is none.
    #[must_use]
    #[inline]
    pub fn first_turn(&self) -> (Turn, usize) {
        (self.tree[1].turn, self.tree[1].node)
    }

    /// Number of nodes that have a deadline.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.scheduled
    }

    /// Returns whether no node has a deadline.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.scheduled == 0
    }

    const fn leaves(&self) -> usize {
        self.tree.len() / 2
    }

    /// Puts the entry into its node's leaf and replays the matches up to the root.
    fn enter(&mut self, entry: Entry) {
        let mut place = self.leaves() + entry.node;
        self.tree[place] = entry;
        let Entry { turn: Turn { mut at, mut sequence }, mut node } = entry;
        while place > 1 {
            let Entry { turn, node: other } = self.tree[place ^ 1];
            let earlier = turn.is_before(Turn { at, sequence });
            // Field by field, in registers: each compiles to a conditional move.
            at = if earlier { turn.at } else { at };
            sequence = if earlier { turn.sequence } else { sequence };
            node = if earlier { other } else { node };
            place /= 2;
            self.tree[place] = Entry { turn: Turn { at, sequence }, node };
        }
    }

    /// Makes room for at least `nodes` nodes.
    #[cold]
    fn grow(&mut self, nodes: usize) {
        let old = core::mem::replace(self, Self::new(nodes));
        for entry in old.tree[old.leaves()..].iter().filter(|entry| entry.turn.is_ever()) {
            self.enter(*entry);
        }
        (self.sequence, self.scheduled) = (old.sequence, old.scheduled);
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
        for turn in 0..20_000_u64 {
            // The tree grows as the node numbers increase.
            let node = stream.below(1 + turn / 200) as usize;
            if stream.chance(0.3) {
                agenda.cancel(node);
                model.remove(&node);
            } else {
                // Few distinct times, so that ties are frequent.
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

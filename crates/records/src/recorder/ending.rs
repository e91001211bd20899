//! Items of the end of a measurement: connections, hosts, streams, functions of units, and the end itself.

use super::Recorder;
use crate::associations;
use crate::item::{End, Item};
use crate::slowest::Slowness;
use core::cmp::Reverse;
use core::ops::Range;
use meter::{Host, HostReports, TransactionKey};
use std::collections::VecDeque;
use std::vec;

/// Places of connections whose items are made at one time.
const TOGETHER: u32 = 64;

/// Items that are not made yet. A report takes thousands of octets, and there may be as many
/// connections and hosts.
#[derive(Debug)]
pub(super) struct Ending {
    /// Places of the connections.
    pub(super) places: Range<u32>,
    pub(super) hosts: SlowestFirst,
    /// Items of streams and publishers.
    pub(super) streams: VecDeque<Item>,
    /// Functions of units.
    pub(super) transactions: vec::IntoIter<TransactionKey>,
    /// Last item.
    pub(super) end: End,
}

/// Hosts, the slowest first. Ties stay in order of appearance; hosts beyond the limit come last.
#[derive(Debug)]
pub(super) struct SlowestFirst {
    hosts: HostReports,
    /// Places of those that are not taken yet.
    order: vec::IntoIter<usize>,
}

impl SlowestFirst {
    pub(super) fn of(hosts: HostReports) -> Self {
        let mut order: Vec<usize> = (0..hosts.places()).collect();
        order.sort_by_cached_key(|place| {
            let slowness = Slowness::of(&hosts.replied(*place));
            (hosts.address(*place).is_none(), Reverse(slowness))
        });
        Self { hosts, order: order.into_iter() }
    }
}

impl Iterator for SlowestFirst {
    type Item = Host;

    fn next(&mut self) -> Option<Host> {
        self.hosts.take(self.order.next()?)
    }
}

impl Recorder {
    /// Queues the next items of the end, if there are any.
    #[cold]
    pub(super) fn continue_ending(&mut self) {
        let Some(ending) = &mut self.ending else { return };
        while self.items.is_empty() && !ending.places.is_empty() {
            let Range { start, end } = ending.places;
            let next = start.saturating_add(TOGETHER).min(end);
            ending.places = next..end;
            for known in self.meter.connections_in(start..next) {
                let associated = associations::items(&known, self.has_names);
                self.items.push_back(Item::Connection(Box::new(known)));
                self.items.extend(associated);
            }
        }
        if !self.items.is_empty() {
            return;
        }
        if let Some(host) = ending.hosts.next() {
            self.items.push_back(Item::Host(Box::new(host)));
        } else if !ending.streams.is_empty() {
            self.items = core::mem::take(&mut ending.streams);
        } else if let Some(report) =
            ending.transactions.find_map(|key| self.meter.transaction(&key))
        {
            self.tell_transactions(report);
        } else if let Some(Ending { end, .. }) = self.ending.take() {
            self.items.push_back(Item::End(end));
        }
    }
}

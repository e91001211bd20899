//! Items of the end of a measurement: connections, hosts, streams, functions of units, and the end itself.

use super::Recorder;
use crate::associations;
use crate::item::{End, Item};
use crate::slowest::Slowness;
use core::cmp::Reverse;
use core::ops::Range;
use meter::{Host, Meter, TransactionReport};
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
    /// Hosts, in the order of [`slowest_first`].
    pub(super) hosts: vec::IntoIter<Host>,
    /// Items of streams and publishers.
    pub(super) streams: VecDeque<Item>,
    /// Functions of units.
    pub(super) transactions: vec::IntoIter<TransactionReport>,
    /// Last item.
    pub(super) end: End,
}

/// Returns the hosts, the slowest first. Ties stay in order of appearance; hosts beyond the limit come
/// last.
pub(super) fn slowest_first(meter: &Meter) -> vec::IntoIter<Host> {
    let mut hosts: Vec<Host> = meter.each_host().collect();
    hosts.sort_by_cached_key(|host| {
        (host.address.is_none(), Reverse(Slowness::of(&host.replied.summary())))
    });
    hosts.into_iter()
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
        } else if let Some(report) = ending.transactions.next() {
            self.tell_transactions(report);
        } else if let Some(Ending { end, .. }) = self.ending.take() {
            self.items.push_back(Item::End(end));
        }
    }
}

//! Gathers on a thread of its own, so that no frame ever waits for a terminal.
//!
//! Orders come in, snapshots go out, and nothing is shared: where nobody takes a snapshot, it is
//! thrown away and gathering goes on.

use super::controls::Order;
use super::gather::{Gather, Snapshot};
use super::source::{Source, Step};
use crate::exit::Failure;
use core::time::Duration;
use live::clock;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

/// How long an order may wait on a silent network.
const PATIENCE: Duration = Duration::from_millis(10);

/// What was asked for.
pub(super) struct Update {
    pub(super) snapshot: Snapshot,
    /// How it goes on, in a word.
    pub(super) state: &'static str,
}

/// How gathering ended.
pub(super) struct Outcome {
    pub(super) gather: Gather,
    pub(super) dropped_by_kernel: Option<u64>,
    pub(super) failure: Option<Failure>,
}

/// Gathers until nobody gives orders any more.
pub(super) fn work(
    mut source: Source,
    mut gather: Gather,
    orders: &Receiver<Order>,
    updates: &SyncSender<Update>,
) -> Outcome {
    let mut ended: Option<Option<Failure>> = None;
    loop {
        let order = match &ended {
            None => orders.try_recv(),
            Some(_) => orders.recv().map_err(|_| TryRecvError::Disconnected),
        };
        match order {
            Ok(order) => {
                let state = match &ended {
                    None => source.state(),
                    Some(None) => "over",
                    Some(Some(_)) => "FAILED",
                };
                match order {
                    // What was gathered would be forgotten, and nothing would come in its place.
                    Order::Filter(_) if ended.is_some() => {
                        gather.tell("the filter stays: nothing more comes".to_owned());
                    }
                    _ => obey(order, &mut gather, updates, state),
                }
                continue;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
        if let Step::Ended(failure) = source.step(&mut gather, clock::now() + PATIENCE) {
            gather.finish();
            let failed = failure.as_ref().map(ToString::to_string);
            gather.tell(failed.unwrap_or_else(|| "nothing more comes".to_owned()));
            ended = Some(failure);
        }
    }
    let failure = ended.flatten();
    Outcome { gather, dropped_by_kernel: source.dropped(), failure }
}

fn obey(order: Order, gather: &mut Gather, updates: &SyncSender<Update>, state: &'static str) {
    match order {
        // A full channel means that nobody looks: the snapshot is dropped, not waited for.
        Order::Look(window) => {
            drop(updates.try_send(Update { snapshot: gather.snapshot(window), state }));
        }
        Order::Interval(interval) => gather.set_interval(interval),
        Order::Filter(filter) => gather.set_filter(filter),
        Order::Restart => gather.restart(),
    }
}

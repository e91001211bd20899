//! Gathers on its own thread, so that no frame ever waits for a terminal.
//!
//! Orders come in, snapshots go out, and nothing is shared. A snapshot without a receiver is
//! discarded, and gathering continues.

use super::controls::Order;
use super::gather::{Gather, Snapshot};
use super::source::{Source, Step};
use crate::exit::Failure;
use core::time::Duration;
use live::clock;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

/// Maximum delay of an order on a silent network.
const PATIENCE: Duration = Duration::from_millis(10);

/// A requested snapshot.
pub(super) struct Update {
    pub(super) snapshot: Snapshot,
    /// State of the source in a word.
    pub(super) state: &'static str,
}

/// Result of gathering.
pub(super) struct Outcome {
    pub(super) gather: Gather,
    pub(super) dropped_by_kernel: Option<u64>,
    pub(super) failure: Option<Failure>,
}

/// Gathers until the sender of orders is gone.
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
                    // A new filter would discard the samples, and no frames come to replace them.
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
        // A full channel means that the screen is not reading: the snapshot is dropped without
        // waiting.
        Order::Look(window) => {
            drop(updates.try_send(Update { snapshot: gather.snapshot(window), state }));
        }
        Order::Interval(interval) => gather.set_interval(interval),
        Order::Filter(filter) => gather.set_filter(filter),
        Order::Restart => gather.restart(),
    }
}

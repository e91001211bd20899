//! Timers that wait until a TPDU has left the station (RFC 1008 3.4.3.2, network queuing delay NQ).
//!
//! T1 bounds the wait for an answer. While a TPDU is in a queue of its own station there can be no
//! answer, and a queue longer than T1 would cause a retransmission of each TPDU in it. So a driver
//! that knows when a frame has left takes a [`TransmitHandle`] for it, and returns the handle at that time.
//! T1 and the round trip then start at that time, and nothing is retransmitted before it. If a
//! driver takes no handle, T1 starts when a TPDU is output.
//!
//! Left out: T1 of repeated AKs, which starts at their output.

use crate::transport::service::Endpoint;
use wire::tp::Kind;

/// TPDU of a connection that waits to leave the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AwaitedTpdu {
    /// CR, CC or DR that awaits an answer.
    Kept(Kind),
    /// DT with this number.
    Data(u32),
    /// ED with this number.
    Expedited(u32),
}

/// Handle of an output TPDU whose timer waits until it leaves the station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransmitHandle {
    pub(super) endpoint: Endpoint,
    pub(super) timed: AwaitedTpdu,
}

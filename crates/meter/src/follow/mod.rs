//! Followers: state kept between PDUs, one follower for each layer that has connections.
//!
//! ```text
//! follower       key of its state     fed by                        reports
//! tcp            two sockets          segments (`stream`)           TCP delays of a stream
//! transport      references, NSAPs    TPDUs of an NSDU (`track`)    transport connections
//! association    transport connection TSDUs, by their first octets  services, control blocks
//! cyclic         publisher, receiver, frames of one PDU, datagrams   streams of cyclic data
//!                name                 (`Meter`)
//! transactions   server, unit,        octets of TCP streams          requests and replies of
//!                function             (`stream`)                     Modbus, DNP3, IEC 104 ...
//! ```
//!
//! All have the three verbs of [`Follower`]. A follower counts into the [`Sink`](crate::track::Sink)
//! of the interval, is fed by the follower below it, and bounds its memory: what a limit costs is
//! counted. To add one: its file or folder, an implementation of [`Follower`], and the line of the
//! follower below that feeds it. The fast path may call inherent methods that do the same with fewer
//! steps; `fast` lists the rules for that.

pub(crate) mod association;
pub(crate) mod cyclic;
mod period;
mod quantiles;
pub(crate) mod transactions;

use wire::time::Instant;

/// State kept between PDUs of one layer. `Above` receives its results: the sink, and the follower
/// above, if it is one of its own.
pub(crate) trait Follower<Above: ?Sized> {
    /// PDU, or part of one, that the layer below delivers.
    type Input<'a>;
    /// Follower below, of which the reports include a part.
    type Below: ?Sized;
    /// Report of one member.
    type Report;

    /// Processes what the layer below delivered at this time.
    fn observe(&mut self, at: Instant, input: Self::Input<'_>, above: &mut Above);

    /// Ends, for their silence, the members that are over at this time.
    fn expire(&mut self, at: Instant, above: &mut Above);

    /// Reports of its members as of `now`.
    fn report(&self, now: Instant, below: &Self::Below) -> impl Iterator<Item = Self::Report>;
}

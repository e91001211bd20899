//! Interface between a driver of network connections, such as one of TCP, and a station that uses
//! them.

use crate::machine::Deadline;
use core::time::Duration;
use wire::packet::Packet;
use wire::time::Instant;

/// Network connection: identifier assigned by the station. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NetworkConnectionId(pub u32);

/// Event or action on a network connection: the primitives of the network service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// Out: N-CONNECT request. In: the network connection exists, requested by either side.
    Connect,
    /// N-DATA: one NSDU, which is one TPDU or, in class 2, several concatenated.
    Data(Packet),
    /// In: the network has accepted octets of the NSDUs passed to it, and has room for more.
    Taken {
        /// Number of octets, without headers of the network.
        octets: usize,
    },
    /// Out: N-DISCONNECT request, to be executed after all data was delivered. In: the network
    /// connection is gone.
    Disconnect,
}

/// Station above a network service with connections (N-CONNECT, N-DATA, N-DISCONNECT), instead of a
/// LAN.
///
/// It is driven like a machine: after each call, drain [`NetworkStation::poll`]; time never goes
/// backwards; an early [`NetworkStation::expire`] is harmless. Each line ends with one
/// [`Network::Disconnect`] from the driver, whichever side requested it. After this, all data
/// passed to the line is known to be delivered or lost.
pub trait NetworkStation {
    /// Accepts a network connection; `None` if the maximum number exists.
    fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId>;
    /// Processes an event on a line.
    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network);
    /// Processes expired timers; called at or after [`NetworkStation::deadline`].
    fn expire(&mut self, now: Instant);
    /// Reports that the station did not run for this time, like
    /// [`Station::stood_still`](crate::station::Station::stood_still).
    fn stood_still(&mut self, _for_time: Duration) {}
    /// Time and timer of the next call of [`NetworkStation::expire`].
    fn deadline(&self) -> Option<Deadline>;
    /// Next action on a line.
    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)>;
    /// Returns true if there is room for input on this line; if not, the peer has to wait.
    fn takes_input(&self, line: NetworkConnectionId) -> bool;
    /// Returns true if the only data waiting to be sent on this line was already passed to the
    /// driver.
    fn is_idle(&self, line: NetworkConnectionId) -> bool;
    /// Returns true if the line carries control traffic, which is exempt from load limits.
    fn is_control(&self, line: NetworkConnectionId) -> bool;
}

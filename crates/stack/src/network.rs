//! What a driver of network connections, such as one of TCP, sees of a station that uses them.

use crate::machine::Deadline;
use crate::tp0::Network;
use wire::time::Instant;

/// A network connection: the station's name for it. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line(pub u32);

/// A station whose layer below is a network service with connections (N-CONNECT, N-DATA,
/// N-DISCONNECT), and not a LAN.
///
/// Driven like a machine: after each call, drain [`NetworkUser::poll`]; time never goes backwards; an
/// early [`NetworkUser::expire`] is harmless. Each line ends with one [`Network::Disconnect`] handed
/// in, whoever asked for it: only then is everything that was handed over known to be through or lost.
pub trait NetworkUser {
    /// Somebody asks for a network connection; `None` where there are as many as there may be.
    fn incoming(&mut self, now: Instant) -> Option<Line>;
    /// Something came in on a line.
    fn receive(&mut self, now: Instant, line: Line, network: Network);
    /// The time of [`NetworkUser::deadline`] has come, or may have.
    fn expire(&mut self, now: Instant);
    /// When it next wants [`NetworkUser::expire`] to be called, and why.
    fn deadline(&self) -> Option<Deadline>;
    /// The next thing it wants done on a line.
    fn poll(&mut self) -> Option<(Line, Network)>;
    /// Whether it has room for what comes in on this line; where not, the peer has to wait.
    fn takes_input(&self, line: Line) -> bool;
    /// Whether nothing waits to be sent on this line but what was handed over.
    fn is_idle(&self, line: Line) -> bool;
    /// Whether the line controls the instrument, and so goes past the limits on load.
    fn is_control(&self, line: Line) -> bool;
}

//! Requests and indications of connections, and their parameters.

use bytes::Bytes;
use core::time::Duration;
use wire::addr::Mac;

/// Connection: identifier assigned by its station. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Socket(pub u32);

/// Request of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Open a connection; the socket is one from [`super::Entity::socket`].
    Connect {
        /// Connection.
        socket: Socket,
        /// Station of the peer.
        peer: Mac,
    },
    /// Send octets.
    Data {
        /// Connection.
        socket: Socket,
        /// Octets.
        octets: Bytes,
    },
    /// Send what waits, and close this direction.
    Release {
        /// Connection.
        socket: Socket,
    },
    /// Reset the connection.
    Abort {
        /// Connection.
        socket: Socket,
    },
}

/// Indication to a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// A requested connection is open.
    Opened {
        /// Connection.
        socket: Socket,
    },
    /// A peer's connection is open.
    Accepted {
        /// Connection.
        socket: Socket,
        /// Station of the peer.
        peer: Mac,
    },
    /// Octets arrived, in order.
    Data {
        /// Connection.
        socket: Socket,
        /// Octets.
        octets: Bytes,
    },
    /// The peer has acknowledged octets.
    Taken {
        /// Connection.
        socket: Socket,
        /// Number of octets since the last such indication.
        octets: usize,
    },
    /// No more octets will arrive: the peer has closed its direction, or the connection is lost.
    Ended {
        /// Connection.
        socket: Socket,
        /// True if the connection no longer exists, and unacknowledged octets are lost.
        lost: bool,
    },
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// A segment was retransmitted.
    Retransmitted(Socket),
    /// A datagram was dropped: no segment for this station, or a wrong checksum.
    Dropped,
}

/// Parameters of the connections of a station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// MAC address of the station.
    pub address: Mac,
    /// Port on which connections are accepted.
    pub port: u16,
    /// Maximum number of connections, in any state.
    pub connections: usize,
    /// Initial sequence number of the first connection.
    pub first_sequence: u32,
    /// Maximum segment size to announce: octets of data.
    pub mss: u16,
    /// Receive window in octets.
    pub window: u16,
    /// Maximum time for which an acknowledgement is held back, for data that it can ride on. Every
    /// second segment of full size is acknowledged at once.
    pub delayed_acknowledgement: Duration,
    /// Retransmission timeout (RTO) before the first round trip.
    pub first_rto: Duration,
    /// Minimum retransmission timeout.
    pub least_rto: Duration,
    /// Maximum retransmission timeout.
    pub most_rto: Duration,
    /// Maximum number of retransmissions in a row of one segment, after which the connection is lost.
    pub retransmissions: u32,
    /// Time for which a closed connection answers a FIN that arrives again (TIME-WAIT).
    pub time_wait: Duration,
}

impl Params {
    /// Values of a common host on Ethernet; RTO and delay of acknowledgements are those of Linux,
    /// TIME-WAIT is shortened to a second.
    #[must_use]
    pub const fn lan(address: Mac) -> Self {
        Self {
            address,
            port: 102,
            connections: 16_384,
            first_sequence: 1,
            mss: 1_460,
            window: u16::MAX,
            delayed_acknowledgement: Duration::from_millis(40),
            first_rto: Duration::from_secs(1),
            least_rto: Duration::from_millis(200),
            most_rto: Duration::from_secs(60),
            retransmissions: 8,
            time_wait: Duration::from_secs(1),
        }
    }
}

/// Event counters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Segments received for this station, with correct checksums.
    pub received: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Segments whose data had arrived before.
    pub duplicates: u64,
    /// Datagrams dropped: no segment for this station, or a wrong checksum.
    pub dropped: u64,
}

//! What a recorder finds, as plain data of the meter, before it is written down.

use meter::measure::{Summary, Traffic};
use meter::oddity::Oddities;
use meter::{Address, Connection, Direction, Host, Numbers, Report};
use wire::capture::Statistics;
use wire::time::Instant;

/// Something found. Those of an interval come in this order: the interval, its hosts, its
/// connections, the rest of them.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A sampling interval is over.
    Sample(Sample),
    /// A measurement interval is over, or a report within one is due.
    Interval(Box<Interval>),
    /// What a host sent and received in it.
    HostInterval(Box<HostInterval>),
    /// What went over a connection in it.
    ConnectionInterval(Box<ConnectionInterval>),
    /// What went over the other connections in it.
    Rest(Box<Rest>),
    /// Everything there was, without hosts and connections.
    Total(Box<Report>),
    /// A connection that is forgotten, or that was followed to the end.
    Connection(Box<Connection>),
    /// A host.
    Host(Box<Host>),
    /// The end.
    End(End),
}

/// A sampling interval.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) frames: u64,
    pub(crate) octets: u64,
    /// Where the numbers of the busiest connections stand at its end.
    pub(crate) places: Vec<Place>,
}

/// Where the numbers of a connection stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) serial: u32,
    pub(crate) numbers: [Option<Numbers>; 2],
    /// Whether the peer of each side gives it no credit.
    pub(crate) is_closed: [bool; 2],
}

/// A measurement interval, or so much of it as was over when a report was due.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) report: Report,
    /// Whether the measurement interval is over.
    pub(crate) is_over: bool,
    /// Frames it held, whatever they were.
    pub(crate) frames: u64,
    /// What was counted where frames are collected, since measuring began.
    pub(crate) collected: Statistics,
}

/// What a host sent and received in an interval.
#[derive(Clone, Debug)]
pub(crate) struct HostInterval {
    pub(crate) index: Option<u64>,
    /// None of the rest.
    pub(crate) address: Option<Address>,
    /// How many they are: one, but for the rest, where the meter knows them apart.
    pub(crate) hosts: u64,
    pub(crate) traffic: [Traffic; 2],
    /// Times that its replies took since measuring began.
    pub(crate) replied: Summary,
}

/// What went over a connection in an interval.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionInterval {
    pub(crate) index: Option<u64>,
    pub(crate) connection: Connection,
    /// What each side sent in the interval.
    pub(crate) directions: [Direction; 2],
}

/// What went over the connections that are not told of one by one.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    pub(crate) index: Option<u64>,
    pub(crate) connections: u64,
    pub(crate) directions: [Direction; 2],
}

/// How it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    pub(crate) frames: u64,
    /// Until when was heard: the time of the last frame, or of a port until listening ended.
    pub(crate) heard_until: Option<Instant>,
    /// Frames that a filter left out; none where there is no filter.
    pub(crate) left_out: Option<u64>,
    pub(crate) collected: Statistics,
    pub(crate) oddities: Oddities,
    pub(crate) error: Option<String>,
}

//! Results of a recorder as plain data of the meter, before they become records.

use crate::followed_streams::FollowedStream;
use crate::{CyclicTotals, Publisher, Publishers, Stamps, StreamInterval, TransactionTotals};
use meter::measure::{Summary, Traffic};
use meter::oddity::Oddities;
use meter::user::User;
use meter::{
    Address, AssociationReport, Connection, Direction, Host, Numbers, Report, ServiceReport,
    StreamReport, TransactionReport,
};
use std::sync::Arc;
use wire::capture::Statistics;
use wire::time::Instant;

/// A result of a recorder. Those of an interval come in this order: the interval, its hosts, its
/// connections, each before its association so far and in the interval, the rest of its connections.
#[derive(Clone, Debug)]
pub enum Item {
    /// A sampling interval is over.
    Sample(Sample),
    /// A measurement interval is over, or a report within one is due.
    Interval(Box<Interval>),
    /// Activity of a host in the interval.
    HostInterval(Box<HostInterval>),
    /// Activity of a connection in the interval.
    ConnectionInterval(Box<ConnectionInterval>),
    /// Association of a connection so far, and its services.
    Services(Box<Associated>),
    /// Services of a connection in the interval.
    ServicesInterval(Box<ServicesInterval>),
    /// Control blocks of a connection so far.
    ControlBlocks(Box<Associated>),
    /// Sum of the other connections in the interval.
    Rest(Box<Rest>),
    /// Measures of the whole, without hosts and connections.
    Total(Box<Report>),
    /// A connection that was evicted, or followed to the end.
    Connection(Box<Connection>),
    /// A host.
    Host(Box<Host>),
    /// Stream of cyclic data.
    CyclicStream(Box<CyclicStream>),
    /// Streams of cyclic data so far, at the end of an interval.
    CyclicStreams(Box<CyclicStreams>),
    /// Declared publishers so far, at the end of an interval, and of the measurement.
    Publishers(Box<Publishers>),
    /// Publisher, at the end of the measurement.
    Publisher(Box<Publisher>),
    /// Transactions of a function, when it ended or measuring did.
    Transactions(Box<TransactionReport>),
    /// Transactions so far, at the end of an interval.
    TransactionsInterval(Box<TransactionsInterval>),
    /// The end.
    End(End),
}

/// Stream of cyclic data, when it ended or measuring did.
#[derive(Clone, Debug)]
pub struct CyclicStream {
    pub report: StreamReport,
    /// Time up to which it was measured.
    pub until: Instant,
    pub has_names: bool,
}

/// Streams of cyclic data so far.
#[derive(Clone, Debug)]
pub struct CyclicStreams {
    pub index: Option<u64>,
    /// Sums over all streams, those that ended among them.
    pub totals: CyclicTotals,
    /// The worst streams that are followed, in order.
    pub worst: Vec<Arc<FollowedStream>>,
    /// True if names are reported.
    pub has_names: bool,
}

impl CyclicStreams {
    /// Converts the item to a record.
    pub(crate) fn record(&self) -> crate::CyclicStreams {
        let each = self.worst.iter().map(|it| {
            let stream = it.figures().named(it.report(), self.has_names);
            let in_interval = StreamInterval::of(it.report(), &stream);
            (stream, in_interval)
        });
        let (worst, in_interval) = each.unzip();
        crate::CyclicStreams { index: self.index, totals: self.totals, worst, in_interval }
    }
}

/// Transactions so far, and in the interval.
#[derive(Clone, Debug)]
pub struct TransactionsInterval {
    pub index: Option<u64>,
    /// Sums over all functions, those that ended among them.
    pub totals: TransactionTotals,
    /// The slowest functions since measuring began.
    pub slowest: Vec<TransactionReport>,
    /// The slowest functions with a PDU in the interval.
    pub in_interval: Vec<TransactionReport>,
}

/// A sampling interval.
#[derive(Clone, Debug)]
pub struct Sample {
    pub start: Instant,
    pub end: Instant,
    pub frames: u64,
    pub octets: u64,
    /// Sequence numbers of the busiest connections at its end.
    pub places: Vec<Place>,
}

/// Sequence numbers of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub serial: u32,
    pub numbers: [Option<Numbers>; 2],
    /// For each side, true if its peer gives it no credit.
    pub is_closed: [bool; 2],
}

/// A measurement interval, or its part up to a report.
#[derive(Clone, Debug)]
pub struct Interval {
    pub report: Box<Report>,
    /// True if the measurement interval is over.
    pub is_over: bool,
    /// Frames in it, of any protocol.
    pub frames: u64,
    /// Statistics of frame collection since measuring began.
    pub collected: Statistics,
    /// Time stamps of the frames so far; none if they are not known.
    pub stamps: Option<Stamps>,
}

/// Activity of a host in an interval.
#[derive(Clone, Debug)]
pub struct HostInterval {
    pub index: Option<u64>,
    /// Address; none for the rest.
    pub address: Option<Address>,
    /// Number of hosts: one, except for the rest, where the meter distinguishes them.
    pub hosts: u64,
    pub traffic: Box<[Traffic; 2]>,
    /// Response times of the host since measuring began.
    pub replied: Summary,
}

/// Activity of a connection in an interval.
#[derive(Clone, Debug)]
pub struct ConnectionInterval {
    pub index: Option<u64>,
    /// State of the connection, without its association; its directions are the counts of what each
    /// side sent in the interval.
    pub connection: Connection,
    /// Response times of each side in the interval; none if they are unknown or it had none.
    pub replied: [Summary; 2],
}

/// Association of a connection, as of a time.
#[derive(Clone, Debug)]
pub struct Associated {
    /// Number of the connection.
    pub serial: u32,
    /// Addresses and ports of its sides.
    pub ends: [(Address, u16); 2],
    /// Application.
    pub user: User,
    /// Association.
    pub association: Arc<AssociationReport>,
    /// True if names of variables and control blocks are reported.
    pub has_names: bool,
}

/// Services of a connection in an interval.
#[derive(Clone, Debug)]
pub struct ServicesInterval {
    pub index: Option<u64>,
    /// Start of the interval.
    pub start: Instant,
    /// Number of the connection.
    pub serial: u32,
    /// Addresses and ports of its sides.
    pub ends: [(Address, u16); 2],
    /// Requests outstanding at its end.
    pub outstanding: u64,
    /// The most that were outstanding at the same time in it, per side.
    pub most_outstanding: u64,
    /// Services with a request or an answer in it, or with an outstanding request.
    pub services: Vec<ServiceReport>,
}

/// Sum of the connections that are not reported individually.
#[derive(Clone, Debug)]
pub struct Rest {
    pub index: Option<u64>,
    pub connections: u64,
    pub directions: Box<[Direction; 2]>,
}

/// End of the measurement.
#[derive(Clone, Debug, Default)]
pub struct End {
    pub frames: u64,
    /// Time of the last frame; for a port, the end of listening.
    pub heard_until: Option<Instant>,
    /// Frames that a filter left out; none where there is no filter.
    pub left_out: Option<u64>,
    pub collected: Statistics,
    /// Time stamps of the frames; none if they are not known.
    pub stamps: Option<Stamps>,
    pub oddities: Oddities,
    pub error: Option<String>,
}

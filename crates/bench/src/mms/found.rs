//! Results of an inquiry.

use bytes::Bytes;
use core::time::Duration;
use stack::mms::Agreement;
use stack::mms::client::Call;
use stats::histogram::Histogram;

/// Step of an inquiry: how long it takes.
#[derive(Clone, Debug)]
pub struct Rung {
    /// Name.
    pub name: String,
    /// Times.
    pub times: Histogram,
    /// Requests without a response in time.
    pub unanswered: u64,
    /// Requests with an error, a reject, or a value that cannot be read.
    pub failed: u64,
    /// Last reason of a failure.
    pub reason: Option<String>,
}

impl Rung {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        let (times, reason) = (Histogram::new(), None);
        Self { name: name.into(), times, unanswered: 0, failed: 0, reason }
    }
}

/// Rate of reads with a number of requests outstanding.
#[derive(Clone, Debug)]
pub struct Pipelining {
    /// Requests outstanding at the same time.
    pub outstanding: u16,
    /// Requests that were answered.
    pub answered: u64,
    /// Time within bursts, from the first request to the last answer, in nanoseconds.
    pub busy_ns: u64,
    /// Requests left of the current burst.
    pub(crate) burst_left: u64,
    /// Response times.
    pub times: Histogram,
}

impl Pipelining {
    pub(crate) fn new(outstanding: u16) -> Self {
        Self { outstanding, answered: 0, busy_ns: 0, burst_left: 0, times: Histogram::new() }
    }

    /// Requests per second within bursts.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.busy_ns > 0).then(|| self.answered as f64 * 1e9 / self.busy_ns as f64)
    }
}

/// Reports of one control block.
#[derive(Clone, Debug)]
pub struct Reports {
    /// Control block.
    pub block: String,
    /// Reports received.
    pub received: u64,
    /// Reports whose sequence number does not follow that of the one before.
    pub gaps: u64,
    /// Time from enabling to the first report.
    pub first: Histogram,
    /// Times between reports.
    pub intervals: Histogram,
    /// Reason why the block could not be enabled.
    pub failure: Option<String>,
}

impl Reports {
    pub(crate) fn new(block: String) -> Self {
        Self {
            block,
            received: 0,
            gaps: 0,
            first: Histogram::new(),
            intervals: Histogram::new(),
            failure: None,
        }
    }
}

/// File that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRead {
    /// Name in the server.
    pub name: String,
    /// Size that the server stated.
    pub size_octets: Option<u64>,
    /// Contents, as far as they were read.
    pub octets: Vec<u8>,
    /// Parts: responses with octets.
    pub parts: u64,
    /// Time from the open request to the last part; none if it was not read to its end.
    pub taken: Option<Duration>,
    /// Reason why it was not read to its end.
    pub failure: Option<String>,
}

impl FileRead {
    pub(crate) fn new(name: &str) -> Self {
        let (size_octets, octets, parts) = (None, Vec::new(), 0);
        let (name, taken, failure) = (name.to_owned(), None, None);
        Self { name, size_octets, octets, parts, taken, failure }
    }
}

/// CPU time of a layer for one read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerCost {
    /// Layer.
    pub name: &'static str,
    /// Request and answer.
    pub time: Duration,
}

/// CPU time of all layers for one read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnCost {
    /// Octets of the MMS request.
    pub request_octets: usize,
    /// Octets of the MMS response.
    pub answer_octets: usize,
    /// Layers from the top.
    pub layers: Vec<LayerCost>,
}

impl OwnCost {
    /// Sum of the layers.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.layers.iter().map(|layer| layer.time).sum()
    }
}

/// Read of an inquiry with its response, as MMS PDUs.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) call: Call,
    pub(crate) answer: Bytes,
}

/// Results of an inquiry.
#[derive(Clone, Debug)]
pub struct Found {
    /// Steps in order.
    pub rungs: Vec<Rung>,
    /// Rates, in the order asked for.
    pub pipelining: Vec<Pipelining>,
    /// Reports, if a control block was named.
    pub reports: Option<Reports>,
    /// File, if one was named and an association opened.
    pub file: Option<FileRead>,
    /// Associations requested.
    pub asked: u64,
    /// Associations that opened.
    pub opened: u64,
    /// Associations that ended as requested, by conclude and release.
    pub released: u64,
    /// Associations that were aborted, because the server answered neither conclude nor release.
    pub aborted: u64,
    /// Agreement of the last association.
    pub agreement: Option<Agreement>,
    /// Vendor, model and revision, if the server identifies itself.
    pub identity: Option<String>,
    /// Variables read.
    pub items: Vec<String>,
    /// Reason why no variable was chosen from the names of the server; none if one was, or was named.
    pub unread: Option<String>,
    /// PDUs of the server that answered no request, were not decodable, or were of a kind that no
    /// server sends.
    pub odd: u64,
    /// First read that was answered.
    pub(crate) sample: Option<Sample>,
    /// CPU time of this program's layers for a read of one variable, if one was answered.
    pub own: Option<OwnCost>,
    /// Last failure of an association.
    pub failure: Option<String>,
}

//! Flow of a client that polls a server, as it was watched.
//!
//! ```text
//! transport connection: class 4, S7, MMS ── requests and replies of its life ──┐
//! function of a unit of a server: Modbus and so on ── each client that polls ──┴─ flow over class 4
//! ```
//!
//! Definitions. A poller has at least five requests, and about as many replies. The polls of a client at
//! a function must be periodic: at least half of the times between requests for the same data are
//! within a quarter of the one before, and it asks for them throughout, not in bursts. The period of the
//! flow is the mean time from one request to the next, for whatever data; it is the deadline, too. From
//! 65 requests on the deviations of these times are the jitter of the flow. Response times are in
//! comments: a server's time would be an input of the prediction that `compare` checks.

use super::{STAMP_OCTETS, of_nanos};
use crate::ends::end_name;
use crate::quantity::{counted, span};
use bench::scenario::{JitterQuantile, Span};
use meter::{
    Connection, Extremes, PollingClient, TransactionKey, TransactionProtocol, TransactionReport,
};
use wire::printable::Printable;

/// Requests from which a client polls.
const POLLS: u64 = 5;

/// A client whose requests are answered, one for one.
pub(super) struct Poller {
    /// Stations of the client and of the server.
    pub(super) ends: [String; 2],
    /// Name of the flow.
    pub(super) name: String,
    /// Comments, the lines behind the first with their `#`.
    pub(super) about: String,
    period_ns: u64,
    /// Deviations of the times between requests, if they were measured.
    jitter: Vec<JitterQuantile>,
    request_octets: u64,
    reply_octets: u64,
    /// Its requests, if the times of the first and of the last are known.
    pub(super) asked: Option<Asked>,
}

/// Requests of a poller.
pub(super) struct Asked {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) requests: u64,
}

impl Poller {
    /// A poller, if requests and replies of a connection are about as many.
    pub(super) fn of_connection(connection: &Connection) -> Option<Self> {
        let [requests, replies] = connection.directions.each_ref().map(|of| of.tsdus);
        let begun = connection.history.iter().flatten().min().copied();
        let life = connection.last.since(begun?);
        let period_ns = u64::try_from(life.as_nanos()).ok()? / requests.max(1);
        let octets = |side: usize| {
            let of = connection.directions.get(side)?;
            Some(of.tsdu_octets / of.tsdus.max(1))
        };
        let (request_octets, reply_octets) = (octets(0)?, octets(1)?);
        let [(calling, _), (called, _)] = connection.ends;
        // Programs of one host are stations that have the ports, too.
        let ends = connection.ends.map(|(address, port)| match calling == called {
            true => end_name(address, port).into(),
            false => address.to_string(),
        });
        let user = Printable(connection.user.name());
        let about = format!("{}: {user} over class 4 here", counted(requests, "request"));
        let name = format!("poll-{}", ends[1]);
        let poller = Self {
            ends,
            name,
            about,
            period_ns,
            jitter: Vec::new(),
            request_octets,
            reply_octets,
            asked: None,
        };
        (is_answered(requests, replies) && period_ns > 0).then_some(poller)
    }

    /// The clients that poll a function of a server, and how many clients with as many requests do
    /// not, or get no replies.
    pub(super) fn of_function(report: &TransactionReport) -> (Vec<Self>, u64) {
        let asking = report.clients.iter().filter(|of| of.requests >= POLLS);
        let all: Vec<_> = asking.map(|of| Self::of_client(&report.key, of)).collect();
        let others = all.iter().filter(|poller| poller.is_none()).count() as u64;
        (all.into_iter().flatten().collect(), others)
    }

    fn of_client(key: &TransactionKey, of: &PollingClient) -> Option<Self> {
        let (period_ns, jitter) = times(of);
        if !of.is_periodic() || !is_answered(of.requests, of.replies) || period_ns == 0 {
            return None;
        }
        let TransactionKey { protocol, server, unit, function } = *key;
        let client = match of.client == server {
            true => format!("{}-client", of.client),
            false => of.client.to_string(),
        };
        let mut about = format!("{} unit {unit}, function {function}", protocol.name());
        if let Some(name) = protocol.function_name(function) {
            about += &format!(" ({name})");
        }
        let lasted = span(of.last.nanos_since(of.first));
        about += &format!(": {} in {lasted}", counted(of.requests, "request"));
        about += &match of.polls {
            0 | 1 => format!(", period {}", extremes(&of.periods)),
            polls => format!(" for {polls} kinds of data, each every {}", extremes(&of.periods)),
        };
        about += "\n# Over class 4 here. ";
        about += &match of.responses.count {
            0 => "Without response times".to_owned(),
            _ => format!("Response times, not simulated: {}", extremes(&of.responses)),
        };
        Some(Self {
            ends: [client, server.to_string()],
            name: function_flow(protocol.name(), &server.to_string(), unit, function),
            about,
            period_ns,
            jitter,
            request_octets: of.request_octets / of.requests.max(1),
            reply_octets: of.reply_octets / of.replies.max(1),
            asked: Some(Asked {
                first_ns: of.first.as_nanos(),
                last_ns: of.last.as_nanos(),
                requests: of.requests,
            }),
        })
    }

    /// Time from one request to the next.
    pub(super) const fn period(&self) -> Span {
        of_nanos(self.period_ns)
    }

    /// Deviations of the times between requests from it; empty if they were not measured.
    pub(super) fn jitter(&self) -> &[JitterQuantile] {
        &self.jitter
    }

    /// Lengths of a request and of its reply in a scenario, whose messages have a stamp.
    pub(super) fn octets(&self) -> [u64; 2] {
        [self.request_octets, self.reply_octets].map(|it| it.max(STAMP_OCTETS))
    }
}

/// Mean time from one request to the next, and the deviations from it as far as they were measured.
fn times(of: &PollingClient) -> (u64, Vec<JitterQuantile>) {
    let mean_ns = of.last.nanos_since(of.first) / (of.requests - 1).max(1);
    let jitter = of.gaps.as_ref().map(|gaps| super::jitter(&gaps.quantiles)).unwrap_or_default();
    let earliest_ns = jitter.first().map_or(0, |first| first.deviation_ns);
    // The sender takes the mean out of its table; no request may be earlier than by its period.
    let Some(taken_ns) = JitterQuantile::mean_ns(&jitter) else { return (mean_ns, Vec::new()) };
    let least_ns = u64::try_from(taken_ns.saturating_sub(earliest_ns)).unwrap_or_default();
    (mean_ns.max(least_ns), jitter)
}

/// Name of the flow that polls a function.
pub(crate) fn function_flow(protocol: &str, server: &str, unit: u32, function: u16) -> String {
    let known = TransactionProtocol::ALL.into_iter().find(|it| it.name() == protocol);
    let word = known.map_or(protocol, |it| it.word());
    format!("{word}-{server}-unit-{unit}-function-{function}")
}

/// True for enough requests, and about as many replies.
const fn is_answered(requests: u64, replies: u64) -> bool {
    requests >= POLLS && replies <= 2 * requests && requests <= 2 * replies
}

/// Mean of times, and their range.
fn extremes(of: &Extremes) -> String {
    let mean = span(of.mean_ns().unwrap_or_default());
    format!("{mean} on average, {} to {}", span(of.min_ns), span(of.max_ns))
}

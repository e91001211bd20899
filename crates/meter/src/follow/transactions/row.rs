//! Counts and times of a function of a unit.

use super::report::{
    Extremes, PollingClient, RequestGaps, TransactionCounts, TransactionFigures, TransactionKey,
    TransactionReport,
};
use crate::follow::period::Period;
use crate::follow::quantiles;
use crate::host::Address;
use crate::measure::Distribution;
use core::cell::OnceCell;
use wire::time::Instant;

/// Polls kept of a function: each is of one client and of the same data.
const MOST_POLLS: usize = 32;
/// Clients kept of a function.
const MOST_CLIENTS: usize = 8;

/// Counts and times over some time.
#[derive(Clone, Debug, Default)]
struct Sums {
    counts: TransactionCounts,
    responses: Distribution,
    periods: Distribution,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.responses.add(&other.responses);
        self.periods.add(&other.periods);
    }

    fn figures(&self) -> TransactionFigures {
        let Self { counts, responses, periods } = self;
        let (responses, periods) = (responses.summary(), periods.summary());
        TransactionFigures { counts: *counts, responses, periods }
    }
}

/// Poll, by the hash of its client and its data.
#[derive(Clone, Copy, Debug)]
struct Poll {
    print: u64,
    last: Instant,
    /// Time from the request before the last to it; zero without one.
    period_ns: u64,
}

/// Request of a poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) at: Instant,
    /// Hash of its client and its data.
    pub(super) print: u64,
    pub(super) client: Address,
    pub(super) octets: u64,
}

/// Client, with the times between its requests.
#[derive(Clone, Debug)]
struct Client {
    polling: PollingClient,
    /// None without room for them.
    gaps: Option<Period>,
}

impl Client {
    const fn new(client: Address, at: Instant) -> Self {
        let none = Extremes { count: 0, total_ns: 0, min_ns: 0, max_ns: 0 };
        let polling = PollingClient {
            client,
            requests: 0,
            request_octets: 0,
            replies: 0,
            reply_octets: 0,
            first: at,
            last: at,
            polls: 0,
            periods: none,
            judged_periods: 0,
            regular_periods: 0,
            responses: none,
            gaps: None,
        };
        Self { polling, gaps: None }
    }

    /// Counts a request for some data; `room` is the number of further clients whose gaps may be kept.
    fn ask(&mut self, at: Instant, octets: u64, room: &mut usize) {
        let Self { polling: of, gaps } = self;
        if gaps.is_none() && *room > 0 {
            *room -= 1;
            *gaps = Some(Period::new());
        }
        if let Some(gaps) = gaps
            && of.requests > 0
        {
            gaps.add(at.nanos_since(of.last), true);
        }
        of.requests += 1;
        of.request_octets = of.request_octets.saturating_add(octets);
        of.last = of.last.max(at);
    }

    /// Quantiles of the gaps; none if they are not kept, or too few.
    fn request_gaps(&self) -> Option<RequestGaps> {
        let gaps = self.gaps.as_ref()?;
        let quantiles = quantiles::table(gaps.distributions()?);
        Some(RequestGaps { period_ns: gaps.nominal_ns()?, quantiles })
    }
}

/// Reply to a client that polls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Replied {
    /// With this response time, in nanoseconds.
    Within(u64),
    /// To one of several requests.
    Ambiguous,
    /// More octets of the one before.
    More,
}

/// Function of a unit of a server.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: TransactionKey,
    first: Instant,
    last: Instant,
    pub(super) outstanding: u64,
    /// Before the interval in which it counted last.
    before: Sums,
    /// Start of that interval.
    latest: Instant,
    in_latest: Sums,
    polls: Vec<Poll>,
    clients: Vec<Client>,
    /// Report, from when it is asked for until the function changes.
    reported: OnceCell<Box<TransactionReport>>,
}

impl Row {
    pub(super) fn new(key: TransactionKey, at: Instant) -> Self {
        let [before, in_latest] = [(); 2].map(|()| Sums::default());
        let (outstanding, polls, clients) = (0, Vec::new(), Vec::new());
        Self {
            key,
            first: at,
            last: at,
            outstanding,
            before,
            latest: at,
            in_latest,
            polls,
            clients,
            reported: OnceCell::new(),
        }
    }

    /// Forgets the report, because the function changes.
    pub(super) fn change(&mut self) {
        self.reported = OnceCell::new();
    }

    /// Notes the time of a PDU. What was held beyond gaps at the end comes stream by stream.
    pub(super) fn note(&mut self, at: Instant) {
        (self.first, self.last) = (self.first.min(at), self.last.max(at));
    }

    /// Sums of the interval that began at this time.
    fn sums(&mut self, interval: Instant) -> &mut Sums {
        if self.latest != interval {
            let over = core::mem::take(&mut self.in_latest);
            self.before.add(&over);
            self.latest = interval;
        }
        &mut self.in_latest
    }

    pub(super) fn counts(&mut self, interval: Instant) -> &mut TransactionCounts {
        &mut self.sums(interval).counts
    }

    pub(super) fn response(&mut self, interval: Instant, nanos: u64) {
        self.sums(interval).responses.record_nanos(nanos);
    }

    /// Client, which is added if there is room.
    fn client(&mut self, client: Address, at: Instant) -> Option<&mut Client> {
        let known = self.clients.iter().position(|it| it.polling.client == client);
        let place = known.or_else(|| {
            (self.clients.len() < MOST_CLIENTS).then(|| {
                self.clients.push(Client::new(client, at));
                self.clients.len() - 1
            })
        });
        self.clients.get_mut(place?)
    }

    /// Known client.
    fn known(&mut self, client: Address) -> Option<&mut PollingClient> {
        self.clients.iter_mut().map(|it| &mut it.polling).find(|it| it.client == client)
    }

    /// Number of clients whose gaps are kept.
    pub(super) fn gaps(&self) -> usize {
        self.clients.iter().filter(|it| it.gaps.is_some()).count()
    }

    /// Counts octets of a reply to a client that polls, and its response time if it has one; or more
    /// octets of the reply before.
    pub(super) fn replied(&mut self, client: Address, octets: u64, kind: Replied) {
        let Some(of) = self.known(client) else { return };
        of.reply_octets = of.reply_octets.saturating_add(octets);
        match kind {
            Replied::More => {}
            Replied::Within(nanos) => {
                of.replies += 1;
                of.responses.add(nanos);
            }
            Replied::Ambiguous => of.replies += 1,
        }
    }

    /// Counts more octets of the last request of a client that polls.
    pub(super) fn asked_more(&mut self, client: Address, octets: u64) {
        if let Some(of) = self.known(client) {
            of.request_octets = of.request_octets.saturating_add(octets);
        }
    }

    /// Counts a request of a client for some data; `room` is the number of further clients whose gaps
    /// may be kept.
    pub(super) fn poll(&mut self, interval: Instant, asking: Asking, room: &mut usize) {
        let Asking { at, print, client, octets } = asking;
        if let Some(of) = self.client(client, at) {
            of.ask(at, octets, room);
        }
        if let Some(known) = self.polls.iter_mut().find(|known| known.print == print) {
            let (period_ns, before_ns) = (at.nanos_since(known.last), known.period_ns);
            (known.last, known.period_ns) = (at, period_ns);
            if let Some(of) = self.known(client) {
                of.periods.add(period_ns);
                of.polls += u64::from(before_ns == 0);
                if before_ns > 0 {
                    of.judged_periods += 1;
                    let is_regular = period_ns.abs_diff(before_ns) <= before_ns / 4;
                    of.regular_periods += u64::from(is_regular);
                }
            }
            return self.sums(interval).periods.record_nanos(period_ns);
        }
        if self.polls.len() >= MOST_POLLS {
            let oldest = (0..MOST_POLLS).min_by_key(|place| self.polls[*place].last);
            oldest.map(|place| self.polls.swap_remove(place));
            self.counts(interval).polls_dropped += 1;
        }
        self.polls.push(Poll { print, last: at, period_ns: 0 });
    }

    /// Counts and times so far.
    pub(super) fn report(&self) -> &TransactionReport {
        self.reported.get_or_init(|| Box::new(self.make_report()))
    }

    /// Report of the whole, with the quantiles of the times between requests.
    pub(super) fn whole_report(&self) -> TransactionReport {
        let mut report = self.report().clone();
        for (polling, client) in report.clients.iter_mut().zip(&self.clients) {
            polling.gaps = client.request_gaps();
        }
        report
    }

    fn make_report(&self) -> TransactionReport {
        let mut all = self.before.clone();
        all.add(&self.in_latest);
        TransactionReport {
            key: self.key,
            first: self.first,
            last: self.last,
            outstanding: self.outstanding,
            all: all.figures(),
            latest: self.latest,
            in_latest: self.in_latest.figures(),
            clients: self.clients.iter().map(|it| it.polling.clone()).collect(),
        }
    }
}

//! Syntax of one requirement of `watch`.
//!
//! ```text
//! requirement = quantity [ "(" whom ")" ] relation limit
//! quantity    = count | time "." statistic | count "/" count | metric
//! whom        = "interval" | "host" | "connection" | "*" | the address of a host | "mms." service
//! relation    = "<" | "<=" | ">" | ">=" | "=="
//! ```
//!
//! Requirements on streams of cyclic data have quantities of their own (`streams`), and so have those
//! on requests and replies (`transactions`).
//!
//! It is the grammar of requirements on flows ([`bench::scenario::Parts`]). `*` is each connection.

use super::streams::{self, OfStreams, Quantity, Streams};
use super::transactions::{OfTransactions, Whom};
use super::wrong;
use bench::scenario::{NotARequirement, Parts, Rate, Relation, Share, Span, meant};
use core::str::FromStr;
use meter::measure::{Measures, ServiceCounts};
use meter::metric::{METRICS, RATIOS};
use meter::registry::{
    Aggregation, Measure, NANOSECONDS, Unit, Values, of_direction, of_host, of_network, of_service,
};
use meter::service::Service;
use meter::{Direction, Host};
use wire::time::nanos;

/// Example of a requirement, for error messages.
const EXAMPLE: &str = "write \"R_RD(host) < 1 %\" or \"connection_refusals == 0\"";
/// Beginning of the name of a service.
const SERVICE: &str = "mms.";
/// Metrics that are ratios of two counts.
const SHARES: [(&str, Measure, Measure); 2] = [
    ("R_RD", Measure::DtRetransmissions, Measure::DtTpdus),
    ("R_RA", Measure::AkRetransmissions, Measure::AkTpdus),
];

/// A requirement.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// Quantity that is limited.
    pub subject: Subject,
    /// Scope of the quantity.
    pub scope: Scope,
    /// Relation of the quantity to the limit.
    pub relation: Relation,
    /// Limit: a count, nanoseconds, a fraction of one, or the metric's own unit.
    pub limit: f64,
    /// Text of the requirement as written.
    pub text: String,
}

/// Quantity of a requirement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A measure.
    Count(Measure),
    /// A measure that is a time.
    Time(Measure),
    /// Ratio of the first measure to the second.
    Share(Measure, Measure),
    /// A metric, by its symbol.
    Metric(&'static str),
    /// A quantity of streams of cyclic data.
    OfStreams(OfStreams),
    /// A quantity of requests and replies.
    OfTransactions(OfTransactions),
}

/// Scope of a requirement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The whole of the traffic.
    Whole,
    /// Each interval.
    Interval,
    /// Traffic sent by each host.
    Host,
    /// Each connection, both sides together.
    Connection,
    /// Traffic sent by this host.
    Named(String),
    /// This service of MMS, on all associations.
    Service(Service),
    /// These streams of cyclic data, each.
    Streams(Streams),
    /// These functions of units, each.
    Transactions(Whom),
}

impl Wanted {
    /// Returns true if a value satisfies the limit.
    pub fn holds(&self, value: f64) -> bool {
        self.relation.holds(value, self.limit)
    }

    /// Returns true for a requirement on publishers, which a file declares.
    pub fn is_of_publishers(&self) -> bool {
        matches!(&self.subject, Subject::OfStreams(of) if of.quantity.is_of_publishers())
    }

    /// Returns true if a count that satisfies the limit still does so however much is added.
    pub const fn is_shown_by_more(&self) -> bool {
        matches!(self.relation, Relation::Above | Relation::AtLeast)
    }

    /// Returns true if a value violates the limit whatever else passes: counts, maxima and sums of
    /// times only grow.
    pub fn is_refuted_for_good(&self, value: f64) -> bool {
        let grows = match &self.subject {
            Subject::Count(_) => true,
            Subject::Time(of) => !self.is_class() && of.aggregation() != Aggregation::Minimum,
            Subject::OfStreams(of) => of.grows(),
            Subject::OfTransactions(of) => of.grows(),
            Subject::Share(..) | Subject::Metric(_) => false,
        };
        let is_beyond = match self.relation {
            Relation::Below | Relation::AtMost => !self.holds(value),
            Relation::Above | Relation::AtLeast => false,
            Relation::Equal => value > self.limit,
        };
        grows && is_beyond
    }

    /// Returns true if the value is the upper edge of a histogram class, at most 1/128 wide.
    pub fn is_class(&self) -> bool {
        match self.subject {
            Subject::Time(of) => of.aggregation() == Aggregation::Quantile,
            Subject::OfStreams(of) => of.is_class(),
            Subject::OfTransactions(of) => of.is_class(),
            Subject::Count(_) | Subject::Share(..) | Subject::Metric(_) => false,
        }
    }
}

impl Scope {
    fn read(text: &str) -> Result<Self, NotARequirement> {
        Ok(match text {
            "interval" => Self::Interval,
            "host" => Self::Host,
            "connection" | "*" => Self::Connection,
            name => match name.strip_prefix(SERVICE) {
                Some(service) => Self::Service(self::service(service)?),
                None => Self::Named(name.to_owned()),
            },
        })
    }

    /// Returns true for the whole traffic, or each interval of it.
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole | Self::Interval)
    }

    /// Returns true if a single subject is judged, so that its verdict is always shown.
    pub const fn is_one(&self) -> bool {
        matches!(self, Self::Whole | Self::Named(_) | Self::Service(_))
    }

    /// Returns the measures available in its scope.
    fn values(&self) -> Values {
        match self {
            Self::Whole | Self::Interval => of_network(&Measures::default()),
            Self::Host | Self::Named(_) => of_host(&Host::default()),
            Self::Connection => of_direction(&Direction::default()),
            Self::Service(_) => of_service(&ServiceCounts::default()),
            Self::Streams(_) | Self::Transactions(_) => Values::new(),
        }
    }
}

impl Subject {
    fn read(text: &str, scope: &Scope) -> Result<Self, NotARequirement> {
        let values = scope.values();
        if let Some((events, trials)) = text.split_once('/') {
            let count = |name: &str| match measure(name.trim(), &values)? {
                Self::Count(measure) => Ok(measure),
                Self::Time(_)
                | Self::Share(..)
                | Self::Metric(_)
                | Self::OfStreams(_)
                | Self::OfTransactions(_) => {
                    Err(wrong(format!("`{}` is no count", name.trim()), "a share is of two counts"))
                }
            };
            return Ok(Self::Share(count(events)?, count(trials)?));
        }
        if let Some((_, events, trials)) = SHARES.into_iter().find(|(name, ..)| *name == text) {
            return Ok(Self::Share(events, trials));
        }
        let Some(metric) = METRICS.iter().find(|metric| metric.symbol == text) else {
            return measure(text, &values);
        };
        if matches!(scope, Scope::Whole | Scope::Interval) || RATIOS.contains(&metric.symbol) {
            Ok(Self::Metric(metric.symbol))
        } else {
            let message = format!("`{text}` is a metric of the whole, or of an interval");
            let ratios = RATIOS.join(", ");
            Err(wrong(
                message,
                format!("of a host or a connection there are {ratios} and measures"),
            ))
        }
    }

    fn limit(&self, text: &str) -> Result<f64, NotARequirement> {
        let number = || text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        let share = || text.parse::<Share>().ok().map(Share::fraction).or_else(number);
        let (limit, example) = match self {
            Self::Count(_) if text.parse::<Span>().is_ok() => {
                (None, "a count is a number; times end in .max, .p50 or .p99, as in response.max")
            }
            Self::Count(_) => (text.parse::<u64>().ok().map(|it| it as f64), "a count is a number"),
            Self::Time(_) => (
                text.parse::<Span>().ok().map(|Span(span)| nanos(span) as f64),
                "a time is written \"25 ms\"",
            ),
            Self::Share(..) => (share(), "a share is written 1e-3 or \"0.1 %\""),
            Self::Metric("T_L" | "T_T") => (
                text.parse::<Rate>().ok().map(|Rate(rate)| rate.bits_per_second() as f64),
                "a rate is written \"80 kbit/s\"",
            ),
            Self::OfTransactions(of) => return of.limit(text),
            Self::Metric(_) | Self::OfStreams(_) => (share(), "a ratio is written 0.01 or \"1 %\""),
        };
        limit.ok_or_else(|| wrong(format!("`{text}` is no limit"), example))
    }
}

/// Finds a service by its name in the standard.
fn service(name: &str) -> Result<Service, NotARequirement> {
    let known = || Service::all().map(Service::name);
    Service::from_name(name).ok_or_else(|| {
        let help = match meant(name, known()) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "such as mms.read, mms.write or mms.getNameList".to_owned(),
        };
        wrong(format!("MMS has no service `{name}`"), help)
    })
}

/// Finds a measure by its name: that of its records, but of a time without the unit, and with a dot
/// before the statistic.
fn measure(name: &str, values: &Values) -> Result<Subject, NotARequirement> {
    let known = || values.iter().map(|(known, _)| *known);
    if let Some(measure) = known().find(|known| spelling(*known) == name) {
        return Ok(match measure.unit() {
            Unit::Nanoseconds => Subject::Time(measure),
            Unit::One | Unit::Octets | Unit::Number => Subject::Count(measure),
        });
    }
    let message = format!("unknown quantity `{name}`");
    let of_records = |known: Measure| {
        let record = known.to_string();
        record == name || record.strip_suffix(NANOSECONDS) == Some(name)
    };
    if let Some(known) = known().find(|known| of_records(*known)) {
        return Err(wrong(message, format!("did you mean `{}`?", spelling(known))));
    }
    let spelt: Vec<String> = known().map(spelling).collect();
    let begun = format!("{name}.");
    let times: Vec<&str> =
        spelt.iter().map(String::as_str).filter(|known| known.starts_with(&begun)).collect();
    if !times.is_empty() {
        return Err(wrong(message, format!("there are {}", times.join(", "))));
    }
    let metrics = METRICS.iter().map(|metric| metric.symbol);
    let help = match meant(name, spelt.iter().map(String::as_str).chain(metrics)) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "help requirements says what there is".to_owned(),
    };
    Err(wrong(message, help))
}

/// Name of a measure in requirements: `response.max` for `response_max_ns`.
fn spelling(measure: Measure) -> String {
    let name = measure.to_string();
    let time = name.strip_suffix(NANOSECONDS).and_then(|time| time.rsplit_once('_'));
    time.map_or_else(|| name.clone(), |(family, statistic)| format!("{family}.{statistic}"))
}

impl FromStr for Wanted {
    type Err = NotARequirement;

    fn from_str(text: &str) -> Result<Self, NotARequirement> {
        let shape = || wrong("expected a quantity, a relation and a limit", EXAMPLE);
        let Parts { quantity, whom, limit } = Parts::of(text).ok_or_else(shape)?;
        let (relation, limit) = limit.ok_or_else(shape)?;
        if let Some(quantity) = Quantity::read(quantity) {
            let (of, limit) = streams::limit(quantity, relation, limit)?;
            let subject = Subject::OfStreams(of);
            let scope = Scope::Streams(Streams::read(whom));
            return Ok(Self { subject, scope, relation, limit, text: text.trim().to_owned() });
        }
        let of_transactions = whom.and_then(Whom::read);
        let (scope, subject) = match of_transactions {
            Some(whom) => {
                let of = OfTransactions::read(quantity)?;
                (Scope::Transactions(whom), Subject::OfTransactions(of))
            }
            None => {
                let scope = whom.map_or(Ok(Scope::Whole), Scope::read)?;
                let subject = Subject::read(quantity, &scope)?;
                (scope, subject)
            }
        };
        let is_count = match subject {
            Subject::Count(_) => true,
            Subject::OfTransactions(of) => !of.is_time(),
            _ => false,
        };
        if relation == Relation::Equal && !is_count {
            return Err(wrong("only a count can be equal to a limit", "write < or >"));
        }
        let limit = subject.limit(limit)?;
        Ok(Self { subject, scope, relation, limit, text: text.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_read_with_whom_it_is_about() {
        let check = |text: &str, subject, scope, relation, limit| {
            let read: Wanted = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let text = text.trim().to_owned();
            assert_eq!(read, Wanted { subject, scope, relation, limit, text });
        };
        let of = |name: &str| Measure::from_name(name).unwrap();
        let count = |name: &str| Subject::Count(of(name));
        let share = |a: &str, b: &str| Subject::Share(of(a), of(b));
        let (below, above) = (Relation::Below, Relation::Above);
        let at_least = Relation::AtLeast;
        let refusals = count("connection_refusals");
        check("connection_refusals == 0", refusals, Scope::Whole, Relation::Equal, 0.0);
        let again = share("dt_retransmissions", "dt_tpdus");
        check(" R_RD(host) < 1 %", again.clone(), Scope::Host, below, 0.01);
        check("dt_retransmissions / dt_tpdus(host)<0.01", again, Scope::Host, below, 0.01);
        let delay = Subject::Time(of("ack_delay_p99_ns"));
        check("ack_delay.p99(interval) < 20 ms", delay, Scope::Interval, below, 20e6);
        let rate = Subject::Metric("T_L");
        check("T_L >= 80 kbit/s", rate, Scope::Whole, at_least, 80e3);
        check("R_OA(host) > 0.5", Subject::Metric("R_OA"), Scope::Host, above, 0.5);
        let waited = Subject::Time(of("response_max_ns"));
        check("response.max(connection) < 1 s", waited.clone(), Scope::Connection, below, 1e9);
        check("response.max(*) < 1 s", waited, Scope::Connection, below, 1e9);
        let named = Scope::Named("10.0.0.1".to_owned());
        check("dt_tpdus(10.0.0.1) >= 3", count("dt_tpdus"), named, at_least, 3.0);
        let closed = Subject::Time(of("closed_window_total_ns"));
        check("closed_window.total(connection) < 1 s", closed, Scope::Connection, below, 1e9);
        let of = |quantity, is_share| Subject::OfStreams(OfStreams { quantity, is_share });
        let late = Quantity::Late(streams::Statistic::Maximum);
        let all = Scope::Streams(Streams::All);
        check("missing(*) == 0", of(Quantity::Missing, false), all.clone(), Relation::Equal, 0.0);
        check("late.max < 50 %", of(late, true), all, below, 0.5);
        let goose = Scope::Streams(Streams::Of(meter::Protocol::Goose));
        check("silent(goose) == 0", of(Quantity::Silent, false), goose, Relation::Equal, 0.0);
        let mu = Scope::Streams(Streams::Named("MU01".to_owned()));
        check("late.max(MU01) < 50 us", of(late, false), mu, below, 50e3);
        let modbus = Whom::Protocol(meter::TransactionProtocol::Modbus);
        let of = Subject::OfTransactions;
        let p99 = of(OfTransactions::Response(super::super::transactions::Statistic::P99));
        check("response.p99(modbus) < 20 ms", p99, Scope::Transactions(modbus), below, 20e6);
        let unit = Scope::Transactions(Whom::read("10.0.0.1/7").unwrap());
        let none = of(OfTransactions::Unanswered);
        check("unanswered(10.0.0.1/7) == 0", none, unit, Relation::Equal, 0.0);
    }

    #[test]
    fn an_invalid_requirement_gives_an_error_with_an_example() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Wanted>().unwrap_err().to_string(), expected);
        };
        check("R_RD", &format!("expected a quantity, a relation and a limit; {EXAMPLE}"));
        check("R_RD = 1", &format!("expected a quantity, a relation and a limit; {EXAMPLE}"));
        let help = "did you mean `dt_retransmissions`?";
        check("dt_retransmision < 1", &format!("unknown quantity `dt_retransmision`; {help}"));
        check("R_RD < 5 ms", "`5 ms` is no limit; a share is written 1e-3 or \"0.1 %\"");
        check("dt_tpdus < 1 %", "`1 %` is no limit; a count is a number");
        let times = "a count is a number; times end in .max, .p50 or .p99, as in response.max";
        check("responses(host) < 20 ms", &format!("`20 ms` is no limit; {times}"));
        let times =
            "there are response.total, response.max, response.min, response.p50, response.p99";
        check("response(host) < 20 ms", &format!("unknown quantity `response`; {times}"));
        check(
            "late.max(sv) < 5",
            "`5` is no limit; a time or a share of the period: \"50 us\", \"50 %\"",
        );
        check("missing < 1 %", "`1 %` is no limit; a count is a number");
        check("retries(modbus) < 1 %", "`1 %` is no limit; a count is a number");
        check("response.p99(modbus) == 1 ms", "only a count can be equal to a limit; write < or >");
        let help = "there are response.p50, .p99, .max and .mean, period likewise, unanswered, \
                    exceptions, retries and ambiguous";
        check("dt_tpdus(modbus) < 1", &format!("requests and replies have no `dt_tpdus`; {help}"));
        check("R_RD == 0", "only a count can be equal to a limit; write < or >");
        let help =
            "of a host or a connection there are E_T, R_OM, R_OA, R_RD, R_RA, S_D and measures";
        let message = "`U_C` is a metric of the whole, or of an interval";
        check("U_C(host) < 1 %", &format!("{message}; {help}"));
        let message = "`response.total` is no count; a share is of two counts";
        check("response.total / tpdus < 1", message);
        let message = "unknown quantity `response_max`; did you mean `response.max`?";
        check("response_max(host) < 20 ms", message);
        check("response_max_ns < 20 ms", &message.replace("response_max`", "response_max_ns`"));
    }
}

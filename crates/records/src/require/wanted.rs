//! Syntax of one requirement of `watch`.
//!
//! ```text
//! requirement = quantity [ "(" whom ")" ] relation limit
//! quantity    = measure | measure "/" measure | metric
//! whom        = "interval" | "host" | "connection" | the address of a host
//! relation    = "<" | "<=" | ">" | ">=" | "=="
//! ```

use bench::scenario::{NotARequirement, Rate, Relation, Share, Span, meant};
use core::str::FromStr;
use meter::measure::Measures;
use meter::metric::{METRICS, RATIOS};
use meter::registry::{
    Aggregation, Measure, NANOSECONDS, Unit, Values, of_direction, of_host, of_network,
};
use meter::{Direction, Host};
use wire::time::nanos;

/// Example of a requirement, for error messages.
const EXAMPLE: &str = "write \"R_RD(host) < 1 %\" or \"connection_refusals == 0\"";
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
    pub side: Side,
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
}

/// Side of the limit on which a value must lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Below or above the limit.
    Of(Relation),
    /// The limit itself.
    Exactly,
}

impl Side {
    /// Returns true if only greater values violate the limit.
    pub const fn is_upper(self) -> bool {
        matches!(self, Self::Of(Relation::Below | Relation::AtMost))
    }

    /// Returns true if a count that satisfies the limit still does so however much is added.
    pub const fn is_shown_by_more(self) -> bool {
        matches!(self, Self::Of(Relation::Above | Relation::AtLeast))
    }
}

impl Wanted {
    /// Returns true if a value satisfies the limit.
    #[expect(clippy::float_cmp, reason = "counts and limits are whole numbers here")]
    pub fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::Of(relation) => relation.holds(value, self.limit),
            Side::Exactly => value == self.limit,
        }
    }

    /// Returns true if a value violates the limit whatever else passes: counts, maxima and sums of
    /// times only grow.
    pub fn is_refuted_for_good(&self, value: f64) -> bool {
        let grows = match &self.subject {
            Subject::Count(_) => true,
            Subject::Time(of) => !self.is_class() && of.aggregation() != Aggregation::Minimum,
            Subject::Share(..) | Subject::Metric(_) => false,
        };
        let is_beyond = match self.side {
            Side::Of(Relation::Below | Relation::AtMost) => !self.holds(value),
            Side::Of(Relation::Above | Relation::AtLeast) => false,
            Side::Exactly => value > self.limit,
        };
        grows && is_beyond
    }

    /// Returns true if the value is the upper edge of a histogram class, at most 1/128 wide.
    pub fn is_class(&self) -> bool {
        matches!(self.subject, Subject::Time(of) if of.aggregation() == Aggregation::Quantile)
    }
}

impl Scope {
    fn read(text: &str) -> Self {
        match text {
            "interval" => Self::Interval,
            "host" => Self::Host,
            "connection" => Self::Connection,
            address => Self::Named(address.to_owned()),
        }
    }

    /// Returns true for the whole traffic, or each interval of it.
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole | Self::Interval)
    }

    /// Returns true if a single subject is judged, so that its verdict is always shown.
    pub const fn is_one(&self) -> bool {
        matches!(self, Self::Whole | Self::Named(_))
    }

    /// Returns the measures available in its scope.
    fn values(&self) -> Values {
        match self {
            Self::Whole | Self::Interval => of_network(&Measures::default()),
            Self::Host | Self::Named(_) => of_host(&Host::default()),
            Self::Connection => of_direction(&Direction::default()),
        }
    }
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> NotARequirement {
    NotARequirement { message: message.into(), help: Some(help.into()) }
}

impl Subject {
    fn read(text: &str, scope: &Scope) -> Result<Self, NotARequirement> {
        let values = scope.values();
        if let Some((events, trials)) = text.split_once('/') {
            let count = |name: &str| match measure(name.trim(), &values)? {
                Self::Count(measure) => Ok(measure),
                Self::Time(_) | Self::Share(..) | Self::Metric(_) => {
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
                (None, "a count is a number; times end in _max, _p50 or _p99, as in response_max")
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
            Self::Metric(_) => (share(), "a ratio is written 0.01 or \"1 %\""),
        };
        limit.ok_or_else(|| wrong(format!("`{text}` is no limit"), example))
    }
}

/// Finds a measure by its name; a time may lack its unit.
fn measure(name: &str, values: &Values) -> Result<Subject, NotARequirement> {
    let bare = name.strip_suffix(NANOSECONDS).unwrap_or(name);
    let time = Measure::from_name(&format!("{bare}{NANOSECONDS}"));
    if let Some(measure) = time.or_else(|| Measure::from_name(name))
        && values.iter().any(|(known, _)| *known == measure)
    {
        return Ok(match measure.unit() {
            Unit::Nanoseconds => Subject::Time(measure),
            Unit::One | Unit::Octets | Unit::Number => Subject::Count(measure),
        });
    }
    let known: Vec<String> = values.iter().map(|(known, _)| known.to_string()).collect();
    let names = || known.iter().map(String::as_str);
    let spans = names().filter_map(|known| known.strip_suffix(NANOSECONDS));
    let metrics = METRICS.iter().map(|metric| metric.symbol);
    let begun = format!("{bare}_");
    let times: Vec<&str> = spans.clone().filter(|known| known.starts_with(&begun)).collect();
    if !times.is_empty() {
        let message = format!("nothing is called `{name}` there");
        return Err(wrong(message, format!("there are {}", times.join(", "))));
    }
    let help = match meant(name, names().chain(spans).chain(metrics)) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "help requirements says what there is".to_owned(),
    };
    Err(wrong(format!("nothing is called `{name}` there"), help))
}

impl FromStr for Wanted {
    type Err = NotARequirement;

    fn from_str(text: &str) -> Result<Self, NotARequirement> {
        let shape = || wrong("expected a quantity, a relation and a limit", EXAMPLE);
        let (left, right) = text.split_at(text.find(['<', '>', '=']).ok_or_else(shape)?);
        let (side, limit) = match right.strip_prefix("==") {
            Some(limit) => (Side::Exactly, limit.trim()),
            None => {
                let (relation, limit) = Relation::read(right).ok_or_else(shape)?;
                (Side::Of(relation), limit)
            }
        };
        let left = left.trim();
        let (quantity, scope) = match left.split_once('(') {
            None => (left, Scope::Whole),
            Some((quantity, rest)) => {
                let whom = rest.strip_suffix(')').ok_or_else(shape)?.trim();
                (quantity.trim(), Scope::read(whom))
            }
        };
        let subject = Subject::read(quantity, &scope)?;
        if side == Side::Exactly && !matches!(subject, Subject::Count(_)) {
            return Err(wrong("only a count can be exactly so much", "write < or >"));
        }
        let limit = subject.limit(limit)?;
        Ok(Self { subject, scope, side, limit, text: text.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_read_with_whom_it_is_about() {
        let check = |text: &str, subject, scope, side, limit| {
            let read: Wanted = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let text = text.trim().to_owned();
            assert_eq!(read, Wanted { subject, scope, side, limit, text });
        };
        let of = |name: &str| Measure::from_name(name).unwrap();
        let count = |name: &str| Subject::Count(of(name));
        let share = |a: &str, b: &str| Subject::Share(of(a), of(b));
        let (below, above) = (Side::Of(Relation::Below), Side::Of(Relation::Above));
        let at_least = Side::Of(Relation::AtLeast);
        let refusals = count("connection_refusals");
        check("connection_refusals == 0", refusals, Scope::Whole, Side::Exactly, 0.0);
        let again = share("dt_retransmissions", "dt_tpdus");
        check(" R_RD(host) < 1 %", again.clone(), Scope::Host, below, 0.01);
        check("dt_retransmissions / dt_tpdus(host)<0.01", again, Scope::Host, below, 0.01);
        let delay = Subject::Time(of("ack_delay_p99_ns"));
        check("ack_delay_p99(interval) < 20 ms", delay, Scope::Interval, below, 20e6);
        let rate = Subject::Metric("T_L");
        check("T_L >= 80 kbit/s", rate, Scope::Whole, at_least, 80e3);
        check("R_OA(host) > 0.5", Subject::Metric("R_OA"), Scope::Host, above, 0.5);
        let waited = Subject::Time(of("response_max_ns"));
        check("response_max(connection) < 1 s", waited, Scope::Connection, below, 1e9);
        let named = Scope::Named("10.0.0.1".to_owned());
        check("dt_tpdus(10.0.0.1) >= 3", count("dt_tpdus"), named, at_least, 3.0);
        let closed = Subject::Time(of("closed_window_total_ns"));
        check("closed_window_total(connection) < 1 s", closed, Scope::Connection, below, 1e9);
    }

    #[test]
    fn an_invalid_requirement_gives_an_error_with_an_example() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Wanted>().unwrap_err().to_string(), expected);
        };
        check("R_RD", &format!("expected a quantity, a relation and a limit; {EXAMPLE}"));
        check("R_RD = 1", &format!("expected a quantity, a relation and a limit; {EXAMPLE}"));
        let help = "did you mean `dt_retransmissions`?";
        check(
            "dt_retransmision < 1",
            &format!("nothing is called `dt_retransmision` there; {help}"),
        );
        check("R_RD < 5 ms", "`5 ms` is no limit; a share is written 1e-3 or \"0.1 %\"");
        check("dt_tpdus < 1 %", "`1 %` is no limit; a count is a number");
        let times = "a count is a number; times end in _max, _p50 or _p99, as in response_max";
        check("responses(host) < 20 ms", &format!("`20 ms` is no limit; {times}"));
        let times =
            "there are response_total, response_max, response_min, response_p50, response_p99";
        check("response(host) < 20 ms", &format!("nothing is called `response` there; {times}"));
        check("R_RD == 0", "only a count can be exactly so much; write < or >");
        let help =
            "of a host or a connection there are E_T, R_OM, R_OA, R_RD, R_RA, S_D and measures";
        let message = "`U_C` is a metric of the whole, or of an interval";
        check("U_C(host) < 1 %", &format!("{message}; {help}"));
        let message = "`response_total_ns` is no count; a share is of two counts";
        check("response_total_ns / tpdus < 1", message);
    }
}

//! One requirement of `watch`, as it is written.
//!
//! ```text
//! requirement = quantity [ "(" whom ")" ] relation limit
//! quantity    = measure | measure "/" measure | metric
//! whom        = "interval" | "host" | "connection" | the address of a host
//! relation    = "<" | "<=" | ">" | ">=" | "=="
//! ```

use crate::command::watch::export::rows;
use crate::stream::replied;
use bench::scenario::{NotARequirement, Rate, Relation, Share, Span, meant};
use core::str::FromStr;
use meter::Direction;
use meter::measure::{Measures, Summary, Traffic, Values};
use meter::metric::{METRICS, RATIOS};
use wire::time::nanos;

/// Behind the name of a value that is a span of time.
const NANOS: &str = "_ns";
/// What a requirement looks like.
const EXAMPLE: &str = "write \"R_RD(host) < 1 %\" or \"connection_refusals == 0\"";
/// Metrics that are shares of two counts.
const SHARES: [(&str, &str, &str); 2] =
    [("R_RD", "dt_retransmissions", "dt_tpdus"), ("R_RA", "ak_retransmissions", "ak_tpdus")];

/// Something that must hold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    /// Of what.
    pub(super) subject: Subject,
    /// Of whom.
    pub(super) scope: Scope,
    /// On which side of the limit it must be.
    pub(super) side: Side,
    /// The limit: a count, nanoseconds, a fraction of one, or what the metric is counted in.
    pub(super) limit: f64,
    /// As it was written.
    pub(super) text: String,
}

/// What a requirement is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// A measure.
    Count(String),
    /// A measure that is a time, by its whole name.
    Time(String),
    /// How many of the second the first is.
    Share(String, String),
    /// A metric, by its symbol.
    Metric(&'static str),
}

/// Whom it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// All that passed.
    Whole,
    /// Each interval.
    Interval,
    /// What each host sent.
    Host,
    /// Each connection, both sides together.
    Connection,
    /// What this host sent.
    Named(String),
}

/// Where the limit lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// On one side.
    Of(Relation),
    /// It is the value.
    Exactly,
}

impl Side {
    /// Whether a count that is beyond the limit stays so however much is added.
    pub(super) const fn is_refuted_by_more(self) -> bool {
        matches!(self, Self::Of(Relation::Below | Relation::AtMost))
    }

    /// Whether a count that is on the right side stays so however much is added.
    pub(super) const fn is_shown_by_more(self) -> bool {
        matches!(self, Self::Of(Relation::Above | Relation::AtLeast))
    }
}

impl Wanted {
    /// Whether a value is on the right side of the limit.
    #[expect(clippy::float_cmp, reason = "counts and limits are whole numbers here")]
    pub(super) fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::Of(relation) => relation.holds(value, self.limit),
            Side::Exactly => value == self.limit,
        }
    }

    /// Whether the value is the upper edge of a class, at most 1/128 wide.
    pub(super) fn is_class(&self) -> bool {
        let is_quantile = |name: &String| name.ends_with("_p50_ns") || name.ends_with("_p99_ns");
        matches!(&self.subject, Subject::Time(name) if is_quantile(name))
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

    /// Whether it is of all that passed, or of each interval of it.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole | Self::Interval)
    }

    /// Whether one thing is judged, so that its verdict is always shown.
    pub(super) const fn is_one(&self) -> bool {
        matches!(self, Self::Whole | Self::Named(_))
    }

    /// The measures that there are of it.
    fn values(&self) -> Values {
        match self {
            Self::Whole | Self::Interval => Measures::default().values(),
            Self::Host | Self::Named(_) => {
                let mut values = Traffic::default().values();
                values.extend(replied(&Summary::default()));
                values
            }
            Self::Connection => rows::direction(&Direction::default()),
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
                Self::Count(name) => Ok(name),
                Self::Time(_) | Self::Share(..) | Self::Metric(_) => {
                    Err(wrong(format!("`{}` is no count", name.trim()), "a share is of two counts"))
                }
            };
            return Ok(Self::Share(count(events)?, count(trials)?));
        }
        if let Some((_, events, trials)) = SHARES.into_iter().find(|(name, ..)| *name == text) {
            return Ok(Self::Share(events.to_owned(), trials.to_owned()));
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

/// A measure by its name, which a time may have without its unit.
fn measure(name: &str, values: &Values) -> Result<Subject, NotARequirement> {
    let names = || values.iter().map(|(known, _)| known.as_ref());
    let spans = names().filter_map(|known| known.strip_suffix(NANOS));
    let bare = name.strip_suffix(NANOS).unwrap_or(name);
    if spans.clone().any(|known| known == bare) {
        return Ok(Subject::Time(format!("{bare}{NANOS}")));
    }
    if names().any(|known| known == name) {
        return Ok(Subject::Count(name.to_owned()));
    }
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
        let count = |name: &str| Subject::Count(name.to_owned());
        let share = |a: &str, b: &str| Subject::Share(a.to_owned(), b.to_owned());
        let (below, above) = (Side::Of(Relation::Below), Side::Of(Relation::Above));
        let at_least = Side::Of(Relation::AtLeast);
        let refusals = count("connection_refusals");
        check("connection_refusals == 0", refusals, Scope::Whole, Side::Exactly, 0.0);
        let again = share("dt_retransmissions", "dt_tpdus");
        check(" R_RD(host) < 1 %", again.clone(), Scope::Host, below, 0.01);
        check("dt_retransmissions / dt_tpdus(host)<0.01", again, Scope::Host, below, 0.01);
        let delay = Subject::Time("ack_delay_p99_ns".to_owned());
        check("ack_delay_p99(interval) < 20 ms", delay, Scope::Interval, below, 20e6);
        let rate = Subject::Metric("T_L");
        check("T_L >= 80 kbit/s", rate, Scope::Whole, at_least, 80e3);
        check("R_OA(host) > 0.5", Subject::Metric("R_OA"), Scope::Host, above, 0.5);
        let waited = Subject::Time("response_max_ns".to_owned());
        check("response_max(connection) < 1 s", waited, Scope::Connection, below, 1e9);
        let named = Scope::Named("10.0.0.1".to_owned());
        check("dt_tpdus(10.0.0.1) >= 3", count("dt_tpdus"), named, at_least, 3.0);
        let closed = Subject::Time("closed_window_ns".to_owned());
        check("closed_window(connection) < 1 s", closed, Scope::Connection, below, 1e9);
    }

    #[test]
    fn what_is_no_requirement_says_what_would_be_one() {
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

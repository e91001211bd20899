//! Requirements on requests and replies: their quantities, the functions that they are about, and the
//! values found.
//!
//! ```text
//! quantity = "unanswered" | "exceptions" | "retries" | "ambiguous"
//!          | ("response" | "period") "." ("p50" | "p99" | "max" | "mean")
//! whom     = protocol | SERVER "/" UNIT [ "/" FUNCTION ]
//! ```
//!
//! Other brackets are those of the other requirements, which also know `response`.

use super::wrong;
use bench::scenario::{NotARequirement, Span};
use core::net::IpAddr;
use meter::measure::Summary;
use meter::{Address, TransactionProtocol, TransactionReport};
use wire::time::nanos;

/// Quantities, for error messages.
const QUANTITIES: &str = "there are response.p50, .p99, .max and .mean, period likewise, unanswered, \
                          exceptions, retries and ambiguous";

/// Statistic of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Median.
    P50,
    /// 99th percentile.
    P99,
    /// The most.
    Maximum,
    /// Mean.
    Mean,
}

/// Quantity of a function of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OfTransactions {
    /// Requests without a reply.
    Unanswered,
    /// Replies that report an error.
    Exceptions,
    /// Requests sent again before their reply.
    Retries,
    /// Replies that may belong to several requests.
    Ambiguous,
    /// Time from a request to its reply.
    Response(Statistic),
    /// Time from a request to the next of its client for the same data.
    Period(Statistic),
}

/// Functions that a requirement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// Each of a protocol.
    Protocol(TransactionProtocol),
    /// Each of a unit, or one of them.
    Unit {
        /// Address of the server.
        server: Address,
        /// Unit.
        unit: u32,
        /// Function code; each without one.
        function: Option<u16>,
    },
}

impl Whom {
    /// Reads what stands in brackets; none if it names no functions of units.
    pub(super) fn read(text: &str) -> Option<Self> {
        let of_word = TransactionProtocol::ALL.into_iter().find(|it| it.word() == text);
        if let Some(protocol) = of_word {
            return Some(Self::Protocol(protocol));
        }
        let mut parts = text.split('/');
        let server = match parts.next()?.parse().ok()? {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let unit = parts.next()?.parse().ok()?;
        let function = match parts.next() {
            Some(function) => Some(function.parse().ok()?),
            None => None,
        };
        let server = Address::Internet(server);
        parts.next().is_none().then_some(Self::Unit { server, unit, function })
    }

    /// True if the requirement is about this function.
    pub(super) fn has(&self, report: &TransactionReport) -> bool {
        let key = report.key;
        match *self {
            // Acknowledgements may be delayed; who limits them names the unit and the function.
            Self::Protocol(protocol) => key.protocol == protocol && !key.is_acknowledgement(),
            Self::Unit { server, unit, function } => {
                key.server == server
                    && key.unit == unit
                    && function.is_none_or(|function| key.function == function)
            }
        }
    }
}

impl OfTransactions {
    /// Reads a quantity.
    pub(super) fn read(text: &str) -> Result<Self, NotARequirement> {
        let (name, statistic) = text.split_once('.').unwrap_or((text, ""));
        let statistic = match statistic {
            "p50" => Some(Statistic::P50),
            "p99" => Some(Statistic::P99),
            "max" => Some(Statistic::Maximum),
            "mean" => Some(Statistic::Mean),
            _ => None,
        };
        Ok(match (name, statistic) {
            ("response", Some(statistic)) => Self::Response(statistic),
            ("period", Some(statistic)) => Self::Period(statistic),
            _ => match text {
                "unanswered" => Self::Unanswered,
                "exceptions" => Self::Exceptions,
                "retries" => Self::Retries,
                "ambiguous" => Self::Ambiguous,
                _ => {
                    let message = format!("requests and replies have no `{text}`");
                    return Err(wrong(message, QUANTITIES));
                }
            },
        })
    }

    /// True if it is a time, not a count.
    pub(super) const fn is_time(self) -> bool {
        matches!(self, Self::Response(_) | Self::Period(_))
    }

    /// True if its values are the upper edges of classes.
    pub(super) const fn is_class(self) -> bool {
        use Statistic::{P50, P99};
        matches!(self, Self::Response(P50 | P99) | Self::Period(P50 | P99))
    }

    /// True if its value only grows while more frames come.
    pub(super) const fn grows(self) -> bool {
        !self.is_time()
            || matches!(self, Self::Response(Statistic::Maximum) | Self::Period(Statistic::Maximum))
    }

    /// Reads the limit.
    pub(super) fn limit(self, text: &str) -> Result<f64, NotARequirement> {
        let (limit, example) = if self.is_time() {
            let span = text.parse::<Span>().ok();
            (span.map(|Span(span)| nanos(span) as f64), "a time is written \"25 ms\"")
        } else {
            (text.parse::<u64>().ok().map(|it| it as f64), "a count is a number")
        };
        limit.ok_or_else(|| wrong(format!("`{text}` is no limit"), example))
    }

    /// Value of a function; none if it has no such time.
    pub(super) fn value(self, report: &TransactionReport) -> Option<f64> {
        let time = |of: &Summary, statistic| {
            let nanos = match statistic {
                Statistic::P50 => of.p50_ns,
                Statistic::P99 => of.p99_ns,
                Statistic::Maximum => of.max_ns,
                Statistic::Mean => of.total_ns / of.count.max(1),
            };
            (of.count > 0).then_some(nanos)
        };
        let counts = report.all.counts;
        let value = match self {
            Self::Unanswered => counts.unanswered,
            Self::Exceptions => counts.exceptions,
            Self::Retries => counts.retries,
            Self::Ambiguous => counts.ambiguous,
            Self::Response(statistic) => time(&report.all.responses, statistic)?,
            Self::Period(statistic) => time(&report.all.periods, statistic)?,
        };
        Some(value as f64)
    }
}

/// Name of a function in verdicts.
pub(super) fn name(report: &TransactionReport) -> String {
    let key = report.key;
    format!("{}/{}/{}", key.server, key.unit, key.function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_named_by_its_server() {
        let server = Address::Internet("::ffff:10.0.0.3".parse().unwrap());
        let unit = |function| Some(Whom::Unit { server, unit: 7, function });
        assert_eq!(Whom::read("10.0.0.3/7"), unit(None));
        assert_eq!(Whom::read("10.0.0.3/7/16"), unit(Some(16)));
        let modbus = Whom::Protocol(TransactionProtocol::Modbus);
        assert_eq!(Whom::read("modbus"), Some(modbus));
        for other in ["10.0.0.3", "*", "host", "10.0.0.3/", "10.0.0.3/x", "10.0.0.3/1/2/3", "fe/1"]
        {
            assert_eq!(Whom::read(other), None, "{other}");
        }
        assert!(matches!(Whom::read("2001:db8::1/0"), Some(Whom::Unit { unit: 0, .. })));
    }
}

//! Requirements, such as `miss(status) < 1e-3`: their grammar, which flows and captures share, and
//! those on the flows of a scenario.
//!
//! ```text
//! requirement = quantity [ "(" whom ")" ] relation limit
//! quantity    = a measure, or "measure.statistic": "miss", "delay.max", "response.p99"
//! whom        = a flow's name, or "*" for each
//! relation    = "<" | "<=" | ">" | ">=" | "=="
//! limit       = a number, or one with its unit: "0.1 %", "25 ms", "80 kbit/s"
//! ```
//!
//! Quantities and what can stand in the brackets differ: a capture has hosts and connections, a
//! scenario flows, which must be named and have no quantity that can be equal to a limit.

use super::fields::{Placed, Read};
use super::problem::{Problem, meant};
use super::quantity::{Rate, Share, Span};
use crate::analysis::{QUANTITIES, Unit};
use core::fmt;
use core::str::FromStr;
use serde::{Serialize, Serializer};
use wire::time::nanos;

/// A requirement.
#[derive(Clone, PartialEq, Debug)]
pub struct Requirement {
    /// The quantity that is limited.
    pub subject: Subject,
    /// The flow; each flow if there is none.
    pub flow: Option<String>,
    /// The side of the limit on which the quantity must be.
    pub relation: Relation,
    /// The limit: nanoseconds, bits per second, or a fraction of one.
    pub limit: f64,
    /// Text of the requirement as written.
    pub text: String,
}

/// The quantity that a requirement limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The probability that a message, or its answer, misses its deadline.
    Miss,
    /// The probability that a message is lost.
    Lost,
    /// The longest delay of any message.
    LongestDelay,
    /// The longest time from any request to its answer.
    LongestResponse,
    /// A quantity of a run, by its name in [`QUANTITIES`]: its mean over runs.
    Mean(&'static str),
}

/// Relation of a quantity to its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Below it.
    Below,
    /// Below it or at it.
    AtMost,
    /// Above it.
    Above,
    /// Above it or at it.
    AtLeast,
    /// At it.
    Equal,
}

/// The parts of a requirement's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<'a> {
    /// The quantity.
    pub quantity: &'a str,
    /// The text in brackets, if there are brackets.
    pub whom: Option<&'a str>,
    /// The relation and the limit, if a relation follows.
    pub limit: Option<(Relation, &'a str)>,
}

impl<'a> Parts<'a> {
    /// Takes a text apart; `None` if it has no relation, or an open bracket.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        let (quantity, rest) = text.split_at(text.find(['(', '<', '>', '='])?);
        let (whom, rest) = match rest.strip_prefix('(') {
            None => (None, rest),
            Some(rest) => {
                let (whom, rest) = rest.split_once(')')?;
                (Some(whom.trim()), rest.trim_start())
            }
        };
        Some(Self { quantity: quantity.trim(), whom, limit: Relation::read(rest) })
    }
}

impl Relation {
    /// The relation at the start of a text, and the rest of the text.
    #[must_use]
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let relations = [
            ("<=", Self::AtMost),
            (">=", Self::AtLeast),
            ("==", Self::Equal),
            ("<", Self::Below),
            (">", Self::Above),
        ];
        relations.into_iter().find_map(|(sign, is)| Some((is, text.strip_prefix(sign)?.trim())))
    }

    /// True if `value` is on the right side of `limit`.
    #[must_use]
    #[expect(clippy::float_cmp, reason = "only whole numbers are compared for equality")]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
        }
    }

    /// True if smaller values are on the right side.
    #[must_use]
    pub const fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

impl Subject {
    /// The unit of its limit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Miss | Self::Lost => Unit::Fraction,
            Self::LongestDelay | Self::LongestResponse => Unit::Nanoseconds,
            Self::Mean(name) => QUANTITIES
                .iter()
                .find(|quantity| quantity.name == name)
                .map_or(Unit::Fraction, |quantity| quantity.unit),
        }
    }

    /// Every word with which a requirement may begin, and its meaning. A maximum is that of all runs,
    /// not the mean of their maxima. The shortest times are left out, and the shares that have a word
    /// of their own.
    fn words() -> impl Iterator<Item = (&'static str, Self)> {
        let own = [
            ("miss", Self::Miss),
            ("lost", Self::Lost),
            ("delay.max", Self::LongestDelay),
            ("response.max", Self::LongestResponse),
        ];
        let means = QUANTITIES.iter().map(|quantity| quantity.name);
        let means = means.filter(|name| !["lost", "missed"].contains(name));
        let means = means.filter(|name| !name.ends_with(".max") && !name.ends_with(".min"));
        own.into_iter().chain(means.map(|name| (name, Self::Mean(name))))
    }
}

/// Text that is no requirement: the mistake and its remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotARequirement {
    /// The mistake.
    pub message: String,
    /// The correct form.
    pub help: Option<String>,
}

impl fmt::Display for NotARequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.iter().try_for_each(|help| write!(f, "; {help}"))
    }
}

impl core::error::Error for NotARequirement {}

/// Help that shows the form of a requirement.
const EXAMPLE: &str = "write \"miss(status) < 1e-3\"";

impl FromStr for Requirement {
    type Err = NotARequirement;

    fn from_str(text: &str) -> Result<Self, NotARequirement> {
        let wrong =
            |message: String, help: &str| NotARequirement { message, help: Some(help.to_owned()) };
        let shape = || wrong("expected a quantity, a flow and a limit".to_owned(), EXAMPLE);
        let Parts { quantity: word, whom, limit } = Parts::of(text).ok_or_else(shape)?;
        let flow = whom.ok_or_else(shape)?;
        let found = Subject::words().find(|(name, _)| *name == word);
        let Some((_, subject)) = found else {
            let help = match meant(word, Subject::words().map(|(name, _)| name)) {
                _ if word == "max" => {
                    "did you mean `delay.max`, or `response.max` for requests?".to_owned()
                }
                Some(name) => format!("did you mean `{name}`?"),
                None => "it may begin with miss, lost, delay.max, delay.mean, response.p99, ..."
                    .to_owned(),
            };
            return Err(wrong(format!("nothing is called `{word}`"), &help));
        };
        let (relation, limit) = limit
            .filter(|(relation, _)| *relation != Relation::Equal)
            .ok_or_else(|| wrong("expected <, <=, > or >= behind the flow".to_owned(), EXAMPLE))?;
        let limit = limit_of(subject.unit(), limit)
            .ok_or_else(|| wrong(format!("`{limit}` is no limit"), example_of(subject.unit())))?;
        if flow.is_empty() {
            return Err(wrong("of which flow?".to_owned(), "`*` stands for each"));
        }
        if matches!(subject, Subject::LongestDelay | Subject::LongestResponse)
            && !relation.is_upper()
        {
            return Err(wrong(format!("`{word}` can only have an upper limit"), "write <"));
        }
        let flow = (flow != "*").then(|| flow.to_owned());
        Ok(Self { subject, flow, relation, limit, text: text.trim().to_owned() })
    }
}

fn limit_of(unit: Unit, text: &str) -> Option<f64> {
    match unit {
        Unit::Nanoseconds => text.parse::<Span>().ok().map(|span| nanos(span.0) as f64),
        Unit::BitsPerSecond => {
            text.parse::<Rate>().ok().map(|rate| rate.0.bits_per_second() as f64)
        }
        Unit::Fraction => {
            let share = text.parse::<Share>().ok().map(Share::fraction);
            share.or_else(|| text.parse().ok()).filter(|share| (0.0..=1.0).contains(share))
        }
    }
}

const fn example_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "a time is written \"25 ms\"",
        Unit::BitsPerSecond => "a rate is written \"80 kbit/s\"",
        Unit::Fraction => "a share is written 1e-3 or \"0.1 %\"",
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Reads the list under `require`.
pub(super) fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Vec<Requirement> {
    let toml::de::DeValue::Array(items) = value.get_ref() else {
        let problem = Problem::error(value.span(), "expected a list of requirements");
        problems.push(problem.help("write require = [\"miss(status) < 1e-3\"]"));
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| {
            let text = String::read(item, problems)?;
            match text.parse() {
                Ok(requirement) => Some(requirement),
                Err(NotARequirement { message, help }) => {
                    let problem = Problem::error(item.span(), message);
                    problems.push(match help {
                        Some(help) => problem.help(help),
                        None => problem,
                    });
                    None
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_read_with_its_units() {
        let check = |text: &str, subject, flow: Option<&str>, relation, limit| {
            let read: Requirement = text.parse().unwrap_or_else(|error| panic!("{error}"));
            let flow = flow.map(str::to_owned);
            let text = text.trim().to_owned();
            assert_eq!(read, Requirement { subject, flow, relation, limit, text });
        };
        check("miss(status) < 1e-3", Subject::Miss, Some("status"), Relation::Below, 1e-3);
        check("lost(*) <= 0.5 %", Subject::Lost, None, Relation::AtMost, 0.005);
        let longest = Subject::LongestDelay;
        check(" delay.max ( a b )< 25 ms ", longest, Some("a b"), Relation::Below, 25e6);
        let longest = Subject::LongestResponse;
        check("response.max(*) <= 25 ms", longest, None, Relation::AtMost, 25e6);
        let p99 = Subject::Mean("delay.p99");
        check("delay.p99(x)<=2.5ms", p99, Some("x"), Relation::AtMost, 2.5e6);
        let rate = Subject::Mean("throughput");
        check("throughput(x) >= 80 kbit/s", rate, Some("x"), Relation::AtLeast, 80e3);
    }

    #[test]
    fn a_wrong_requirement_is_reported_with_the_correct_form() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Requirement>().unwrap_err().to_string(), expected);
        };
        check("miss < 1", "expected a quantity, a flow and a limit; write \"miss(status) < 1e-3\"");
        check("mist(x) < 1", "nothing is called `mist`; did you mean `miss`?");
        check(
            "miss(x) = 1",
            "expected <, <=, > or >= behind the flow; write \"miss(status) < 1e-3\"",
        );
        check("miss(x) < 25 ms", "`25 ms` is no limit; a share is written 1e-3 or \"0.1 %\"");
        check("miss(x) < 2", "`2` is no limit; a share is written 1e-3 or \"0.1 %\"");
        check("delay.mean(x) < 3", "`3` is no limit; a time is written \"25 ms\"");
        let help = "did you mean `delay.max`, or `response.max` for requests?";
        check("max(x) < 3 ms", &format!("nothing is called `max`; {help}"));
        check(
            "miss(x) == 0",
            "expected <, <=, > or >= behind the flow; write \"miss(status) < 1e-3\"",
        );
        check("miss() < 0.1", "of which flow?; `*` stands for each");
        check("delay.max(x) > 3 ms", "`delay.max` can only have an upper limit; write <");
    }
}

//! Patterns of flows: their keys, their properties, and the load that a station makes of them.

use super::Start;
use super::fields::{Fields, Placed, Read};
use super::problem::Problem;
use super::quantity::{Size, Span};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::load;
use wire::time::nanos;

/// The times at which messages are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub enum Pattern {
    /// One every period.
    Cyclic {
        /// From one message to the next.
        period: Span,
    },
    /// At random: exponential intervals.
    Poisson {
        /// Their mean.
        mean_interval: Span,
    },
    /// A request every period, each answered.
    ConstantRateRequest {
        /// From one request to the next.
        period: Span,
        /// Octets of each answer. Flows of MMS have no such key: their server makes the answers.
        #[serde(skip_serializing_if = "is_unknown")]
        #[schemars(with = "Option<Size>")]
        reply: Size,
    },
    /// A request as soon as the answer to the one before is in.
    MaximumRateRequest {
        /// Octets of each answer. Flows of MMS have no such key: their server makes the answers.
        #[serde(skip_serializing_if = "is_unknown")]
        #[schemars(with = "Option<Size>")]
        reply: Size,
    },
    /// States of GOOSE: each is retransmitted after `min-time`, then after intervals that double up to
    /// `max-time`, which repeats until the next change.
    Retransmission {
        /// From a change of state to its first retransmission.
        min_time: Span,
        /// Longest interval.
        max_time: Span,
        /// Mean interval between changes at random; none if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        mean_interval: Option<Span>,
    },
    /// As fast as the service accepts them.
    Bulk {
        /// Octets in all, rounded up to whole messages; without it, `messages` counts them.
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<Size>,
    },
}

impl Pattern {
    /// The time from one message to the next, if it is fixed.
    #[must_use]
    pub const fn period(&self) -> Option<Duration> {
        match self {
            Self::Cyclic { period } | Self::ConstantRateRequest { period, .. } => Some(period.0),
            Self::Poisson { .. }
            | Self::MaximumRateRequest { .. }
            | Self::Retransmission { .. }
            | Self::Bulk { .. } => None,
        }
    }

    /// The mean time from one message to the next; `None` if a message waits for the service or for
    /// an answer only.
    #[must_use]
    pub const fn mean_interval(&self) -> Option<Duration> {
        match self {
            Self::Poisson { mean_interval } => Some(mean_interval.0),
            // In the steady state.
            Self::Retransmission { max_time, .. } => Some(max_time.0),
            _ => self.period(),
        }
    }

    /// The size of each answer, if messages are answered.
    #[must_use]
    pub const fn reply(&self) -> Option<Size> {
        match self {
            Self::ConstantRateRequest { reply, .. } | Self::MaximumRateRequest { reply } => {
                Some(*reply)
            }
            Self::Cyclic { .. }
            | Self::Poisson { .. }
            | Self::Retransmission { .. }
            | Self::Bulk { .. } => None,
        }
    }

    /// The same pattern with answers of this size, if its messages are answered.
    pub(super) const fn with_reply(self, reply: Size) -> Self {
        match self {
            Self::ConstantRateRequest { period, .. } => Self::ConstantRateRequest { period, reply },
            Self::MaximumRateRequest { .. } => Self::MaximumRateRequest { reply },
            other => other,
        }
    }

    /// True if each message is answered.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.reply().is_some()
    }

    /// True if messages are due at random times.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        matches!(self, Self::Poisson { .. } | Self::Retransmission { mean_interval: Some(_), .. })
    }

    /// True if the user submits messages as fast as the service accepts them.
    #[must_use]
    pub const fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk { .. })
    }

    /// The octets in all, if the pattern limits them.
    #[must_use]
    pub const fn total(&self) -> Option<Size> {
        match self {
            Self::Bulk { total } => *total,
            _ => None,
        }
    }

    /// The start of a flow that gives none.
    #[must_use]
    pub const fn default_start(&self) -> Start {
        match self {
            Self::Cyclic { .. } => Start::Random,
            _ => Start::At(Span(Duration::ZERO)),
        }
    }

    /// The keys whose values must be above zero, with these values.
    pub(super) fn amounts(&self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Cyclic { period } | Self::ConstantRateRequest { period, .. } => {
                vec![("period", nanos(period.0))]
            }
            Self::Poisson { mean_interval } => vec![("mean-interval", nanos(mean_interval.0))],
            Self::MaximumRateRequest { .. } => Vec::new(),
            Self::Retransmission { min_time, max_time, mean_interval } => {
                let mean = mean_interval.iter().map(|mean| ("mean-interval", nanos(mean.0)));
                let times = [("min-time", min_time), ("max-time", max_time)];
                times.map(|(key, time)| (key, nanos(time.0))).into_iter().chain(mean).collect()
            }
            Self::Bulk { total } => total.iter().map(|total| ("total", total.0)).collect(),
        }
    }

    /// The same pattern in the form that stations use.
    #[must_use]
    pub fn load(&self) -> load::Pattern {
        match *self {
            Self::Cyclic { period } => load::Pattern::Cyclic { period: period.0 },
            Self::Poisson { mean_interval } => {
                load::Pattern::Poisson { mean_interval: mean_interval.0 }
            }
            Self::ConstantRateRequest { period, reply } => load::Pattern::ConstantRateRequest {
                period: period.0,
                reply_octets: reply.octets(),
            },
            Self::MaximumRateRequest { reply } => {
                load::Pattern::MaximumRateRequest { reply_octets: reply.octets() }
            }
            Self::Bulk { .. } => load::Pattern::Bulk,
            Self::Retransmission { .. } => load::Pattern::Retransmitted,
        }
    }
}

/// True for the size of an answer that the server of a flow makes.
pub(super) const fn is_unknown(size: &Size) -> bool {
    size.0 == 0
}

/// Size of an answer that the server of a flow makes.
pub(super) const fn unknown() -> Size {
    Size(0)
}

/// Kind of a pattern.
#[derive(Clone, Copy)]
enum PatternKind {
    Cyclic,
    Poisson,
    ConstantRateRequest,
    MaximumRateRequest,
    Retransmission,
    Bulk,
}

impl Read for Pattern {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let kinds = [
            ("cyclic", PatternKind::Cyclic),
            ("poisson", PatternKind::Poisson),
            ("constant-rate-request", PatternKind::ConstantRateRequest),
            ("maximum-rate-request", PatternKind::MaximumRateRequest),
            ("retransmission", PatternKind::Retransmission),
            ("bulk", PatternKind::Bulk),
        ];
        let pattern = match fields.word("kind", &kinds, problems)? {
            PatternKind::Cyclic => {
                fields.required("period", problems).map(|period| Self::Cyclic { period })
            }
            PatternKind::Poisson => fields
                .required("mean-interval", problems)
                .map(|mean_interval| Self::Poisson { mean_interval }),
            PatternKind::ConstantRateRequest => {
                let period = fields.required("period", problems);
                let reply = fields.optional("reply", problems).unwrap_or(Size(0));
                period.map(|period| Self::ConstantRateRequest { period, reply })
            }
            PatternKind::MaximumRateRequest => {
                let reply = fields.optional("reply", problems).unwrap_or(Size(0));
                Some(Self::MaximumRateRequest { reply })
            }
            PatternKind::Retransmission => {
                let min_time = fields.required("min-time", problems);
                let max_time = fields.required("max-time", problems);
                let mean_interval = fields.optional("mean-interval", problems);
                min_time.zip(max_time).map(|(min_time, max_time)| Self::Retransmission {
                    min_time,
                    max_time,
                    mean_interval,
                })
            }
            PatternKind::Bulk => Some(Self::Bulk { total: fields.optional("total", problems) }),
        };
        fields.finish(problems);
        pattern
    }
}

//! The `[transport]` table of a scenario: the class 4 parameters and policies of every station.

use super::fields::{Fields, Placed, Read, pick};
use super::parse::set;
use super::problem::Problem;
use super::quantity::{Size, Span};
use schemars::JsonSchema;
use serde::Serialize;
use stack::tp4;

/// The parameters of the class 4 transport at every station, timers under the standard's symbols.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Transport {
    /// The largest TPDU to propose: a power of two from 128 to 8192 octets.
    #[schemars(with = "Option<Size>")]
    pub tpdu: Size,
    /// The largest NSDU to make of TPDUs, headers included, if it is to be shorter than a frame of
    /// the medium allows; that limit if not given (1,496 octets on 802.3, 8,170 on a token bus).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nsdu: Option<Size>,
    /// DTs the peer may have outstanding: at most 15 in the normal format.
    #[schemars(with = "Option<u64>")]
    pub window: u64,
    /// True to propose the extended format: 31-bit numbers and 16-bit credit.
    #[schemars(with = "Option<bool>")]
    pub extended: bool,
    /// True to propose the checksum.
    #[schemars(with = "Option<bool>")]
    pub checksum: bool,
    /// The rule by which the window opens again.
    #[schemars(with = "Option<Credit>")]
    pub credit: Credit,
    /// The rule by which DTs in sequence are acknowledged.
    #[schemars(with = "Option<Acknowledge>")]
    pub acknowledge: Acknowledge,
    /// With `withhold`, the number of DTs in sequence after which an AK is sent.
    #[schemars(with = "Option<u64>")]
    pub acknowledge_every: u64,
    /// A_L: the longest an acknowledgement is held back.
    #[schemars(with = "Option<Span>")]
    pub acknowledgement_delay: Span,
    /// The DTs that are retransmitted when T1 expires.
    #[schemars(with = "Option<Retransmit>")]
    pub retransmit: Retransmit,
    /// The source of T1: fixed, or adapted to the round trips.
    #[schemars(with = "Option<Timer>")]
    pub timer: Timer,
    /// T1: the wait for an acknowledgement before a TPDU is retransmitted; its initial value if it
    /// adapts.
    #[schemars(with = "Option<Span>")]
    pub t1: Span,
    /// N: the maximum number of transmissions of a TPDU.
    #[schemars(with = "Option<u64>")]
    pub n: u64,
    /// W: the maximum time between two AKs of a side.
    #[schemars(with = "Option<Span>")]
    pub w: Span,
    /// I: the maximum silence of a peer before the connection is given up.
    #[schemars(with = "Option<Span>")]
    pub i: Span,
    /// M: the maximum lifetime of an NSDU in the network.
    #[schemars(with = "Option<Span>")]
    pub m: Span,
    /// L: the time for which a reference stays frozen; also the time that a run waits for its last
    /// messages.
    #[schemars(with = "Option<Span>")]
    pub l: Span,
    /// True if TPDUs for one peer that are due together share a frame.
    #[schemars(with = "Option<bool>")]
    pub concatenate: bool,
}

/// The rule by which a receiver's window opens again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Credit {
    /// As soon as a DT in sequence has been handed to the user.
    Automatic,
    /// As soon as the user gives the buffer back.
    ByUser,
    /// One DT at a time: its AK closes the window, and another opens it when the user gives the
    /// buffer back.
    Taut,
}

/// The rule by which a receiver acknowledges DTs in sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// At once for each DT.
    Each,
    /// After `acknowledge-every` DTs, or A_L.
    Withhold,
    /// After A_L.
    Delay,
    /// At the request of the sender, or after A_L.
    OnRequest,
}

/// The source of T1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// T1 is `t1`.
    Fixed,
    /// T1 follows the round trips, up to W.
    Adaptive,
}

/// The DTs that are retransmitted when T1 expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmit {
    /// The first DT that is not acknowledged.
    First,
    /// All DTs that are not acknowledged.
    All,
    /// The first, and at once each further one at which the AK stops.
    Selective,
    /// Like `Selective`, and also before T1 if repeated AKs indicate a loss.
    Early,
    /// Those that selective acknowledgement shows to be missing, before T1.
    Missing,
}

impl Transport {
    /// The values of [`tp4::Params::lan`].
    #[must_use]
    pub fn lan() -> Self {
        let lan = tp4::Params::lan();
        Self {
            tpdu: Size(lan.tpdu_octets as u64),
            window: u64::from(lan.window),
            nsdu: None,
            extended: lan.extended,
            checksum: lan.checksum,
            credit: match lan.credit {
                tp4::Credit::Automatic => Credit::Automatic,
                tp4::Credit::ByUser => Credit::ByUser,
                tp4::Credit::Taut => Credit::Taut,
            },
            acknowledge: match lan.acknowledgement {
                tp4::Acknowledgement::Each => Acknowledge::Each,
                tp4::Acknowledgement::Withhold => Acknowledge::Withhold,
                tp4::Acknowledgement::Delay => Acknowledge::Delay,
                tp4::Acknowledgement::OnRequest => Acknowledge::OnRequest,
            },
            acknowledge_every: u64::from(lan.acknowledge_every),
            acknowledgement_delay: Span(lan.acknowledgement_delay),
            retransmit: match lan.retransmission {
                tp4::Retransmission::First => Retransmit::First,
                tp4::Retransmission::All => Retransmit::All,
                tp4::Retransmission::Selective => Retransmit::Selective,
                tp4::Retransmission::Early => Retransmit::Early,
                tp4::Retransmission::Missing => Retransmit::Missing,
            },
            timer: match lan.retransmission_timer {
                tp4::RetransmissionTimer::Fixed => Timer::Fixed,
                tp4::RetransmissionTimer::Adaptive => Timer::Adaptive,
            },
            t1: Span(lan.retransmission_time),
            n: u64::from(lan.transmissions),
            w: Span(lan.window_time),
            i: Span(lan.inactivity_time),
            m: Span(lan.nsdu_lifetime),
            l: Span(lan.reference_time),
            concatenate: lan.concatenate,
        }
    }

    /// The parameters of the protocol machine. Numbers out of range saturate; a checked scenario
    /// has none.
    #[must_use]
    pub fn params(&self) -> tp4::Params {
        let short = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
        tp4::Params {
            extended: self.extended,
            checksum: self.checksum,
            tpdu_octets: self.tpdu.octets(),
            nsdu_octets: self.nsdu.map_or(tp4::Params::lan().nsdu_octets, |nsdu| nsdu.octets()),
            window: short(self.window),
            credit: match self.credit {
                Credit::Automatic => tp4::Credit::Automatic,
                Credit::ByUser => tp4::Credit::ByUser,
                Credit::Taut => tp4::Credit::Taut,
            },
            acknowledgement: match self.acknowledge {
                Acknowledge::Each => tp4::Acknowledgement::Each,
                Acknowledge::Withhold => tp4::Acknowledgement::Withhold,
                Acknowledge::Delay => tp4::Acknowledgement::Delay,
                Acknowledge::OnRequest => tp4::Acknowledgement::OnRequest,
            },
            acknowledge_every: short(self.acknowledge_every),
            acknowledgement_delay: self.acknowledgement_delay.0,
            retransmission_time: self.t1.0,
            retransmission: match self.retransmit {
                Retransmit::First => tp4::Retransmission::First,
                Retransmit::All => tp4::Retransmission::All,
                Retransmit::Selective => tp4::Retransmission::Selective,
                Retransmit::Early => tp4::Retransmission::Early,
                Retransmit::Missing => tp4::Retransmission::Missing,
            },
            retransmission_timer: match self.timer {
                Timer::Fixed => tp4::RetransmissionTimer::Fixed,
                Timer::Adaptive => tp4::RetransmissionTimer::Adaptive,
            },
            transmissions: u32::try_from(self.n).unwrap_or(u32::MAX),
            window_time: self.w.0,
            inactivity_time: self.i.0,
            nsdu_lifetime: self.m.0,
            reference_time: self.l.0,
            concatenate: self.concatenate,
            ..tp4::Params::lan()
        }
    }
}

impl Read for Transport {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let mut transport = Self::lan();
        set(&mut transport.tpdu, "tpdu", &mut fields, problems);
        transport.nsdu = fields.optional("nsdu", problems);
        set(&mut transport.window, "window", &mut fields, problems);
        set(&mut transport.extended, "extended", &mut fields, problems);
        set(&mut transport.checksum, "checksum", &mut fields, problems);
        set(&mut transport.credit, "credit", &mut fields, problems);
        set(&mut transport.acknowledge, "acknowledge", &mut fields, problems);
        set(&mut transport.acknowledge_every, "acknowledge-every", &mut fields, problems);
        set(&mut transport.acknowledgement_delay, "acknowledgement-delay", &mut fields, problems);
        set(&mut transport.retransmit, "retransmit", &mut fields, problems);
        set(&mut transport.timer, "timer", &mut fields, problems);
        set(&mut transport.t1, "t1", &mut fields, problems);
        set(&mut transport.n, "n", &mut fields, problems);
        set(&mut transport.w, "w", &mut fields, problems);
        set(&mut transport.i, "i", &mut fields, problems);
        set(&mut transport.m, "m", &mut fields, problems);
        set(&mut transport.l, "l", &mut fields, problems);
        set(&mut transport.concatenate, "concatenate", &mut fields, problems);
        fields.finish(problems);
        Some(transport)
    }
}

impl Read for Credit {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words =
            [("automatic", Self::Automatic), ("by-user", Self::ByUser), ("taut", Self::Taut)];
        pick(&String::read(value, problems)?, value.span(), "credit", &words, problems)
    }
}

impl Read for Acknowledge {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [
            ("each", Self::Each),
            ("withhold", Self::Withhold),
            ("delay", Self::Delay),
            ("on-request", Self::OnRequest),
        ];
        pick(&String::read(value, problems)?, value.span(), "acknowledgement", &words, problems)
    }
}

impl Read for Timer {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("fixed", Self::Fixed), ("adaptive", Self::Adaptive)];
        pick(&String::read(value, problems)?, value.span(), "timer", &words, problems)
    }
}

impl Read for Retransmit {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [
            ("first", Self::First),
            ("all", Self::All),
            ("selective", Self::Selective),
            ("early", Self::Early),
            ("missing", Self::Missing),
        ];
        pick(&String::read(value, problems)?, value.span(), "retransmission", &words, problems)
    }
}

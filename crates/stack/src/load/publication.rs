//! Streams of cyclic data: real frames of GOOSE, Sampled Values, or a bare EtherType, whose values are a
//! message with its stamp.
//!
//! ```text
//!   GOOSE   APPID ... IECGoosePdu, allData { OCTET STRING = message }   padding
//!   SV      APPID ... savPdu, first ASDU's sample = message             padding
//!   8892    FrameID, message, CycleCounter, DataStatus, TransferStatus
//!   88b5    mark, message
//!   other   message
//! ```
//!
//! Every frame of a stream has the same length: the message takes the room that names and numbers leave.
//! GOOSE and Sampled Values are marked as simulated, so that devices in operation do not use the values
//! (IEC 61850-7-1, LPHD.Sim), and as not synchronised: their time counts from the clock of the run.

use super::retransmission::{Retransmissions, Turn, Turns};
use super::sender::tsdu;
use super::{LEAST_OCTETS, Stamp};
use core::time::Duration;
use wire::addr::Mac;
use wire::ber::{self, Writer};
use wire::mac;
use wire::time::{Instant, nanos};
use wire::{goose, load, profinet, sampled_values};

/// EtherType of GOOSE.
pub const GOOSE: u16 = 0x88B8;
/// EtherType of Sampled Values.
pub const SAMPLED_VALUES: u16 = 0x88BA;
/// EtherType of PROFINET.
pub const PROFINET: u16 = 0x8892;
/// Octets of the sample of IEC 61850-9-2LE: four currents and four voltages, each with its quality.
pub const SAMPLE_OCTETS: usize = 64;
/// Fewest octets behind an EtherType: shorter data are padded on the wire.
pub const LEAST_DATA_OCTETS: usize = mac::MIN_OCTETS - mac::HEADER_OCTETS;
/// Most octets behind an EtherType.
pub const MOST_DATA_OCTETS: usize = mac::MOST_DATA_OCTETS;
/// Octets of FrameID and status in a frame of PROFINET.
const AROUND_DATA: usize = 6;
/// Reserved field of GOOSE and SV whose bit 15 marks a simulated frame.
const SIMULATED: [u16; 2] = [0x8000, 0];
/// Quality of a time stamp: the clock is not synchronised.
const NOT_SYNCHRONISED: u8 = 0x20;
/// Unit of CycleCounter.
const CYCLE_NS: u64 = 31_250;
/// DataStatus: primary, valid, the provider runs, and no problem.
const DATA_STATUS: u8 = 0x35;
/// Tag of an OCTET STRING among the values of a data set (MMS Data, ISO 9506-2).
const OCTET_STRING: ber::Tag = ber::Tag::primitive(9);

/// Stream that a flow publishes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publication {
    /// Group that its frames go to; the flow's peer if `None`.
    pub group: Option<Mac>,
    /// Priority and VLAN of its frames' 802.1Q tag; no tag if `None`.
    pub tag: Option<mac::Tag>,
    /// Protocol and identity.
    pub content: Content,
}

/// Protocol of a stream, and its identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// GOOSE.
    Goose(Goose),
    /// Sampled Values.
    SampledValues(SampledValues),
    /// Data behind an EtherType.
    Cyclic(Cyclic),
}

/// Stream of GOOSE (IEC 61850-8-1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goose {
    /// APPID.
    pub appid: u16,
    /// gocbRef; datSet is made of it, as far as there is room.
    pub control_block: String,
    /// confRev.
    pub revision: u32,
    /// timeAllowedToLive of each frame; twice the interval to the next one if `None`.
    pub allowed: Option<Duration>,
    /// Times of its frames.
    pub plan: Retransmissions,
}

/// Stream of Sampled Values (IEC 61850-9-2, IEC 61869-9).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledValues {
    /// APPID.
    pub appid: u16,
    /// svID.
    pub identifier: String,
    /// confRev.
    pub revision: u32,
    /// noASDU: samples in a frame, at least 1.
    pub samples: u16,
    /// Samples in a second: smpCnt counts from 0 to one less.
    pub per_second: u32,
}

/// Stream of cyclic data behind an EtherType.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cyclic {
    /// EtherType. That of PROFINET gives frames a FrameID, and the status of RT class 1.
    pub ethertype: u16,
    /// FrameID of PROFINET.
    pub frame_id: u16,
    /// Time from one frame to the next, which CycleCounter counts.
    pub period: Duration,
}

impl Content {
    /// EtherType of its frames.
    #[must_use]
    pub const fn ethertype(&self) -> u16 {
        match self {
            Self::Goose(_) => GOOSE,
            Self::SampledValues(_) => SAMPLED_VALUES,
            Self::Cyclic(Cyclic { ethertype, .. }) => *ethertype,
        }
    }

    /// Octets behind the EtherType that values of `octets` octets take: of a data set of GOOSE, of each
    /// sample, or of cyclic data.
    #[must_use]
    pub fn octets_of(&self, octets: usize) -> usize {
        let values = vec![0; octets];
        match self {
            // Its numbers are those of a publisher that has run for long.
            Self::Goose(goose) => {
                let (state, sequence) = (u32::MAX, u32::MAX);
                let at = Instant::ZERO;
                let interval = goose.plan.maximum;
                let turn = Turn { due: at, state, sequence, changed: at, interval };
                goose.pdu(&turn, &values, &goose.data_set()).len()
            }
            Self::SampledValues(sampled) => sampled.pdu(0, &values, octets).len(),
            Self::Cyclic(cyclic) => (octets + cyclic.around()).max(LEAST_DATA_OCTETS),
        }
    }

    /// Fewest octets behind the EtherType with room for a message.
    #[must_use]
    pub fn least_octets(&self) -> usize {
        match self {
            // Without datSet.
            Self::Goose(goose) => {
                let whole = self.octets_of(octet_string(&[0; LEAST_OCTETS]).len());
                whole.saturating_sub(goose.data_set().len())
            }
            Self::SampledValues(_) | Self::Cyclic(_) => self.octets_of(LEAST_OCTETS),
        }
    }

    /// Data behind the EtherType, of `octets` octets: a message with this stamp, in the `turn` of a
    /// publisher of GOOSE. Names that leave no room for the message make longer data.
    #[must_use]
    pub fn data(&self, stamp: &Stamp, turn: &Turn, octets: usize) -> Vec<u8> {
        let mut data = match self {
            Self::Goose(goose) => {
                let data_set = goose.fitting_data_set(turn, octets);
                fitting(octets, 1, |message| {
                    goose.pdu(turn, &octet_string(&tsdu(stamp, message)), &data_set)
                })
            }
            Self::SampledValues(sampled) => fitting(octets, sampled.samples.into(), |message| {
                sampled.pdu(stamp.sequence, &tsdu(stamp, message), message)
            }),
            Self::Cyclic(cyclic) => {
                cyclic.frame(stamp, octets.saturating_sub(cyclic.around()).max(LEAST_OCTETS))
            }
        };
        // Decoders stop at the lengths in the PDU.
        data.resize(data.len().max(octets), 0);
        data
    }
}

/// The longest data of at most `octets` octets that `make` makes of `count` values of the length of a
/// message, or else those of the shortest message. Longer messages need longer length fields: a few
/// octets are tried.
fn fitting(octets: usize, count: usize, make: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let (shortest, count) = (make(LEAST_OCTETS), count.max(1));
    let mut message = LEAST_OCTETS + octets.saturating_sub(shortest.len()) / count;
    while message > LEAST_OCTETS {
        let made = make(message);
        if made.len() <= octets {
            return made;
        }
        let over = (made.len() - octets).div_ceil(count);
        message = LEAST_OCTETS.max(message.saturating_sub(over));
    }
    shortest
}

/// A value of the type OCTET STRING.
fn octet_string(octets: &[u8]) -> Vec<u8> {
    let mut out = Writer::new();
    out.element(OCTET_STRING, octets);
    out.octets().to_vec()
}

impl Goose {
    /// datSet: the control block's reference without its functional constraint.
    fn data_set(&self) -> String {
        self.control_block.replacen("$GO$", "$", 1)
    }

    /// datSet, cut where it would leave no room for a message.
    fn fitting_data_set(&self, turn: &Turn, octets: usize) -> String {
        let data_set = self.data_set();
        let shortest = self.pdu(turn, &octet_string(&[0; LEAST_OCTETS]), &data_set).len();
        let kept = data_set.len().saturating_sub(shortest.saturating_sub(octets));
        data_set.chars().take(kept).collect()
    }

    fn pdu(&self, turn: &Turn, values: &[u8], data_set: &str) -> Vec<u8> {
        let allowed = self.allowed.unwrap_or(turn.interval.saturating_mul(2));
        let allowed_ms = u32::try_from(allowed.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let pdu = goose::Pdu {
            appid: self.appid,
            reserved: SIMULATED,
            control_block: self.control_block.as_bytes(),
            time_allowed_to_live_ms: allowed_ms,
            data_set: data_set.as_bytes(),
            identifier: None,
            time: utc_time(turn.changed),
            state_number: turn.state,
            sequence_number: turn.sequence,
            is_simulated: true,
            configuration_revision: self.revision,
            needs_commissioning: false,
            entries: 1,
            data: values,
        };
        pdu.encode()
    }
}

/// Time as GOOSE has it: of the clock of the run, and not synchronised.
fn utc_time(at: Instant) -> goose::UtcTime {
    let seconds = u32::try_from(at.as_nanos() / 1_000_000_000).unwrap_or(u32::MAX);
    let fraction = ((at.as_nanos() % 1_000_000_000) << 24) / 1_000_000_000;
    let [a, b, c, d] = seconds.to_be_bytes();
    let [.., e, f, g] = fraction.to_be_bytes();
    goose::UtcTime([a, b, c, d, e, f, g, NOT_SYNCHRONISED])
}

impl SampledValues {
    /// PDU of the frame with this number, whose first sample is `first`; the others have `octets`
    /// octets.
    fn pdu(&self, sequence: u32, first: &[u8], octets: usize) -> Vec<u8> {
        let rest = vec![0; octets];
        let samples = u64::from(self.samples.max(1));
        let asdus: Vec<_> = (0..samples)
            .map(|sample| {
                let number = u64::from(sequence) * samples + sample;
                let count = number % u64::from(self.per_second.max(1));
                sampled_values::Asdu {
                    identifier: self.identifier.as_bytes(),
                    data_set: None,
                    sample_count: u16::try_from(count).unwrap_or(u16::MAX),
                    configuration_revision: self.revision,
                    synchronisation: 0,
                    rate: None,
                    sample: if sample == 0 { first } else { &rest },
                }
            })
            .collect();
        sampled_values::Pdu::encode(self.appid, SIMULATED, &asdus)
    }
}

impl Cyclic {
    /// Octets around a message.
    const fn around(&self) -> usize {
        match self.ethertype {
            PROFINET => AROUND_DATA,
            load::ETHERTYPE => load::MARK.len(),
            _ => 0,
        }
    }

    fn frame(&self, stamp: &Stamp, message: usize) -> Vec<u8> {
        let message = tsdu(stamp, message);
        if self.ethertype == load::ETHERTYPE {
            return [&load::MARK, &*message].concat();
        } else if self.ethertype != PROFINET {
            return message.to_vec();
        }
        let mut frame = Vec::with_capacity(message.len() + AROUND_DATA);
        frame.extend(self.frame_id.to_be_bytes());
        frame.extend_from_slice(&message);
        let cycles =
            u128::from(nanos(self.period)) * u128::from(stamp.sequence) / u128::from(CYCLE_NS);
        frame.extend((cycles as u16).to_be_bytes());
        frame.extend([DATA_STATUS, 0]);
        frame
    }
}

/// Message in the data behind an EtherType; `None` if these are no data of a stream made here.
#[must_use]
pub fn message(ethertype: u16, data: &[u8]) -> Option<&[u8]> {
    match ethertype {
        GOOSE => {
            let pdu = goose::Pdu::decode(data).ok()?;
            let value = ber::Reader::new(pdu.data).expect("value", OCTET_STRING).ok()?;
            Some(value.content)
        }
        SAMPLED_VALUES => {
            let pdu = sampled_values::Pdu::decode(data).ok()?;
            Some(pdu.asdus().next()?.ok()?.sample)
        }
        PROFINET => {
            let pdu = profinet::Pdu::decode(data).ok()?;
            matches!(pdu.kind, profinet::Kind::Cyclic(_)).then_some(pdu.data)
        }
        load::ETHERTYPE => data.strip_prefix(&load::MARK),
        _ => Some(data),
    }
}

/// Publisher of a stream: what its frames hold, one after the other.
#[derive(Clone, Debug)]
pub struct Publisher {
    publication: Publication,
    turns: Turns,
    /// Number of the present turn.
    number: u32,
}

impl Publisher {
    /// Begins at `at`. `seed` is that of the flow, from which its sender takes the same changes.
    #[must_use]
    pub fn new(publication: Publication, seed: u64, at: Instant) -> Self {
        let plan = match &publication.content {
            Content::Goose(goose) => goose.plan.clone(),
            Content::SampledValues(_) | Content::Cyclic(_) => Retransmissions::default(),
        };
        Self { publication, turns: Turns::new(plan, seed, at), number: 0 }
    }

    /// Its stream.
    #[must_use]
    pub const fn publication(&self) -> &Publication {
        &self.publication
    }

    /// Data behind the EtherType of the frame with this stamp. Stamps come in the order of their numbers;
    /// frames that were not sent are passed over.
    pub fn data(&mut self, stamp: &Stamp, octets: usize) -> Vec<u8> {
        if matches!(self.publication.content, Content::Goose(_)) {
            while self.number < stamp.sequence {
                self.turns.advance();
                self.number += 1;
            }
        }
        self.publication.content.data(stamp, self.turns.turn(), octets)
    }
}

#[cfg(test)]
mod tests;

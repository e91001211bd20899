//! PTP, the Precision Time Protocol (IEEE 1588-2019 clause 13, IEEE 802.1AS): header, timestamps and
//! Announce, on Ethernet or in datagrams of UDP to ports 319 and 320.
//!
//! ```text
//! 0   majorSdoId 4, messageType 4; minorVersion 4, version 4; length 2; domain 1; minorSdoId 1
//! 6   flags 2; correction 8 (ns by 65536); type specific 4; clock 8, port 2; sequenceId 2;
//!     control 1; logMessageInterval 1
//! 34  timestamp 6 + 4; requesting clock and port 10, or the fields of Announce
//! ```
//!
//! Left out: signalling, management, TLVs, and version 1.

use crate::addr::Names;
use crate::leaf::{Cyclic, Leaf};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Octets of the header.
pub const HEADER_OCTETS: usize = 34;
/// Ports of UDP for event and general messages.
pub const PORTS: [u16; 2] = [319, 320];
/// Octets of a timestamp.
const TIME_OCTETS: usize = 10;
/// Octets of Announce without TLVs.
const ANNOUNCE_OCTETS: usize = 64;
/// Offset of the identity of the sending clock.
const CLOCK_AT: usize = 20;
/// Offset of the identity of the clock that an answer is for.
const REQUESTING_AT: usize = HEADER_OCTETS + TIME_OCTETS;
/// Offset of the grandmaster's identity in Announce.
const GRANDMASTER_AT: usize = 53;
const TWO_STEP: u16 = 0x0200;

/// PTP as a leaf of the layering. TLVs count as user data.
pub const LEAF: Leaf = Leaf {
    name: "PTP",
    cyclic: Some(Cyclic::Ptp),
    kind: |octets| Pdu::decode(octets).map(|pdu| pdu.kind.title()),
    print: |octets, f| Pdu::decode(octets).map_or(Ok(()), |pdu| write!(f, "{pdu}")),
    headers_octets: body_octets,
    rewrite,
};

/// Type of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Sync.
    Sync,
    /// Delay_Req.
    DelayRequest,
    /// Pdelay_Req.
    PeerDelayRequest,
    /// Pdelay_Resp.
    PeerDelayResponse,
    /// Follow_Up.
    FollowUp,
    /// Delay_Resp.
    DelayResponse,
    /// Pdelay_Resp_Follow_Up.
    PeerDelayFollowUp,
    /// Announce.
    Announce,
    /// Signaling, management, or a type that is not defined.
    Other,
}

impl Kind {
    const fn of(code: u8) -> Self {
        match code {
            0x0 => Self::Sync,
            0x1 => Self::DelayRequest,
            0x2 => Self::PeerDelayRequest,
            0x3 => Self::PeerDelayResponse,
            0x8 => Self::FollowUp,
            0x9 => Self::DelayResponse,
            0xA => Self::PeerDelayFollowUp,
            0xB => Self::Announce,
            _ => Self::Other,
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Sync => 0x0,
            Self::DelayRequest => 0x1,
            Self::PeerDelayRequest => 0x2,
            Self::PeerDelayResponse => 0x3,
            Self::FollowUp => 0x8,
            Self::DelayResponse => 0x9,
            Self::PeerDelayFollowUp => 0xA,
            Self::Announce => 0xB,
            Self::Other => 0xC,
        }
    }

    /// Name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "Sync",
            Self::DelayRequest => "Delay_Req",
            Self::PeerDelayRequest => "Pdelay_Req",
            Self::PeerDelayResponse => "Pdelay_Resp",
            Self::FollowUp => "Follow_Up",
            Self::DelayResponse => "Delay_Resp",
            Self::PeerDelayFollowUp => "Pdelay_Resp_Follow_Up",
            Self::Announce => "Announce",
            Self::Other => "other message",
        }
    }

    /// Name under which the meter counts the type.
    const fn title(self) -> &'static str {
        match self {
            Self::Other => "PTP signaling or management",
            _ => "PTP",
        }
    }
}

/// Port of a clock (portIdentity).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Port {
    /// clockIdentity.
    pub clock: Clock,
    /// portNumber.
    pub number: u16,
}

/// Identity of a clock: most often an EUI-64 that is made of a MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Clock(pub [u8; 8]);

impl fmt::Display for Clock {
    /// Prints it as programs of PTP do: `020000.fffe.000a01`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{g:02x}{h:02x}{i:02x}")
    }
}

/// Contents of Announce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Announce {
    /// grandmasterPriority1. The fields are in the order in which grandmasters are compared: the lesser
    /// is the better one.
    pub priority_1: u8,
    /// clockClass: 6 locked to a primary source, 7 in holdover, 248 default.
    pub class: u8,
    /// clockAccuracy.
    pub accuracy: u8,
    /// offsetScaledLogVariance.
    pub variance: u16,
    /// grandmasterPriority2.
    pub priority_2: u8,
    /// grandmasterIdentity.
    pub grandmaster: Clock,
    /// stepsRemoved: boundary clocks between grandmaster and sender.
    pub steps_removed: u16,
    /// currentUtcOffset in seconds.
    pub utc_offset: i16,
    /// timeSource.
    pub time_source: u8,
}

/// Message of PTP, version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// majorSdoId: 1 for 802.1AS.
    pub major_sdo: u8,
    /// Type.
    pub kind: Kind,
    /// minorVersionPTP.
    pub minor_version: u8,
    /// messageLength, in octets.
    pub length: u16,
    /// domainNumber.
    pub domain: u8,
    /// minorSdoId.
    pub minor_sdo: u8,
    /// flagField.
    pub flags: u16,
    /// correctionField: nanoseconds by 65,536.
    pub correction: i64,
    /// sourcePortIdentity.
    pub port: Port,
    /// sequenceId.
    pub sequence: u16,
    /// logMessageInterval: the logarithm to base 2 of the interval in seconds; 127 if there is none.
    pub log_interval: i8,
    /// Timestamp in nanoseconds: of origin, of receipt or of response; none if it is cut.
    pub time_ns: Option<u64>,
    /// requestingPortIdentity, of an answer.
    pub requesting: Option<Port>,
    /// Fields of Announce; none of an Announce that is too short for them.
    pub announce: Option<Announce>,
}

impl Pdu {
    /// Decodes a message.
    ///
    /// # Errors
    /// Names the field that cannot be read; another version than 2 too.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let first = reader.u8("messageType")?;
        let fault = reader.malformed("versionPTP");
        let version = reader.u8("versionPTP")?;
        if version & 0x0F != 2 {
            return Err(fault);
        }
        let at_length = reader.malformed("messageLength");
        let length = reader.u16("messageLength")?;
        let domain = reader.u8("domainNumber")?;
        let minor_sdo = reader.u8("minorSdoId")?;
        let flags = reader.u16("flagField")?;
        let correction = i64::from_be_bytes(reader.array("correctionField")?);
        reader.take("messageTypeSpecific", 4)?;
        let port = port(&mut reader, "sourcePortIdentity")?;
        let sequence = reader.u16("sequenceId")?;
        reader.u8("controlField")?;
        let [interval] = reader.array("logMessageInterval")?;
        // A capture may have cut TLVs.
        let length_octets = usize::from(length);
        let is_cut = length_octets > octets.len() && octets.len() < fixed_octets(first);
        if length_octets < HEADER_OCTETS || is_cut {
            return Err(at_length);
        }
        let body_octets = length_octets.min(octets.len()) - HEADER_OCTETS;
        let mut body = Reader::new(reader.rest().get(..body_octets).ok_or(at_length)?);
        let kind = Kind::of(first & 0x0F);
        let mut pdu = Self {
            major_sdo: first >> 4,
            kind,
            minor_version: version >> 4,
            length,
            domain,
            minor_sdo,
            flags,
            correction,
            port,
            sequence,
            log_interval: i8::from_be_bytes([interval]),
            time_ns: None,
            requesting: None,
            announce: None,
        };
        if kind != Kind::Other {
            pdu.time_ns = time(&mut body);
            let answers = matches!(
                kind,
                Kind::PeerDelayResponse | Kind::DelayResponse | Kind::PeerDelayFollowUp
            );
            pdu.requesting =
                self::port(&mut body, "requestingPortIdentity").ok().filter(|_| answers);
            pdu.announce = announce(octets)
                .filter(|_| kind == Kind::Announce && usize::from(length) >= ANNOUNCE_OCTETS);
        }
        Ok(pdu)
    }

    /// True if a Follow_Up carries the time of this Sync.
    #[must_use]
    pub const fn is_two_step(&self) -> bool {
        self.flags & TWO_STEP != 0
    }

    /// Correction in nanoseconds, rounded down.
    #[must_use]
    pub const fn correction_ns(&self) -> i64 {
        self.correction >> 16
    }

    /// Encodes the message; of the flags, times and answers, what its kind has.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out =
            vec![self.major_sdo << 4 | self.kind.code(), self.minor_version << 4 | 2, 0, 0];
        out.extend([self.domain, self.minor_sdo]);
        out.extend(self.flags.to_be_bytes());
        out.extend(self.correction.to_be_bytes());
        out.extend([0; 4]);
        out.extend(self.port.clock.0);
        out.extend(self.port.number.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend([0, self.log_interval.cast_unsigned()]);
        if let Some(time_ns) = self.time_ns {
            let seconds = (time_ns / 1_000_000_000).to_be_bytes();
            out.extend(seconds.get(2..).unwrap_or_default());
            out.extend(((time_ns % 1_000_000_000) as u32).to_be_bytes());
        }
        if let Some(port) = self.requesting {
            out.extend(port.clock.0);
            out.extend(port.number.to_be_bytes());
        }
        if let Some(of) = self.announce {
            out.extend(of.utc_offset.to_be_bytes());
            out.extend([0, of.priority_1, of.class, of.accuracy]);
            out.extend(of.variance.to_be_bytes());
            out.push(of.priority_2);
            out.extend(of.grandmaster.0);
            out.extend(of.steps_removed.to_be_bytes());
            out.push(of.time_source);
        }
        let length = (out.len() as u16).to_be_bytes();
        out.splice(2..4, length);
        out
    }
}

fn port(reader: &mut Reader<'_>, field: &'static str) -> Result<Port, Malformed> {
    Ok(Port { clock: Clock(reader.array(field)?), number: reader.u16(field)? })
}

/// Timestamp in nanoseconds; none if it is cut, has more than a second of nanoseconds, or lies more than
/// 584 years after its origin.
fn time(reader: &mut Reader<'_>) -> Option<u64> {
    let high = reader.u16("seconds").ok()?;
    let low = u32::from_be_bytes(reader.array("seconds").ok()?);
    let nanos = u32::from_be_bytes(reader.array("nanoseconds").ok()?);
    let seconds = u64::from(high) << 32 | u64::from(low);
    let whole = seconds.checked_mul(1_000_000_000)?.checked_add(nanos.into())?;
    (nanos < 1_000_000_000).then_some(whole)
}

fn announce(octets: &[u8]) -> Option<Announce> {
    let mut reader = Reader::new(octets);
    reader.take("header", HEADER_OCTETS + TIME_OCTETS).ok()?;
    let utc_offset = i16::from_be_bytes(reader.array("currentUtcOffset").ok()?);
    let [_, priority_1, class, accuracy] = reader.array("grandmasterClockQuality").ok()?;
    let variance = reader.u16("offsetScaledLogVariance").ok()?;
    let priority_2 = reader.u8("grandmasterPriority2").ok()?;
    let grandmaster = Clock(reader.array("grandmasterIdentity").ok()?);
    let steps_removed = reader.u16("stepsRemoved").ok()?;
    let time_source = reader.u8("timeSource").ok()?;
    Some(Announce {
        priority_1,
        class,
        accuracy,
        variance,
        priority_2,
        grandmaster,
        steps_removed,
        utc_offset,
        time_source,
    })
}

/// Octets up to its TLVs of a message with this first octet.
const fn fixed_octets(first: u8) -> usize {
    match Kind::of(first & 0x0F) {
        Kind::Announce => ANNOUNCE_OCTETS,
        Kind::Sync | Kind::FollowUp | Kind::DelayRequest => HEADER_OCTETS + TIME_OCTETS,
        Kind::Other => HEADER_OCTETS,
        Kind::PeerDelayRequest
        | Kind::PeerDelayResponse
        | Kind::PeerDelayFollowUp
        | Kind::DelayResponse => REQUESTING_AT + TIME_OCTETS,
    }
}

/// Octets of a message up to its TLVs.
fn body_octets(octets: &[u8]) -> usize {
    octets.first().map_or(0, |first| fixed_octets(*first)).min(octets.len())
}

/// Maps the identities of clocks, those made of MAC addresses as these.
fn rewrite(names: &dyn Names, octets: &mut [u8]) -> usize {
    let end = body_octets(octets);
    let second = match octets.first().map(|first| Kind::of(first & 0x0F)) {
        Some(Kind::Announce) => Some(GRANDMASTER_AT),
        Some(Kind::PeerDelayResponse | Kind::DelayResponse | Kind::PeerDelayFollowUp) => {
            Some(REQUESTING_AT)
        }
        _ => None,
    };
    for at in [Some(CLOCK_AT), second].into_iter().flatten() {
        let Some(identity) = octets.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<8>())
        else {
            continue;
        };
        let [a, b, c, 0xFF, 0xFE, d, e, g] = *identity else {
            names.network(identity);
            continue;
        };
        let mut station = [a, b, c, d, e, g];
        names.station(&mut station);
        let [a, b, c, d, e, g] = station;
        *identity = [a, b, c, 0xFF, 0xFE, d, e, g];
    }
    end
}

impl fmt::Display for Pdu {
    /// Prints the message on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, domain, port, sequence, .. } = self;
        write!(f, "PTP {} domain={domain} {}-{}", kind.name(), port.clock, port.number)?;
        write!(f, " sequenceId={sequence} correction={}ns", self.correction_ns())?;
        if let Some(time_ns) = self.time_ns {
            let (seconds, nanos) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
            write!(f, " time={seconds}.{nanos:09}")?;
        }
        if let Some(port) = self.requesting {
            write!(f, " to {}-{}", port.clock, port.number)?;
        }
        if let Some(of) = self.announce {
            let Announce { grandmaster, class, steps_removed, .. } = of;
            write!(f, " grandmaster={grandmaster} class={class} stepsRemoved={steps_removed}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Clock = Clock([2, 0, 0, 0xFF, 0xFE, 0, 0x0A, 1]);
    const ANNOUNCE: Pdu = Pdu {
        major_sdo: 1,
        kind: Kind::Announce,
        minor_version: 1,
        length: 64,
        domain: 0,
        minor_sdo: 0,
        flags: 8,
        correction: 3 << 16,
        port: Port { clock: CLOCK, number: 1 },
        sequence: 7,
        log_interval: -3,
        time_ns: Some(1_700_000_000_000_000_009),
        requesting: None,
        announce: Some(Announce {
            priority_1: 100,
            class: 6,
            accuracy: 0x21,
            variance: 0x4E5D,
            priority_2: 128,
            grandmaster: CLOCK,
            steps_removed: 2,
            utc_offset: 37,
            time_source: 0x20,
        }),
    };

    #[test]
    fn a_message_reads_as_written_and_prints() {
        assert_eq!(Pdu::decode(&ANNOUNCE.encode()), Ok(ANNOUNCE));
        assert_eq!(
            ANNOUNCE.to_string(),
            "PTP Announce domain=0 020000.fffe.000a01-1 sequenceId=7 correction=3ns \
             time=1700000000.000000009 grandmaster=020000.fffe.000a01 class=6 stepsRemoved=2"
        );
        let requesting = Some(Port { clock: CLOCK, number: 3 });
        let kind = Kind::PeerDelayResponse;
        let answer = Pdu { kind, length: 54, requesting, announce: None, ..ANNOUNCE };
        assert_eq!(Pdu::decode(&[answer.encode(), vec![0; 6]].concat()), Ok(answer));
    }

    #[test]
    fn a_broken_message_names_the_field() {
        let whole = ANNOUNCE.encode();
        let fault = |octets: &[u8]| Pdu::decode(octets).unwrap_err().to_string();
        assert_eq!(fault(&whole[..30]), "malformed sequenceId at octet 30");
        assert_eq!(fault(&whole[..60]), "malformed messageLength at octet 2");
        assert_eq!(fault(&[&[0, 1][..], &whole[2..]].concat()), "malformed versionPTP at octet 1");
        // An Announce of the draft, ten octets shorter, has no grandmaster.
        let mut short = whole[..54].to_vec();
        short[3] = 54;
        assert_eq!(Pdu::decode(&short).unwrap().announce, None);
    }

    #[test]
    fn identities_made_of_addresses_are_mapped_as_these() {
        struct Counted;
        impl Names for Counted {
            fn internet(&self, address: &mut [u8]) {
                address.fill(1);
            }
            fn station(&self, address: &mut [u8]) {
                address.fill(2);
            }
            fn network(&self, address: &mut [u8]) {
                address.fill(3);
            }
            fn selector(&self, selector: &mut [u8]) {
                selector.fill(4);
            }
        }
        let mut octets = [ANNOUNCE.encode(), vec![9; 12]].concat();
        octets[GRANDMASTER_AT + 3] = 0;
        assert_eq!((LEAF.rewrite)(&Counted, &mut octets), ANNOUNCE_OCTETS);
        let pdu = Pdu::decode(&octets).unwrap();
        assert_eq!(pdu.port.clock, Clock([2, 2, 2, 0xFF, 0xFE, 2, 2, 2]));
        assert_eq!(pdu.announce.unwrap().grandmaster, Clock([3; 8]));
    }
}

//! Frames of cyclic data as all protocols have them: identity, number, time allowed, state.
//!
//! | | stream | number | allowed until the next frame | state |
//! |---|---|---|---|---|
//! | GOOSE | APPID, gocbRef | stNum, sqNum | timeAllowedtoLive | stNum |
//! | SV | APPID, svID | smpCnt | three periods | smpSynch |
//! | PROFINET RT | FrameID | CycleCounter | three periods | DataStatus |
//! | EtherCAT | first process data | none: frames come back | three periods | AL status |
//! | PTP | domain, message, port | sequenceId | three intervals | class, steps |
//! | CIP I/O | connection | encapsulation sequence | by its Forward_Open | run header |
//! | others | `more` | | | |
//!
//! Three periods are the watchdog that engineering tools set by default; a sender does not state it in
//! its frames.

use super::clock::Stamp;
use super::counter::{Rule, WHOLE};
use super::numbers::Numbers;
use super::ptp as clocks;
use super::station::Station;
use core::fmt::Write as _;
use wire::addr::Mac;
use wire::dissect::{Alone, Datagram, Link, cyclic_of_type};
pub use wire::leaf::Cyclic as Protocol;
use wire::mac::{self, Tag};
use wire::profinet::{self, Kind};
use wire::routable::{self, Payload};
use wire::{
    avtp, cc_link, cip_io, ethercat, goose, load, powerlink, ptp, sampled_values, someip, uadp,
};

/// Octets of the longest name that is made here.
const NAME_OCTETS: usize = 64;

/// Number of a frame, by the rule of its protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// State, and frame within it.
    OfState(Numbers),
    /// Of a counter that rolls over.
    Counter(Rule, u16),
    /// Index, by which frames are found again: no order.
    Index(u8),
}

/// Contents of a frame that other frames complete.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detail<'a> {
    /// Nothing.
    None,
    /// Datagrams of EtherCAT.
    EtherCat(&'a ethercat::Pdu<'a>),
    /// Message of PTP.
    Ptp(&'a ptp::Pdu),
    /// Datagram of a connection of EtherNet/IP.
    CipIo(&'a cip_io::Pdu<'a>),
    /// Time of its sender, and the request or answer that it is.
    Sent(&'a Sending),
}

/// Time of the sender of a frame, and the request or answer that it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) stamp: Option<Stamp>,
    pub(super) part: Option<Part>,
}

/// Part of a request with its answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Request of this key.
    Request(PairKey),
    /// The answer to it.
    Answer(PairKey),
    /// One of several answers to it: of each slave.
    OneAnswer(PairKey),
}

impl Part {
    /// Identity of the request.
    pub(super) const fn key(self) -> PairKey {
        match self {
            Self::Request(key) | Self::Answer(key) | Self::OneAnswer(key) => key,
        }
    }
}

/// Identity of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PairKey {
    pub(super) protocol: Protocol,
    /// Sender of the request, if its answers go back to it alone.
    pub(super) from: Option<Station>,
    /// Node or group, or service and method.
    pub(super) node: u32,
    /// Number; zero if there is none.
    pub(super) number: u32,
}

/// Name that is made of the fields of a frame.
pub(super) struct Name {
    octets: [u8; NAME_OCTETS],
    length: usize,
}

impl Name {
    pub(super) fn of(words: core::fmt::Arguments<'_>) -> Self {
        let mut name = Self { octets: [0; NAME_OCTETS], length: 0 };
        // A name that is too long is cut.
        let _ = name.write_fmt(words);
        name
    }

    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.length).unwrap_or_default()
    }
}

impl core::fmt::Write for Name {
    fn write_str(&mut self, words: &str) -> core::fmt::Result {
        for octet in words.bytes() {
            *self.octets.get_mut(self.length).ok_or(core::fmt::Error)? = octet;
            self.length += 1;
        }
        Ok(())
    }
}

/// Frame, or sample, of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(super) protocol: Protocol,
    /// Destination and source.
    pub(super) ends: [Station; 2],
    pub(super) tag: Option<Tag>,
    /// Octets without FCS.
    pub(super) octets: u64,
    /// APPID or FrameID, command or domain.
    pub(super) identifier: u32,
    /// Name of the stream; empty if it has none.
    pub(super) name: &'a [u8],
    pub(super) number: Number,
    /// True for the second and later samples of the stream in one frame.
    pub(super) is_continued: bool,
    /// Time that the frame states until the next, zero for any; none if it states none.
    pub(super) allowed_ns: Option<u64>,
    /// State; none if the frame says nothing of it.
    pub(super) state: Option<u32>,
    /// False if the frames of the stream have no period by their protocol.
    pub(super) is_periodic: bool,
    /// confRev; zero if there is none.
    pub(super) revision: u32,
    pub(super) is_simulated: bool,
    pub(super) needs_commissioning: bool,
    pub(super) is_unsynchronised: bool,
    /// True if the values are marked as not valid, or their provider does not run.
    pub(super) is_invalid: bool,
    /// PDU with the labels of a control block of GOOSE.
    pub(super) goose: Option<&'a goose::Pdu<'a>>,
    pub(super) detail: Detail<'a>,
}

impl<'a> Frame<'a> {
    /// Decodes a frame of Ethernet of which `octets` were captured, and calls `each` for the frames
    /// of cyclic data in it: one, or one for each sample. Returns false, without a call, if it holds
    /// none or is malformed.
    pub(crate) fn each(
        octets: &'a [u8],
        original_octets: usize,
        each: impl FnMut(Frame<'_>),
    ) -> bool {
        // Their EtherTypes begin with 88, 22 and B6, those of VLAN tags with 81, 88 and 91.
        if !matches!(octets.get(12), Some(0x88 | 0x81 | 0x91 | 0x22 | 0xB6)) {
            return false;
        }
        let original_octets = original_octets.max(octets.len());
        let Ok(frame) = mac::Pdu::decode_cut(octets, original_octets) else { return false };
        let mac::Kind::Type(number) = frame.kind else { return false };
        let Some(protocol) = cyclic_of_type(number) else { return false };
        let is_whole = octets.len() == original_octets;
        Self::none(protocol, &frame, original_octets).each_in(frame.data, is_whole, each)
    }

    /// Does the same for a dissected frame.
    pub(crate) fn each_of(
        link: Link,
        octets: &'a [u8],
        alone: &Alone<'a>,
        each: impl FnMut(Frame<'_>),
    ) -> bool {
        let protocol = alone.leaf.cyclic.filter(|_| link.is_ethernet());
        let original_octets = octets.len() + alone.missing_octets;
        let frame = mac::Pdu::decode_cut(octets, original_octets);
        let (Some(protocol), Ok(frame)) = (protocol, frame) else { return false };
        let is_whole = alone.missing_octets == 0;
        Self::none(protocol, &frame, original_octets).each_in(alone.octets, is_whole, each)
    }

    /// Frame without ends and contents.
    pub(super) const EMPTY: Self = Self {
        protocol: Protocol::Goose,
        ends: [Station::Lan(Mac([0; 6])); 2],
        tag: None,
        octets: 0,
        identifier: 0,
        name: &[],
        number: Number::Counter(Rule::Cycles, 0),
        is_continued: false,
        allowed_ns: None,
        state: None,
        is_periodic: true,
        revision: 0,
        is_simulated: false,
        needs_commissioning: false,
        is_unsynchronised: false,
        is_invalid: false,
        goose: None,
        detail: Detail::None,
    };

    /// The frame without its name and contents.
    pub(super) const fn unnamed(&self) -> Frame<'static> {
        Frame {
            protocol: self.protocol,
            ends: self.ends,
            tag: self.tag,
            octets: self.octets,
            identifier: self.identifier,
            name: &[],
            number: self.number,
            is_continued: self.is_continued,
            allowed_ns: self.allowed_ns,
            state: self.state,
            is_periodic: self.is_periodic,
            revision: self.revision,
            is_simulated: self.is_simulated,
            needs_commissioning: self.needs_commissioning,
            is_unsynchronised: self.is_unsynchronised,
            is_invalid: self.is_invalid,
            goose: None,
            detail: Detail::None,
        }
    }

    /// Frame of Ethernet without contents.
    fn none(protocol: Protocol, frame: &mac::Pdu<'_>, original_octets: usize) -> Self {
        Self {
            protocol,
            ends: [Station::Lan(frame.destination), Station::Lan(frame.source)],
            tag: frame.tags.first().copied(),
            octets: original_octets as u64,
            ..Self::EMPTY
        }
    }

    /// Decodes its contents.
    #[inline]
    fn each_in(self, octets: &'a [u8], is_whole: bool, mut each: impl FnMut(Frame<'_>)) -> bool {
        match self.protocol {
            Protocol::Goose => {
                let Ok(pdu) = goose::Pdu::decode(octets) else { return false };
                each(self.of_goose(&pdu));
                true
            }
            Protocol::ProfinetRt => {
                // The status is at the end.
                let pdu = profinet::Pdu::decode(octets).ok().filter(|_| is_whole);
                pdu.and_then(|pdu| self.of_profinet(&pdu)).map(each).is_some()
            }
            Protocol::SampledValues => {
                let pdu = sampled_values::Pdu::decode(octets);
                pdu.is_ok_and(|pdu| self.each_sample(&pdu, each))
            }
            Protocol::EtherCat => {
                let pdu = ethercat::Pdu::decode(octets);
                pdu.is_ok_and(|pdu| self.of_ethercat(&pdu, each))
            }
            Protocol::CipIo => {
                let pdu = cip_io::Pdu::decode(octets).ok().filter(|_| is_whole);
                pdu.map(|pdu| each(self.of_cip_io(&pdu))).is_some()
            }
            Protocol::Uadp => uadp::Pdu::decode(octets).is_ok_and(|pdu| self.of_uadp(&pdu, each)),
            Protocol::Avtp => {
                let pdu = avtp::Pdu::decode(octets).ok().flatten();
                pdu.is_some_and(|pdu| self.of_avtp(&pdu, each))
            }
            Protocol::CcLink => {
                let pdu = cc_link::Pdu::decode(octets).ok();
                pdu.map(|pdu| self.of_cc_link(&pdu, each)).is_some()
            }
            Protocol::SomeIp => {
                let messages = someip::Messages::of(octets).filter(|_| is_whole);
                messages.is_some_and(|all| self.of_someip(all, each))
            }
            Protocol::Powerlink => {
                let pdu = powerlink::Pdu::decode(octets);
                pdu.is_ok_and(|pdu| self.of_powerlink(&pdu, each))
            }
            Protocol::Load => {
                let pdu = load::Pdu::decode(octets).ok().flatten();
                pdu.map(|pdu| self.of_load(&pdu, each)).is_some()
            }
            // Marks of frames, not frames: `redundancy`.
            Protocol::Prp | Protocol::Hsr => false,
            Protocol::Ptp => ptp::Pdu::decode(octets).is_ok_and(|pdu| self.of_ptp(&pdu, each)),
        }
    }

    const fn of_goose<'b>(self, pdu: &'b goose::Pdu<'b>) -> Frame<'b>
    where
        'a: 'b,
    {
        let numbers = Numbers { state: pdu.state_number, sequence: pdu.sequence_number };
        Frame {
            identifier: pdu.appid as u32,
            name: pdu.control_block,
            number: Number::OfState(numbers),
            allowed_ns: Some(pdu.time_allowed_to_live_ms as u64 * 1_000_000),
            state: Some(pdu.state_number),
            revision: pdu.configuration_revision,
            is_simulated: pdu.is_test(),
            needs_commissioning: pdu.needs_commissioning,
            is_unsynchronised: pdu.time.has_failed() || pdu.time.is_unsynchronised(),
            goose: Some(pdu),
            ..self
        }
    }

    fn of_profinet(self, pdu: &profinet::Pdu<'a>) -> Option<Self> {
        let Kind::Cyclic(status) = pdu.kind else { return None };
        Some(Self {
            identifier: pdu.frame_id.into(),
            number: Number::Counter(Rule::Cycles, status.cycle_counter),
            state: Some(status.data.into()),
            is_invalid: !status.is_valid(),
            ..self
        })
    }

    /// Calls `each` for the samples; returns false, without a call, if there are none or one is
    /// malformed.
    fn each_sample(self, pdu: &sampled_values::Pdu<'a>, mut each: impl FnMut(Frame<'_>)) -> bool {
        let mut asdus = pdu.asdus();
        let Some(Ok(first)) = asdus.next() else { return false };
        // Most frames have one sample, which is decoded once.
        if !asdus.clone().all(|asdu| asdu.is_ok()) {
            return false;
        }
        let mut before: Option<&[u8]> = None;
        for asdu in core::iter::once(first).chain(asdus.map_while(Result::ok)) {
            each(Self {
                identifier: pdu.appid.into(),
                name: asdu.identifier,
                number: Number::Counter(Rule::Samples, asdu.sample_count),
                is_continued: before == Some(asdu.identifier),
                state: Some(asdu.synchronisation.into()),
                revision: asdu.configuration_revision,
                is_simulated: pdu.is_simulated(),
                is_unsynchronised: asdu.synchronisation == 0,
                ..self
            });
            before = Some(asdu.identifier);
        }
        true
    }

    /// A stream of EtherCAT has the process data (LRD, LWR, LRW) of one logical address first among
    /// these, or else distributes the time. All other frames of a master are one stream, without a
    /// period. Returns false, without a call, for a frame without datagrams.
    fn of_ethercat(self, pdu: &ethercat::Pdu<'a>, mut each: impl FnMut(Frame<'_>)) -> bool {
        let Some(Ok(first)) = pdu.datagrams().next() else { return false };
        let mut datagrams = pdu.datagrams().flatten();
        let clock = || pdu.datagrams().flatten().find(ethercat::Datagram::distributes_time);
        let main = datagrams.find(ethercat::Datagram::is_logical).or_else(clock);
        let name = match main {
            Some(it) if it.is_logical() => {
                Name::of(format_args!("{} {:08x}", it.command_name(), it.address))
            }
            Some(it) => Name::of(format_args!("{} {:04x}", it.command_name(), it.offset())),
            None => Name::of(format_args!("acyclic")),
        };
        each(Frame {
            identifier: main.map_or(0, |it| it.command).into(),
            name: name.octets(),
            number: Number::Index(first.index),
            is_periodic: main.is_some(),
            // Frames that distribute the time alone end when process data begin.
            allowed_ns: main.is_none_or(|it| !it.is_logical()).then_some(0),
            detail: Detail::EtherCat(pdu),
            ..self
        });
        true
    }

    /// A stream of PTP has the messages of one type that a port sends in a domain. Returns false,
    /// without a call, for signaling and management.
    fn of_ptp(self, pdu: &ptp::Pdu, mut each: impl FnMut(Frame<'_>)) -> bool {
        use ptp::Kind::{Announce, DelayRequest, DelayResponse, Other};
        let ptp::Pdu { kind, port, sequence, .. } = *pdu;
        if kind == Other {
            return false;
        }
        let name = Name::of(format_args!("{} {}-{}", kind.name(), port.clock, port.number));
        let state = |it: ptp::Announce| u32::from(it.class) << 16 | u32::from(it.steps_removed);
        each(Frame {
            identifier: pdu.domain.into(),
            name: name.octets(),
            number: Number::Counter(Rule::Sequence(WHOLE), sequence),
            allowed_ns: clocks::allowed_ns(pdu),
            state: pdu.announce.filter(|_| kind == Announce).map(state),
            // Delay_Req comes after a random time.
            is_periodic: !matches!(kind, DelayRequest | DelayResponse),
            detail: Detail::Ptp(pdu),
            ..self
        });
        true
    }

    /// A stream of EtherNet/IP is one direction of a connection. Its number is the encapsulation sequence
    /// number, of which the lower 16 bits show all losses but those of 65,536 frames.
    fn of_cip_io<'b>(self, pdu: &'b cip_io::Pdu<'b>) -> Frame<'b>
    where
        'a: 'b,
    {
        let number = |sequence: u32| Number::Counter(Rule::Sequence(WHOLE), sequence as u16);
        Frame {
            identifier: pdu.connection,
            number: pdu.sequence.map_or(Number::Index(0), number),
            detail: Detail::CipIo(pdu),
            ..self
        }
    }

    /// Decodes a datagram of UDP that a frame of `octets` carried, and calls `each` if it holds cyclic
    /// data. Returns false, without a call, if it does not.
    pub(crate) fn each_of_datagram(
        datagram: Datagram<'a>,
        octets: u64,
        tag: Option<Tag>,
        each: impl FnMut(Frame<'_>),
    ) -> bool {
        let Datagram { source, destination, octets: data, missing_octets } = datagram;
        let ends = [destination, source].map(|end| Station::Internet(end.address));
        let frame = Frame { ends, tag, octets, ..Self::EMPTY };
        if is_routable(&datagram) {
            return frame.each_routable(data, each);
        }
        let Some(protocol) = protocol_of(&datagram) else { return false };
        Frame { protocol, ..frame }.each_in(data, missing_octets == 0, each)
    }

    /// Calls `each` for the PDUs of GOOSE and the samples in a session PDU of IEC 61850 over UDP, up to one
    /// that is malformed; returns false, without a call, if it has none.
    fn each_routable(self, octets: &'a [u8], mut each: impl FnMut(Frame<'_>)) -> bool {
        let Ok(session) = routable::Pdu::decode(octets) else { return false };
        let mut is_any = false;
        for payload in session.payloads().map_while(Result::ok) {
            is_any |= match payload {
                Payload::Goose(pdu) => {
                    each(Frame { protocol: Protocol::Goose, ..self }.of_goose(&pdu));
                    true
                }
                Payload::SampledValues(pdu) => {
                    Frame { protocol: Protocol::SampledValues, ..self }.each_sample(&pdu, &mut each)
                }
            };
        }
        is_any
    }
}

/// True if a datagram may hold cyclic data.
pub(crate) fn is_for(datagram: &Datagram<'_>) -> bool {
    is_routable(datagram) || protocol_of(datagram).is_some()
}

/// True if a datagram may hold routable GOOSE or Sampled Values.
fn is_routable(datagram: &Datagram<'_>) -> bool {
    datagram.destination.port == routable::PORT && routable::is_session(datagram.octets)
}

/// Protocol of a datagram, by its port; of SOME/IP, which has none, by its headers.
fn protocol_of(datagram: &Datagram<'_>) -> Option<Protocol> {
    let is_someip = || someip::Messages::of(datagram.octets).is_some();
    let by_port = of_ports(datagram.destination.port);
    by_port.or_else(|| is_someip().then_some(Protocol::SomeIp))
}

/// Protocol of datagrams to this port, if they are cyclic data.
const fn of_ports(port: u16) -> Option<Protocol> {
    match port {
        319 | 320 => Some(Protocol::Ptp),
        cip_io::PORT => Some(Protocol::CipIo),
        uadp::PORT => Some(Protocol::Uadp),
        cc_link::PORT => Some(Protocol::CcLink),
        _ => None,
    }
}

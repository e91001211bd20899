//! Frames of cyclic data as all protocols have them: identity, number, time allowed, state.
//!
//! | | stream | number | allowed until the next frame | state |
//! |---|---|---|---|---|
//! | GOOSE | APPID, gocbRef | stNum, sqNum | timeAllowedtoLive | stNum |
//! | SV | APPID, svID | smpCnt | three periods | smpSynch |
//! | PROFINET RT | FrameID | CycleCounter | three periods | DataStatus |
//!
//! Three periods are the watchdog that engineering tools set by default; a sender does not state it in
//! its frames.

use super::counter::Rule;
use super::numbers::Numbers;
use wire::addr::Mac;
use wire::dissect::{Alone, Link, cyclic_of_type};
pub use wire::leaf::Cyclic as Protocol;
use wire::mac::{self, Tag};
use wire::profinet::{self, Kind};
use wire::{goose, sampled_values};

/// Number of a frame, by the rule of its protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// State, and frame within it.
    OfState(Numbers),
    /// Of a counter that rolls over.
    Counter(Rule, u16),
}

/// Frame, or sample, of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(super) protocol: Protocol,
    /// Destination and source.
    pub(super) ends: [Mac; 2],
    pub(super) tag: Option<Tag>,
    /// Octets without FCS.
    pub(super) octets: u64,
    /// APPID or FrameID.
    pub(super) identifier: u16,
    /// Name of the stream; empty if it has none.
    pub(super) name: &'a [u8],
    pub(super) number: Number,
    /// True for the second and later samples of the stream in one frame.
    pub(super) is_continued: bool,
    /// Time that the frame states until the next; none if it states none.
    pub(super) allowed_ns: Option<u64>,
    pub(super) state: u32,
    /// confRev; zero if there is none.
    pub(super) revision: u32,
    pub(super) is_simulated: bool,
    pub(super) needs_commissioning: bool,
    pub(super) is_unsynchronised: bool,
    /// True if the values are marked as not valid, or their provider does not run.
    pub(super) is_invalid: bool,
}

impl<'a> Frame<'a> {
    /// Decodes a frame of Ethernet of which `octets` were captured, and calls `each` for the frames
    /// of cyclic data in it: one, or one for each sample. Returns false, without a call, if it holds
    /// none or is malformed.
    pub(crate) fn each(octets: &'a [u8], original_octets: usize, each: impl FnMut(Self)) -> bool {
        // Their EtherTypes begin with 88, those of VLAN tags with 81, 88 and 91.
        if !matches!(octets.get(12), Some(0x88 | 0x81 | 0x91)) {
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
        each: impl FnMut(Self),
    ) -> bool {
        let protocol = alone.leaf.cyclic.filter(|_| link == Link::Ethernet);
        let original_octets = octets.len() + alone.missing_octets;
        let frame = mac::Pdu::decode_cut(octets, original_octets);
        let (Some(protocol), Ok(frame)) = (protocol, frame) else { return false };
        let is_whole = alone.missing_octets == 0;
        Self::none(protocol, &frame, original_octets).each_in(alone.octets, is_whole, each)
    }

    /// Frame without contents.
    fn none(protocol: Protocol, frame: &mac::Pdu<'_>, original_octets: usize) -> Self {
        Self {
            protocol,
            ends: [frame.destination, frame.source],
            tag: frame.tags.first().copied(),
            octets: original_octets as u64,
            identifier: 0,
            name: &[],
            number: Number::Counter(Rule::Cycles, 0),
            is_continued: false,
            allowed_ns: None,
            state: 0,
            revision: 0,
            is_simulated: false,
            needs_commissioning: false,
            is_unsynchronised: false,
            is_invalid: false,
        }
    }

    /// Decodes its contents.
    #[inline]
    fn each_in(self, octets: &'a [u8], is_whole: bool, mut each: impl FnMut(Self)) -> bool {
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
        }
    }

    const fn of_goose(self, pdu: &goose::Pdu<'a>) -> Self {
        let numbers = Numbers { state: pdu.state_number, sequence: pdu.sequence_number };
        Self {
            identifier: pdu.appid,
            name: pdu.control_block,
            number: Number::OfState(numbers),
            allowed_ns: Some(pdu.time_allowed_to_live_ms as u64 * 1_000_000),
            state: pdu.state_number,
            revision: pdu.configuration_revision,
            is_simulated: pdu.is_test(),
            needs_commissioning: pdu.needs_commissioning,
            is_unsynchronised: pdu.time.has_failed() || pdu.time.is_unsynchronised(),
            ..self
        }
    }

    fn of_profinet(self, pdu: &profinet::Pdu<'a>) -> Option<Self> {
        let Kind::Cyclic(status) = pdu.kind else { return None };
        Some(Self {
            identifier: pdu.frame_id,
            number: Number::Counter(Rule::Cycles, status.cycle_counter),
            state: status.data.into(),
            is_invalid: !status.is_valid(),
            ..self
        })
    }

    /// Calls `each` for the samples; returns false, without a call, if there are none or one is
    /// malformed.
    fn each_sample(self, pdu: &sampled_values::Pdu<'a>, mut each: impl FnMut(Self)) -> bool {
        let mut asdus = pdu.asdus();
        let Some(Ok(first)) = asdus.next() else { return false };
        // Most frames have one sample, which is decoded once.
        if !asdus.clone().all(|asdu| asdu.is_ok()) {
            return false;
        }
        let mut before: Option<&[u8]> = None;
        for asdu in core::iter::once(first).chain(asdus.map_while(Result::ok)) {
            each(Self {
                identifier: pdu.appid,
                name: asdu.identifier,
                number: Number::Counter(Rule::Samples, asdu.sample_count),
                is_continued: before == Some(asdu.identifier),
                state: asdu.synchronisation.into(),
                revision: asdu.configuration_revision,
                is_simulated: pdu.is_simulated(),
                is_unsynchronised: asdu.synchronisation == 0,
                ..self
            });
            before = Some(asdu.identifier);
        }
        true
    }
}

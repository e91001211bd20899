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
use wire::dissect::{Alone, Link};
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
    /// Calls `each` for the frames of cyclic data in a frame that was received whole: one, or one for
    /// each sample.
    pub(crate) fn each(
        link: Link,
        octets: &'a [u8],
        alone: &Alone<'a>,
        mut each: impl FnMut(Self),
    ) {
        let Some(protocol) = alone.leaf.cyclic.filter(|_| link == Link::Ethernet) else { return };
        if alone.missing_octets > 0 && protocol == Protocol::ProfinetRt {
            return;
        }
        let whole = octets.len() + alone.missing_octets;
        let Ok(frame) = mac::Pdu::decode_cut(octets, whole) else { return };
        let empty = Self {
            protocol,
            ends: [frame.destination, frame.source],
            tag: frame.tags.first().copied(),
            octets: whole as u64,
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
        };
        match protocol {
            Protocol::Goose => {
                let pdu = goose::Pdu::decode(alone.octets);
                pdu.into_iter().for_each(|pdu| each(empty.of_goose(&pdu)));
            }
            Protocol::ProfinetRt => {
                let pdu = profinet::Pdu::decode(alone.octets);
                pdu.ok().and_then(|pdu| empty.of_profinet(&pdu)).into_iter().for_each(each);
            }
            Protocol::SampledValues => {
                let Ok(pdu) = sampled_values::Pdu::decode(alone.octets) else { return };
                empty.each_sample(&pdu, each);
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

    fn each_sample(self, pdu: &sampled_values::Pdu<'a>, mut each: impl FnMut(Self)) {
        let mut before: Option<&[u8]> = None;
        for asdu in pdu.asdus().map_while(Result::ok) {
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
    }
}

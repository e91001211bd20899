//! Frames that repeat an earlier frame of their stream in all that is read of them, but their number.
//!
//! Publishers of Sampled Values and of PROFINET RT send the same headers with each frame. Such a
//! frame is not decoded and its stream not looked up: the octets around its number are compared with
//! those of the last frame that was decoded. The result is that of decoding it.

use super::counter::Rule;
use super::frame::{Frame, Number, Protocol};
use crate::lru_slab::Handle;
use wire::{mac, sampled_values};

/// Least number of places of frames that are remembered.
const LEAST_PLACES: usize = 512;
/// Greatest number of them.
const MOST_PLACES: usize = 4_096;
/// Maximum number of octets that are compared.
const COMPARED_OCTETS: usize = 160;
/// Turns for which a frame is remembered without being met.
const TURNS: u8 = 32;
/// Turns for which no frame is learnt in a place, where one was that has no such form.
const UNFIT_TURNS: u8 = 255;

/// Octets of a frame that are compared: those before `number`, and those behind it from `behind` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form {
    /// Octets compared from the start.
    front: usize,
    /// Offset of the number.
    number: usize,
    /// Octets compared behind the number.
    behind: usize,
}

impl Form {
    /// Form of a frame of which `octets` were captured; none if it is not of a kind that repeats.
    fn of(frame: &Frame<'_>, octets: &[u8], original_octets: usize) -> Option<Self> {
        let before = mac::Pdu::decode_cut(octets, original_octets).ok()?.header_octets();
        let data = octets.get(before..)?;
        match frame.protocol {
            Protocol::SampledValues => {
                let [number, sample] = sampled_values::Pdu::decode(data).ok()?.repeating()?;
                let number = before + number;
                Some(Self { front: number, number, behind: before + sample - number - 2 })
            }
            // FrameID; CycleCounter, DataStatus and TransferStatus at the end.
            Protocol::ProfinetRt if octets.len() == original_octets => {
                Some(Self { front: before + 2, number: octets.len() - 4, behind: 2 })
            }
            _ => None,
        }
    }
}

/// Frame that is remembered.
#[derive(Clone, Debug)]
struct Repeated {
    stream: Handle,
    captured_octets: usize,
    original_octets: usize,
    form: Form,
    /// Octets in front of the number, then those behind it.
    compared: [u8; COMPARED_OCTETS],
    rule: Rule,
    /// The frame without its name.
    frame: Frame<'static>,
}

impl Repeated {
    /// Number of a frame that repeats this one; none if it does not.
    #[inline]
    fn number(&self, octets: &[u8], original_octets: usize) -> Option<u16> {
        let Form { front, number, behind } = self.form;
        if octets.len() != self.captured_octets || original_octets != self.original_octets {
            return None;
        }
        let (before, rest) = self.compared.split_at_checked(front)?;
        let (high_low, follow) = octets.get(number..)?.split_first_chunk::<2>()?;
        let is_same =
            octets.get(..front)? == before && follow.get(..behind)? == rest.get(..behind)?;
        is_same.then(|| u16::from_be_bytes(*high_low))
    }
}

/// Place of one frame.
#[derive(Clone, Default, Debug)]
struct Slot {
    /// Turns until another frame may take the place.
    turns: u8,
    repeated: Option<Repeated>,
}

/// Frames that are remembered.
#[derive(Clone, Default, Debug)]
pub(super) struct Repeats {
    slots: Vec<Slot>,
}

/// Number that frames with the same addresses, type, and APPID or FrameID share.
#[inline]
fn mixed(octets: &[u8]) -> Option<usize> {
    // Their types begin with 88, those of tags with 81 or 88.
    if !matches!(octets.get(12), Some(0x81 | 0x88)) {
        return None;
    }
    let (head, rest) = octets.get(4..)?.split_first_chunk::<12>()?;
    // Behind a tag are the type and the APPID or FrameID, elsewhere perhaps data.
    let behind_tag = if head.get(8) == Some(&0x81) { rest.first_chunk::<4>()? } else { &[0; 4] };
    let mut mixed = [0; 16];
    mixed[..12].copy_from_slice(head);
    mixed[12..].copy_from_slice(behind_tag);
    let mixed = u128::from_be_bytes(mixed).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
    Some((mixed >> 96) as usize)
}

impl Repeats {
    /// Place for such a frame.
    #[inline]
    fn slot(&mut self, octets: &[u8]) -> Option<&mut Slot> {
        // Their number is a power of two.
        let mask = self.slots.len().wrapping_sub(1);
        self.slots.get_mut(mixed(octets)? & mask)
    }

    /// The frame that `octets` repeat, with their number, and the stream of it.
    #[inline]
    pub(super) fn find(
        &mut self,
        octets: &[u8],
        original_octets: usize,
    ) -> Option<(Handle, &Frame<'static>)> {
        let Slot { turns, repeated } = self.slot(octets)?;
        let repeated = repeated.as_mut()?;
        let number = repeated.number(octets, original_octets)?;
        *turns = TURNS;
        repeated.frame.number = Number::Counter(repeated.rule, number);
        Some((repeated.stream, &repeated.frame))
    }

    /// True if a frame that repeats none is to be learnt.
    pub(super) fn wants(&mut self, octets: &[u8]) -> bool {
        let Some(slot) = self.slot(octets) else { return self.slots.is_empty() };
        slot.turns = slot.turns.saturating_sub(1);
        slot.turns == 0
    }

    /// Learns a frame of this stream, one of `streams`.
    pub(super) fn learn(
        &mut self,
        octets: &[u8],
        original_octets: usize,
        frame: &Frame<'_>,
        stream: Handle,
        streams: usize,
    ) {
        let places = streams.next_power_of_two().clamp(LEAST_PLACES, MOST_PLACES);
        if self.slots.len() < places {
            self.slots = vec![Slot::default(); places];
        }
        let Some(slot) = self.slot(octets) else { return };
        let repeated = repeated(octets, original_octets, frame, stream);
        let turns = if repeated.is_some() { TURNS } else { UNFIT_TURNS };
        *slot = Slot { turns, repeated };
    }
}

/// Returns the entry of a frame; none if it is not of a kind that repeats, or too long.
fn repeated(
    octets: &[u8],
    original_octets: usize,
    frame: &Frame<'_>,
    stream: Handle,
) -> Option<Repeated> {
    let Number::Counter(rule, _) = frame.number else { return None };
    let form = Form::of(frame, octets, original_octets)?;
    let mut compared = [0; COMPARED_OCTETS];
    let Form { front, number, behind } = form;
    let (before, rest) = compared.split_at_mut_checked(front)?;
    before.copy_from_slice(octets.get(..front)?);
    let behind_number = octets.get(number + 2..number + 2 + behind)?;
    rest.get_mut(..behind)?.copy_from_slice(behind_number);
    Some(Repeated {
        stream,
        captured_octets: octets.len(),
        original_octets,
        form,
        compared,
        rule,
        frame: frame.unnamed(),
    })
}

//! Headers kept of TCP streams with TPKTs: those of TPKT, TPDUs and S7.
//!
//! A stream is followed across segments, so that headers are found wherever segments begin.
//! Selectors are mapped and parameters cleared as on a LAN if one segment holds the whole TPDU. Of
//! a CR, CC, DR or ER that continues in the next segment only length indicator and code are kept.

use super::{Names, Renamed, rename};
use crate::dissect::{Link, Stripper};
use crate::tp::{self, Kind};
use crate::tpkt;

/// Octets of a TPKT header, a length indicator and a TPDU code.
const FRONT_OCTETS: usize = tpkt::HEADER_OCTETS + 2;
/// Length indicator of a DT of class 0.
const DT_INDICATOR: u8 = 2;

/// Maps the addresses of successive frames.
#[derive(Debug)]
pub struct Renamer<N> {
    names: N,
    stripper: Stripper,
}

impl<N: Names> Renamer<N> {
    /// Creates a renamer with these names and no streams.
    pub fn new(names: N) -> Self {
        Self { names, stripper: Stripper::without_parameters() }
    }

    /// Maps the addresses of the next frame.
    pub fn rename(&mut self, link: Link, octets: &[u8], original_octets: usize) -> Renamed {
        let mut renamed = rename(&self.names, link, octets, original_octets);
        let Some(begins) = renamed.stream else { return renamed };
        let mut stripped = renamed.octets.clone();
        let end = self.stripper.strip(link, &mut stripped, original_octets);
        renamed.kept.extend(stripped.get(begins..end).unwrap_or_default());
        let stream = renamed.octets.get(begins..).unwrap_or_default();
        map_parameters(&self.names, stream, begins, &mut renamed.kept);
        renamed
    }
}

/// Replaces kept headers by mapped ones, for the TPKTs at the start of a segment.
fn map_parameters(names: &dyn Names, stream: &[u8], begins: usize, kept: &mut Vec<u8>) {
    let mut place = begins;
    while let Some(rest) = stream.get(place - begins..)
        && tpkt::is_believable(rest)
        && let Ok(header) = tpkt::Header::decode(rest)
    {
        let octets = usize::from(header.packet_octets).min(rest.len());
        let front = kept.get(place..place + FRONT_OCTETS);
        // User data that resembles a TPKT is all zero.
        if octets < FRONT_OCTETS || !front.is_some_and(|front| rest.starts_with(front)) {
            return;
        }
        let tpdus = rest.get(tpkt::HEADER_OCTETS..octets).unwrap_or_default();
        if !is_dt_of_class_0(tpdus) {
            replace(kept, place + tpkt::HEADER_OCTETS, place + octets, |kept| {
                tp::rewrite(names, tpdus, kept)
            });
        }
        place += octets;
    }
}

fn is_dt_of_class_0(tpdus: &[u8]) -> bool {
    matches!(tpdus, [DT_INDICATOR, code, ..] if Kind::of_code(*code) == Some(Kind::Dt))
}

/// Replaces `kept[from..to]` by the output of `write`, padded with zeros if more is kept after
/// `to`.
fn replace(kept: &mut Vec<u8>, from: usize, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let behind = kept.split_off(to.min(kept.len()));
    kept.truncate(from);
    write(kept);
    if !behind.is_empty() {
        kept.resize(to, 0);
        kept.extend(behind);
    }
}

//! Lower bound of the cost of tracking: loops that identify the connection of each frame, look it
//! up once in a hash table, and count.
//!
//! One reads the few octets that name a connection at fixed offsets, and decodes nothing; it is
//! written for one protocol stack. The other decodes every layer of every frame with the decoders
//! of `wire`, as a program for arbitrary traffic would, but verifies no checksum.

use super::Failed;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use live::mapped;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use wire::addr::{Mac, Socket};
use wire::dissect::{NoNsdu, levels};
use wire::mac;
use wire::tp::{Pdu, Reference, tpdus};
use wire::tpkt;

/// Returns the word at this offset.
fn word(octets: &[u8], place: usize) -> Option<u64> {
    octets.get(place..)?.first_chunk().map(|word| u64::from_be_bytes(*word))
}

/// Returns receiver and sender with the receiver's reference, of class 4 over the inactive network
/// layer, and true for a DT.
pub(crate) fn class_4(octets: &[u8]) -> Option<((u64, u64), bool)> {
    let header: &[u8; 22] = octets.first_chunk()?;
    if header[14..18] != [0xFE, 0xFE, 0x03, 0x00] {
        return None;
    }
    let reference = u64::from(header[20]) << 8 | u64::from(header[21]);
    let key = (word(octets, 0)? & !0xFFFF | reference, word(octets, 6)? & !0xFFFF);
    Some((key, header[19] & 0xF0 == 0xF0))
}

/// Returns both addresses and ports of TCP over IPv4 without options, and true if the data begins
/// with a TPKT that holds a DT.
pub(crate) fn s7(octets: &[u8]) -> Option<((u64, u64), bool)> {
    let header: &[u8; 54] = octets.first_chunk()?;
    if header[12..15] != [0x08, 0x00, 0x45] || header[23] != 6 {
        return None;
    }
    let key = (word(octets, 26)?, word(octets, 34)? >> 32);
    Some((key, matches!(octets.get(54..60), Some([3, 0, _, _, 2, 0xF0]))))
}

/// Function by which a bare loop identifies the connection of a frame.
pub(crate) type Whose = fn(&[u8]) -> Option<((u64, u64), bool)>;

/// Identifies the connection of each frame at fixed offsets, and counts frames, octets and DTs.
pub(crate) fn bare(path: &Path, whose: Whose) -> Result<u64, Failed> {
    let mut capture = mapped::open(File::open(path)?)?;
    let mut flows: HashMap<(u64, u64), [u64; 3], FixedState> =
        HashMap::with_hasher(FixedState::with_seed(0));
    let mut frames = 0;
    while capture.each(|record| {
        frames += 1;
        let Some((key, is_data)) = whose(record.octets) else { return true };
        let [count, octets, data] = flows.entry(key).or_default();
        *count += 1;
        *octets += record.original_octets as u64;
        *data += u64::from(is_data);
        true
    })? {}
    black_box(&flows);
    Ok(frames)
}

/// Name of a connection, from a decoded frame.
#[derive(PartialEq, Eq, Hash)]
enum Name {
    /// Sender, receiver, and the receiver's reference.
    Transport(Mac, Mac, Reference),
    /// Sender and receiver.
    Stream(Socket, Socket),
    /// Receiver, sender, and the first field of the PDU: APPID or FrameID.
    Cyclic(Mac, Mac, [u8; 2]),
}

/// Identifies the connection of each frame by decoding every layer, with the same counts.
pub(crate) fn decoded(path: &Path) -> Result<u64, Failed> {
    let mut capture = mapped::open(File::open(path)?)?;
    let mut flows: HashMap<Name, [u64; 3], FixedState> =
        HashMap::with_hasher(FixedState::with_seed(0));
    let mut frames = 0;
    while capture.each(|record| {
        frames += 1;
        let (name, octets) = match levels(record.link, record.octets, record.original_octets).nsdu {
            Ok(nsdu) => {
                let Some(Ok(first)) = tpdus(nsdu.octets).next() else { return true };
                let reference = first.destination_reference().unwrap_or_default();
                (Name::Transport(nsdu.source, nsdu.destination, reference), nsdu.octets)
            }
            Err(NoNsdu::Stream(piece)) => {
                let has_packet = tpkt::Header::decode(piece.octets).is_ok();
                let packet = piece.octets.get(tpkt::HEADER_OCTETS..).filter(|_| has_packet);
                (Name::Stream(piece.source, piece.destination), packet.unwrap_or_default())
            }
            Err(NoNsdu::Leaf(alone)) => {
                let frame = mac::Pdu::decode_cut(record.octets, record.original_octets);
                let decoded = (alone.leaf.kind)(alone.octets);
                let (Ok(frame), Ok(_), Some((first, _))) =
                    (frame, decoded, alone.octets.split_first_chunk::<2>())
                else {
                    return true;
                };
                (Name::Cyclic(frame.destination, frame.source, *first), &[][..])
            }
            Err(NoNsdu::Datagram(_) | NoNsdu::Foreign(_) | NoNsdu::Malformed(_)) => return true,
        };
        let is_data = |raw| matches!(Pdu::decode(&raw, None), Ok(Pdu::Dt(_)));
        let [count, octets_seen, data] = flows.entry(name).or_default();
        *count += 1;
        *octets_seen += record.original_octets as u64;
        *data += tpdus(octets).map_while(Result::ok).map(is_data).map(u64::from).sum::<u64>();
        true
    })? {}
    black_box(&flows);
    Ok(frames)
}

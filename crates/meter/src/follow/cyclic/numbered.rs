//! Frames of streams as they are found at another tap: by their stream, and a number that the path does not
//! change.
//!
//! | | number |
//! |---|---|
//! | GOOSE | stNum, sqNum |
//! | SV, PROFINET RT | smpCnt, CycleCounter |
//! | EtherCAT | all datagrams: a device between the taps changes them |
//! | PTP | sequenceId, sdoId and, of an answer, the port that asked |
//! | CIP I/O | encapsulation sequence |
//! | UADP, AVTP, CC-Link, test load | that of the stream, with the time that the frame states |
//! | POWERLINK | the time that SoC states; none of other messages |
//! | SOME/IP | session, and of requests and responses the client |
//!
//! Each tells the frames of a stream apart for a second, but for three: AVTP without a time counts to 256,
//! EtherCAT may repeat all its octets, and the time of SoC may stand still. [`crate::transit`] matches none
//! that comes again sooner.

use super::NAME_OCTETS;
use super::frame::{Detail, Frame, Number, Protocol, Sending};
use super::numbers::Numbers;
use super::report::StreamKey;
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;

/// Bits of a counter below the time of its frame.
const NUMBER_BITS: u32 = 16;

/// Frame of a stream.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) key: StreamKey,
    /// None of frames that have none.
    pub(crate) number: Option<u64>,
}

impl Numbered {
    /// Stream and number of a frame; none for further samples of one.
    pub(crate) fn of(frame: &Frame<'_>) -> Option<Self> {
        if frame.is_continued {
            return None;
        }
        let [destination, source] = frame.ends;
        let (protocol, identifier) = (frame.protocol, frame.identifier);
        let name = frame.name.get(..NAME_OCTETS).unwrap_or(frame.name).into();
        let key = StreamKey { protocol, source, destination, identifier, name };
        Some(Self { key, number: number(frame) })
    }
}

fn number(frame: &Frame<'_>) -> Option<u64> {
    let counted = match frame.number {
        Number::OfState(Numbers { state, sequence }) => {
            Some(u64::from(state) << 32 | u64::from(sequence))
        }
        Number::Counter(_, number) => Some(number.into()),
        Number::Index(_) => None,
    };
    let hash = FixedState::with_seed(0);
    match frame.detail {
        Detail::None => counted,
        Detail::EtherCat(pdu) => Some(hash.hash_one(pdu.contents)),
        Detail::Ptp(pdu) => {
            Some(hash.hash_one((pdu.sequence, pdu.major_sdo, pdu.minor_sdo, pdu.requesting)))
        }
        Detail::CipIo(pdu) => pdu.sequence.map(u64::from),
        Detail::Sent(Sending { stamp: Some(stamp), .. }) => {
            Some(stamp.nanos << NUMBER_BITS | counted.unwrap_or(0))
        }
        // Clients of a host count their own sessions.
        Detail::Sent(Sending { part: Some(part), .. }) if frame.protocol == Protocol::SomeIp => {
            counted.map(|_| u64::from(part.key().number))
        }
        Detail::Sent(_) => counted,
    }
}

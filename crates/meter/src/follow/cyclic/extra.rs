//! Measures of streams that only some protocols have.

use super::cip_io::Counts;
use super::clock::{Clock, SenderClock};
use super::ethercat::WorkingCounters;
use super::redundancy::{Pairing, Pairs};
use super::retransmission::Retransmissions;
use crate::measure::{Distribution, Summary};
use wire::ptp::Announce;

/// Measures that only some protocols have, since measuring began.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Extra {
    /// Answers: EtherCAT frames that came back, requests of PTP that were answered; none of other
    /// protocols.
    pub answers: Option<Answers>,
    /// EtherCAT frames that came back with a working counter too low.
    pub low_working_counters: u64,
    /// Sender's clock against the tap's; none of frames without a time.
    pub clock: Option<SenderClock>,
    /// Corrections of Sync and its Follow_Up: times that bridges held the message, and of 802.1AS the
    /// delays of links; negative ones count as zero. None of other messages.
    pub corrections: Option<Summary>,
    /// Delays of the link to the peer, from Pdelay_Req to Pdelay_Resp at the tap less the time that the
    /// peer states, by two; negative ones count as zero. None without answers.
    pub peer_delays: Option<Summary>,
    /// Last Announce of the stream.
    pub announce: Option<Announce>,
    /// Times that an Announce of the stream brought another grandmaster to its domain.
    pub grandmaster_changes: u64,
    /// Frames with the data of the frame before: the producer stands still.
    pub stalled: u64,
    /// Intervals of GOOSE and the changes of its state; none of other protocols.
    pub retransmissions: Option<Retransmissions>,
    /// Pairs of frames of PRP or HSR; none of other protocols.
    pub redundancy: Option<Pairs>,
}

/// Answers to the frames of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Answers {
    /// Times from a frame to its answer, at the tap.
    pub round_trips: Summary,
    /// Frames without an answer; those that may still be answered are not among them.
    pub lost: u64,
}

/// Measures in the making.
#[derive(Clone, Default, Debug)]
pub(super) struct Making {
    pub(super) round_trips: Option<Box<Distribution>>,
    pub(super) lost: u64,
    pub(super) working_counters: WorkingCounters,
    pub(super) low_working_counters: u64,
    pub(super) clock: Clock,
    pub(super) corrections: Option<Box<Distribution>>,
    pub(super) peer_delays: Option<Box<Distribution>>,
    pub(super) announce: Option<Announce>,
    pub(super) grandmaster_changes: u64,
    pub(super) stalled: u64,
    pub(super) pairing: Pairing,
    pub(super) counts: Counts,
}

impl Making {
    pub(super) fn report(&self) -> Extra {
        let summary = |of: &Option<Box<Distribution>>| of.as_deref().map(Distribution::summary);
        let round_trips = summary(&self.round_trips);
        let has_answers = round_trips.is_some() || self.lost > 0;
        let answers = Answers { round_trips: round_trips.unwrap_or_default(), lost: self.lost };
        Extra {
            answers: has_answers.then_some(answers),
            low_working_counters: self.low_working_counters,
            clock: self.clock.report(),
            corrections: summary(&self.corrections),
            peer_delays: summary(&self.peer_delays),
            announce: self.announce,
            grandmaster_changes: self.grandmaster_changes,
            stalled: self.stalled,
            retransmissions: None,
            redundancy: self.pairing.report(),
        }
    }
}

/// Adds a value to a distribution, which begins with it if there is room.
pub(super) fn record(of: &mut Option<Box<Distribution>>, nanos: u64, has_room: bool) {
    if of.is_none() && has_room {
        *of = Some(Box::default());
    }
    if let Some(of) = of {
        of.record_nanos(nanos);
    }
}

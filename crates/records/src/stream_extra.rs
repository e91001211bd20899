//! Measures of streams that only some protocols have: their fields in the record of a stream.

use meter::{Answers, Extra, SenderClock};
use serde::{Deserialize, Serialize};

/// Measures that only some protocols have; null of the others, and in older streams.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamExtra {
    /// Frames with an answer: those of EtherCAT that came back, requests of PTP and POWERLINK, and
    /// responses of CC-Link.
    pub answered: Option<u64>,
    /// Frames without one: of EtherCAT they are the missing ones.
    pub unanswered: Option<u64>,
    /// Median time from a frame to its answer, at the tap.
    pub round_trip_p50_ns: Option<u64>,
    /// 99th percentile of it.
    pub round_trip_p99_ns: Option<u64>,
    /// The most.
    pub round_trip_max_ns: Option<u64>,
    /// EtherCAT frames that came back with a working counter too low.
    pub low_working_counters: u64,
    /// Frames with the time of their sender.
    pub stamps: Option<u64>,
    /// 99th percentile of what frames took longer to the tap than the ones before, by their senders'
    /// times; null without distributions, as the next ones.
    pub transit_late_p99_ns: Option<u64>,
    /// The most.
    pub transit_late_max_ns: Option<u64>,
    /// 99th percentile of what they took shorter.
    pub transit_early_p99_ns: Option<u64>,
    /// The most.
    pub transit_early_max_ns: Option<u64>,
    /// Gain of the sender's clock over the tap's, in parts in 10⁹; null before 16 stamps.
    pub drift_ppb: Option<i64>,
    /// Times that one of the clocks was set.
    pub clock_steps: Option<u64>,
    /// 99th percentile of the corrections of Sync: times in bridges.
    pub correction_p99_ns: Option<u64>,
    /// The greatest correction.
    pub correction_max_ns: Option<u64>,
    /// Median delay of the link from the tap to the peer.
    pub peer_delay_p50_ns: Option<u64>,
    /// The most.
    pub peer_delay_max_ns: Option<u64>,
    /// Identity of the grandmaster in the last Announce.
    pub grandmaster: Option<String>,
    /// Its clockClass.
    pub clock_class: Option<u8>,
    /// Boundary clocks from it to the sender of Announce.
    pub steps_removed: Option<u16>,
    /// Times that an Announce of the stream brought another grandmaster to its domain.
    pub grandmaster_changes: u64,
    /// Frames with the data of the frame before: the producer stands still.
    pub stalled: u64,
    /// Frames of PRP or HSR on LAN A, or in one direction of a ring.
    pub on_a: Option<u64>,
    /// Frames on LAN B, or in the other direction.
    pub on_b: Option<u64>,
    /// Frames that came on A only, of those whose time for a partner ran out.
    pub lone_a: Option<u64>,
    /// Frames that came on B only.
    pub lone_b: Option<u64>,
    /// Frames that came again on the same LAN or in the same direction, which are not followed.
    pub again_on_one: Option<u64>,
    /// Pairs of which the frame on A came first.
    pub a_first: Option<u64>,
    /// Median time between the frames of a pair.
    pub skew_p50_ns: Option<u64>,
    /// 99th percentile of it.
    pub skew_p99_ns: Option<u64>,
    /// The most.
    pub skew_max_ns: Option<u64>,
}

impl StreamExtra {
    /// Frames that came on one LAN only; none if the tap sees only one of the two.
    pub fn lone(&self) -> u64 {
        let sees_both = self.on_a.unwrap_or(0) > 0 && self.on_b.unwrap_or(0) > 0;
        let lone = [self.lone_a, self.lone_b].map(Option::unwrap_or_default);
        if sees_both { crate::sum(lone) } else { 0 }
    }

    /// Converts a report of the meter.
    pub(crate) fn of(extra: &Extra) -> Self {
        let answers = extra.answers.as_ref();
        let round_trips = answers.map(|of: &Answers| of.round_trips).filter(|of| of.count > 0);
        let clock = extra.clock.as_ref();
        let transit = clock.and_then(|of: &SenderClock| of.transit);
        let pairs = extra.redundancy.as_ref();
        let skews = pairs.map(|of| of.skews).filter(|of| of.count > 0);
        let announce = extra.announce.as_ref();
        Self {
            answered: answers.map(|of| of.round_trips.count),
            unanswered: answers.map(|of| of.lost),
            round_trip_p50_ns: round_trips.map(|of| of.p50_ns),
            round_trip_p99_ns: round_trips.map(|of| of.p99_ns),
            round_trip_max_ns: round_trips.map(|of| of.max_ns),
            low_working_counters: extra.low_working_counters,
            stamps: clock.map(|of| of.stamps),
            transit_late_p99_ns: transit.map(|of| of.late.p99_ns),
            transit_late_max_ns: transit.map(|of| of.late.max_ns),
            transit_early_p99_ns: transit.map(|of| of.early.p99_ns),
            transit_early_max_ns: transit.map(|of| of.early.max_ns),
            drift_ppb: clock.and_then(|of| of.drift_ppb),
            clock_steps: clock.map(|of| of.steps),
            correction_p99_ns: extra.corrections.map(|of| of.p99_ns),
            correction_max_ns: extra.corrections.map(|of| of.max_ns),
            peer_delay_p50_ns: extra.peer_delays.map(|of| of.p50_ns),
            peer_delay_max_ns: extra.peer_delays.map(|of| of.max_ns),
            grandmaster: announce.map(|of| of.grandmaster.to_string()),
            clock_class: announce.map(|of| of.class),
            steps_removed: announce.map(|of| of.steps_removed),
            grandmaster_changes: extra.grandmaster_changes,
            stalled: extra.stalled,
            on_a: pairs.map(|of| of.on_a),
            on_b: pairs.map(|of| of.on_b),
            lone_a: pairs.map(|of| of.lone_a),
            lone_b: pairs.map(|of| of.lone_b),
            again_on_one: pairs.map(|of| of.repeated),
            a_first: pairs.map(|of| of.a_first),
            skew_p50_ns: skews.map(|of| of.p50_ns),
            skew_p99_ns: skews.map(|of| of.p99_ns),
            skew_max_ns: skews.map(|of| of.max_ns),
        }
    }
}

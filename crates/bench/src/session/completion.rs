//! Completion of flows with the counts of a peer.

use crate::sample::FlowSample;
use core::time::Duration;
use wire::control::Counts;

/// Marks arrivals as unknown: no message counts as lost, nor as late unless it was answered.
pub(super) fn not_known(flow: &mut FlowSample) {
    flow.lost = 0;
    flow.acknowledged_and_lost = 0;
    if flow.response.count == 0 {
        flow.missed = None;
    }
}

/// Fills in a single flow from the peer's counts. If the peer did not report each message, its
/// counts include all messages ever sent, warm-up included, and so does the sample.
pub(super) fn of_single(
    flow: &mut FlowSample,
    peer: Counts,
    all_sent: Option<u64>,
    took: Duration,
) {
    flow.damaged += peer.damaged;
    if let Some(sent) = all_sent {
        not_known(flow);
        flow.sent = sent;
        flow.delivered = peer.delivered;
        flow.lost = flow.sent.saturating_sub(peer.delivered);
        flow.acknowledged_and_lost = flow.acknowledged.saturating_sub(peer.delivered);
        flow.duplicated = peer.duplicates;
        flow.delivered_octets = peer.octets;
    }
    if flow.throughput_bits_per_second.is_none() && took > Duration::ZERO {
        flow.throughput_bits_per_second = Some(peer.octets as f64 * 8.0 / took.as_secs_f64());
    }
}

//! Context passed to a connection with every call.

use super::output_queue::{OutputQueue, TimedData};
use super::params::Params;
use super::service::Note;
use super::transmit_handle::AwaitedTpdu;
use crate::transport::service::{Address, Counters, Endpoint, Indication};
use bytes::Bytes;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, ShortHeader};

/// Current time and state shared by all connections of an entity.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) params: &'a Params,
    pub(super) outputs: &'a mut OutputQueue,
    pub(super) counters: &'a mut Counters,
}

impl Context<'_> {
    pub(super) fn deliver(&mut self, indication: Indication) {
        self.outputs.deliver(indication);
    }

    pub(super) fn note(&mut self, note: Note) {
        self.outputs.note(note);
    }

    /// Sends a TPDU; it joins the NSDU of the one before if this is permitted and configured.
    pub(super) fn send(&mut self, peer: Address, kind: Kind, packet: Packet) {
        self.outputs.send(peer, packet);
        self.sent(kind);
    }

    /// Sends a short AK, which has no timer.
    pub(super) fn send_ak(&mut self, peer: Address, header: ShortHeader) {
        self.outputs.send_short(peer, header, None, Bytes::new());
        self.sent(Kind::Ak);
    }

    /// Sends a DT, whose timer waits for its transmission.
    #[inline(always)]
    pub(super) fn send_dt(
        &mut self,
        peer: Address,
        endpoint: Endpoint,
        number: u32,
        header: ShortHeader,
        data: Bytes,
    ) {
        let timed = TimedData::new(endpoint.slot, number);
        self.outputs.send_short(peer, header, timed, data);
        if self.sent(Kind::Dt) {
            self.outputs.wait_for_last(endpoint.slot, AwaitedTpdu::Data(number));
        }
    }

    /// Lets a timer wait for the transmission of the last TPDU.
    pub(super) fn wait_for_last(&mut self, endpoint: Endpoint, timed: AwaitedTpdu) {
        self.outputs.wait_for_last(endpoint.slot, timed);
    }

    /// Counts the last TPDU, and joins it to the one before if possible; returns true if it was
    /// joined.
    #[inline(always)]
    fn sent(&mut self, kind: Kind) -> bool {
        self.counters.sent[kind as usize] += 1;
        let joined = self.params.concatenate && self.outputs.join_last(self.params.nsdu_octets);
        self.counters.concatenated += u64::from(joined);
        joined
    }
}

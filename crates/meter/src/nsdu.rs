//! TPDUs of an NSDU: each goes to its connection and its measures.

use crate::follow::Follower;
use crate::oddity::Class;
use crate::stream::Streams;
use crate::track::{Discarded, Known, Nsdu, Passage, Sink, Tracker};
use wire::time::Instant;
use wire::tp;

impl Follower<Sink<'_>> for Tracker {
    type Input<'a> = Nsdu<'a>;
    type Below = Streams;
    type Report = Known;

    fn observe(&mut self, at: Instant, nsdu: Nsdu<'_>, sink: &mut Sink<'_>) {
        tpdus(self, at, nsdu, sink);
    }

    fn expire(&mut self, at: Instant, sink: &mut Sink<'_>) {
        self.give_up_silent(at, sink);
    }

    fn report(&self, now: Instant, streams: &Streams) -> impl Iterator<Item = Known> {
        self.known(now, |ends| streams.carried(ends))
    }
}

/// Counts the TPDUs of an NSDU.
fn tpdus(tracker: &mut Tracker, at: Instant, nsdu: Nsdu<'_>, sink: &mut Sink<'_>) {
    let Nsdu { from, to, octets, missing_octets, is_cut } = nsdu;
    let passage = Passage { at, from, to };
    // Missing octets belong to the last TPDU, if it may reach to the end of the NSDU.
    let mut unaccounted_octets = missing_octets;
    for raw in tp::tpdus(octets) {
        let raw = match raw {
            Ok(raw) => raw,
            Err(_) if missing_octets > 0 => break,
            Err(complaint) => {
                sink.oddities.count(Class::Malformed, complaint.field);
                break;
            }
        };
        let missing = if raw.kind.may_carry_data() { unaccounted_octets } else { 0 };
        unaccounted_octets -= missing;
        match tracker.tpdu(passage, &raw, missing, sink) {
            Ok(()) => {}
            Err(Discarded::Malformed(complaint)) => {
                sink.oddities.count(Class::Malformed, complaint.field);
            }
            Err(Discarded::BadChecksum) => sink.oddities.count(Class::Transport, "bad checksum"),
        }
    }
    if is_cut && missing_octets > 0 {
        let is_header = unaccounted_octets > 0;
        let what = if is_header { "TPDU header" } else { "user data" };
        sink.oddities.add(Class::Truncated, what, u64::from(is_header || sink.has_data));
    }
}

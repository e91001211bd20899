//! TPDUs of an NSDU: each goes to its connection and its measures.

use crate::oddity::Class;
use crate::track::{Discarded, Passage, Sink, Tracker};
use wire::tp;

/// Counts the TPDUs of an NSDU that begins with `octets`. `missing_octets` more follow that are not
/// available; `is_cut` is true if the capture cut them.
pub(crate) fn observe(
    tracker: &mut Tracker,
    passage: Passage,
    octets: &[u8],
    missing_octets: usize,
    is_cut: bool,
    sink: &mut Sink<'_>,
) {
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
        match tracker.observe(passage, &raw, missing, sink) {
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

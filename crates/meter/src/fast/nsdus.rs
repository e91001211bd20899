//! Fast path: one DT or AK in an NSDU of any network layer, on any link.
//!
//! The layers below are dissected; the TPDU then takes the path of a common frame. Sides are cached
//! by a hash of the addresses and DST-REF, and the addresses are compared with those of the
//! connection that was found.

use super::Handled;
use super::cache::{Name, Slot};
use super::sides::{SideKey, Way};
use super::tpdu::CommonTpdu;
use crate::Meter;
use crate::host::Address;
use crate::interval::Intervals;
use crate::track::Tracker;
use crate::track::side::other;
use crate::track::table::Party;
use core::hash::BuildHasher as _;
use foldhash::fast::FixedState;
use wire::dissect::{Levels, Link, Nsdu, levels};
use wire::llc::Control;
use wire::time::Instant;
use wire::tp::Reference;

/// Flag in the second word of a name; no name of another kind has it alone.
const HASHED: u64 = 1 << 61;
const STATE: FixedState = FixedState::with_seed(0x8473);

/// Cache name of the receiver of an NSDU. Another receiver may have the same.
fn name(nsdu: &Nsdu<'_>, reference: Reference) -> Name {
    let Nsdu { source, destination, source_nsap, destination_nsap, .. } = nsdu;
    let back = HASHED | u64::from(reference.0);
    [STATE.hash_one((source, destination, source_nsap, destination_nsap)), back]
}

impl Meter {
    /// Dissects a frame, and counts it as a common one if it holds one DT or AK.
    #[inline(never)]
    pub(super) fn other_datagram(
        &mut self,
        at: Instant,
        link: Link,
        octets: &[u8],
        original_octets: usize,
    ) {
        let levels = levels(link, octets, original_octets);
        if self.common_nsdu(at, &levels) == Handled::No {
            self.dissected(at, link, octets, &levels);
        }
    }

    /// Counts a dissected frame with one DT or AK in a UI of LLC.
    pub(super) fn common_nsdu(&mut self, at: Instant, levels: &Levels<'_>) -> Handled {
        let Levels { lpdu_octets, npdu_octets, llc: Some(Control::Ui), nsdu: Ok(nsdu) } = levels
        else {
            return Handled::No;
        };
        let (Some(lpdu_octets), Some(npdu_octets), None) =
            (*lpdu_octets, *npdu_octets, nsdu.segment)
        else {
            return Handled::No;
        };
        let Some(tpdu) = CommonTpdu::in_nsdu(nsdu.octets, nsdu.missing_octets) else {
            return Handled::No;
        };
        if !self.tracker.common_nsdu(at, nsdu, &tpdu, &mut self.intervals) {
            return Handled::No;
        }
        let is_cut = tpdu.is_cut() && self.intervals.has_data();
        let before_npdu = lpdu_octets - npdu_octets;
        self.intervals.frames().datagram(before_npdu as u64, lpdu_octets as u64, is_cut);
        Handled::Yes
    }
}

impl Tracker {
    /// Counts the TPDU of an NSDU; returns false, without effect, if it must be dissected.
    fn common_nsdu(
        &mut self,
        at: Instant,
        nsdu: &Nsdu<'_>,
        tpdu: &CommonTpdu<'_>,
        results: &mut Intervals,
    ) -> bool {
        let reference = tpdu.reference();
        self.give_up_silent(at, &mut results.sink());
        let party = |mac, nsap| Party { address: Address::Station { mac, nsap }, port: 0 };
        let parties =
            [party(nsdu.destination, nsdu.destination_nsap), party(nsdu.source, nsdu.source_nsap)];
        let name = name(nsdu, reference);
        let known =
            self.recent.find(name).filter(|(_, key)| self.is_side(*key, reference, &parties));
        let found = known.or_else(|| self.cache_side_of(name, reference, parties, results));
        found.is_some_and(|(slot, key)| self.common_tpdu(at, slot, key, tpdu, results))
    }

    /// True if a side exists, and is that of a receiver, with its sender.
    fn is_side(&self, key: SideKey, reference: Reference, parties: &[Party; 2]) -> bool {
        let SideKey { connection, side, .. } = key;
        if !self.table.slab.is_valid(connection) {
            return false;
        }
        let Some(known) = self.table.slab.get(connection.place()) else { return false };
        let ends = [side, other(side)].map(|side| known.senders[side].end().host);
        let mut ends = ends.into_iter().zip(parties);
        known.senders[side].reference == reference
            && ends.all(|(host, party)| *self.hosts.address(host) == party.address)
    }

    /// Looks up a side and caches it under a name.
    #[cold]
    pub(super) fn cache_side_of(
        &mut self,
        name: Name,
        reference: Reference,
        parties: [Party; 2],
        results: &mut Intervals,
    ) -> Option<(Slot, SideKey)> {
        let key = self.look_up(reference, parties)?;
        let slot = self.cache_way(name, Way::NONE, results);
        self.cache_side(slot, key, results);
        Some((slot, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use core::time::Duration;
    use wire::addr::{Mac, Nsap};

    #[test]
    fn a_name_that_two_sides_share_finds_neither_by_mistake() {
        let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
        // CR of reference 7 from station 1 to station 2, then its CC with reference 9.
        for (to, from, tpdu) in
            [(2, 1, [6, 0xE0, 0, 0, 0, 7, 0x40]), (1, 2, [6, 0xD0, 0, 7, 0, 9, 0x40])]
        {
            let macs = [Mac::local(to).0, Mac::local(from).0].concat();
            let frame = [&macs[..], &[0, 11, 0xFE, 0xFE, 3, 0], &tpdu].concat();
            meter.observe(Instant::ZERO, Link::Ethernet, &frame, frame.len());
        }
        let party = |n| {
            let address = Address::Station { mac: Mac::local(n), nsap: Nsap::default() };
            Party { address, port: 0 }
        };
        let known = meter.tracker.look_up(Reference(9), [party(2), party(1)]).expect("it is open");
        let is_it = |reference, owner, peer| {
            meter.tracker.is_side(known, Reference(reference), &[party(owner), party(peer)])
        };
        assert!(is_it(9, 2, 1));
        assert_eq!([is_it(8, 2, 1), is_it(9, 3, 1), is_it(9, 2, 3), is_it(9, 1, 2)], [false; 4]);
    }
}

//! Transport PDUs by kind: number, octets, retransmissions.
//!
//! Definition: a TPDU is a header and optional user data. Data octets sent for the first time are
//! *information*; headers and retransmitted data are *overhead*. A DT is a retransmission if its
//! number was seen before on its direction of its connection; an AK if it acknowledges no new data
//! and leaves the credit unchanged; a CR or CC if its references were seen in the same role; a DR
//! or DC if its sender sent one before; an ED or EA by its number.
//! Bias: a retransmission looks original if the first TPDU was lost before the tap. TPDUs with a
//! bad checksum count at the link and network level only. RJ and ER always count as original, and
//! so do TPDUs that belong to no known connection. A capture that holds every frame twice, as
//! mirrored ports may cause, makes every second TPDU a retransmission. Over TCP it does not: there
//! a TPDU counts once, however often TCP carried it.

use super::Sums;
use crate::observation::Tpdu;
use wire::tp::Kind;

counters! {
    /// Volume of TPDUs of a kind, a host or a direction.
    pub struct Volume {
        /// Number of TPDUs.
        pub tpdus,
        /// Octets of their headers.
        pub header_octets,
        /// Octets of their user data.
        pub data_octets,
        /// Octets of user data sent for the first time.
        pub information_octets,
        /// Retransmissions.
        pub retransmissions,
    }
}

impl Volume {
    /// Counts a TPDU.
    pub const fn observe(&mut self, tpdu: &Tpdu) {
        self.tpdus += 1;
        self.header_octets += tpdu.header_octets;
        self.data_octets += tpdu.data_octets;
        if tpdu.retransmitted {
            self.retransmissions += 1;
        } else {
            self.information_octets += tpdu.data_octets;
        }
    }

    /// Octets of headers and of user data.
    #[must_use]
    pub const fn total_octets(&self) -> u64 {
        self.header_octets + self.data_octets
    }

    /// Octets of headers and of retransmitted user data.
    #[must_use]
    pub const fn overhead_octets(&self) -> u64 {
        self.total_octets() - self.information_octets
    }

    /// TPDUs that are no retransmissions.
    #[must_use]
    pub const fn originals(&self) -> u64 {
        self.tpdus - self.retransmissions
    }
}

/// TPDUs by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transport {
    /// Volumes in the order of [`Kind::ALL`].
    by_kind: [Volume; Kind::ALL.len()],
}

impl Transport {
    /// Counts from the volumes of all kinds, in the order of [`Kind::ALL`].
    #[must_use]
    pub const fn of_volumes(by_kind: [Volume; Kind::ALL.len()]) -> Self {
        Self { by_kind }
    }

    /// Volume of this kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Volume {
        &self.by_kind[kind as usize]
    }

    /// Kinds with their volumes, in the order of the standard's table.
    pub fn by_kind(&self) -> impl Iterator<Item = (Kind, &Volume)> {
        Kind::ALL.into_iter().zip(&self.by_kind)
    }

    /// Volume of all TPDUs.
    #[must_use]
    pub fn all(&self) -> Volume {
        let mut all = Volume::default();
        self.by_kind.iter().for_each(|volume| all.add(volume));
        all
    }

    /// Ends a time that began with these counts: they become those in it. `now` is their later state.
    pub(super) fn end(&mut self, now: &Self) {
        self.by_kind.iter_mut().zip(&now.by_kind).for_each(|(volume, now)| volume.end(now));
    }

    /// Counts a TPDU.
    pub(super) const fn tpdu(&mut self, tpdu: &Tpdu) {
        self.by_kind[tpdu.kind as usize].observe(tpdu);
    }

    /// Counts a batch of TPDUs.
    #[inline]
    pub(super) const fn batch(&mut self, batch: &Sums) {
        let kind = if batch.is_data { Kind::Dt } else { Kind::Ak };
        let volume = &mut self.by_kind[kind as usize];
        volume.tpdus += batch.tpdus;
        volume.header_octets += batch.header_octets;
        volume.data_octets += batch.data_octets;
        volume.retransmissions += batch.again;
        if batch.again == 0 {
            volume.information_octets += batch.data_octets;
        }
    }

    /// Volumes of DTs and AKs.
    #[must_use]
    pub const fn data_and_acknowledgements(&self) -> [&Volume; 2] {
        [self.of(Kind::Dt), self.of(Kind::Ak)]
    }
}

impl Transport {
    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        self.by_kind.iter_mut().zip(&other.by_kind).for_each(|(volume, more)| volume.add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_the_order_of_their_list() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{kind}");
        }
    }

    #[test]
    fn information_and_overhead_add_up_to_header_and_data() {
        let tpdu = |retransmitted| Tpdu { retransmitted, ..Tpdu::plain(Kind::Dt, 9, 100) };
        let mut volume = Volume::default();
        volume.observe(&tpdu(false));
        volume.observe(&tpdu(true));
        assert_eq!((volume.information_octets, volume.overhead_octets()), (100, 118));
        assert_eq!((volume.header_octets, volume.data_octets), (18, 200));
        assert_eq!(volume.total_octets(), 218);
    }
}

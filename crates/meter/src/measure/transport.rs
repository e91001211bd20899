//! Transport PDUs by kind: how many, how long, how often again.
//!
//! Definition: a TPDU is a header and, perhaps, user data. Data octets sent for the first time are
//! *information*; headers and data sent again are *overhead*. A DT was sent before if its number
//! was seen on its direction of its connection; an AK if it acknowledges no new data and leaves
//! credit as it was; a CR or CC if its references were seen in the same part; a DR or DC if its
//! sender sent one before; an ED or EA by its number.
//! Bias: a TPDU lost before it reached this point of the network and sent again looks original.
//! TPDUs with a bad checksum count at the link and network level only. RJ and ER always count as
//! original, and so do TPDUs that belong to no connection that is known. A capture that holds every
//! frame twice, as mirrored ports may, makes every second TPDU a retransmission, but not over TCP:
//! there a TPDU counts once, however often TCP carried it.

use super::{Alike, Measure, Sort, Values};
use crate::sight::{Sight, Tpdu};
use wire::tp::Kind;

/// TPDUs of some sort: of a kind, a host, a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Volume {
    /// How many.
    pub tpdus: u64,
    /// Octets of their headers.
    pub header_octets: u64,
    /// Octets of their user data.
    pub data_octets: u64,
    /// Octets of user data sent for the first time.
    pub information_octets: u64,
    /// How many had been sent before.
    pub retransmissions: u64,
}

impl Volume {
    /// Takes notice of a TPDU.
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

    /// Adds what was counted elsewhere.
    pub const fn add(&mut self, other: &Self) {
        self.tpdus += other.tpdus;
        self.header_octets += other.header_octets;
        self.data_octets += other.data_octets;
        self.information_octets += other.information_octets;
        self.retransmissions += other.retransmissions;
    }

    /// What was counted since an earlier count of the same.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            tpdus: self.tpdus - earlier.tpdus,
            header_octets: self.header_octets - earlier.header_octets,
            data_octets: self.data_octets - earlier.data_octets,
            information_octets: self.information_octets - earlier.information_octets,
            retransmissions: self.retransmissions - earlier.retransmissions,
        }
    }

    /// Octets of headers and of user data.
    #[must_use]
    pub const fn total_octets(&self) -> u64 {
        self.header_octets + self.data_octets
    }

    /// Octets of headers and of user data sent again.
    #[must_use]
    pub const fn overhead_octets(&self) -> u64 {
        self.total_octets() - self.information_octets
    }

    /// How many had not been sent before.
    #[must_use]
    pub const fn originals(&self) -> u64 {
        self.tpdus - self.retransmissions
    }
}

/// TPDUs by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transport {
    /// In the order of [`Kind::ALL`].
    by_kind: [Volume; Kind::ALL.len()],
}

impl Transport {
    /// What is counted of each kind, in the order of [`Kind::ALL`].
    #[must_use]
    pub const fn of_volumes(by_kind: [Volume; Kind::ALL.len()]) -> Self {
        Self { by_kind }
    }

    /// The TPDUs of this kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Volume {
        &self.by_kind[kind as usize]
    }

    /// Each kind with its TPDUs, in the order of the standard's table.
    pub fn by_kind(&self) -> impl Iterator<Item = (Kind, &Volume)> {
        Kind::ALL.into_iter().zip(&self.by_kind)
    }

    /// All TPDUs.
    #[must_use]
    pub fn all(&self) -> Volume {
        let mut all = Volume::default();
        self.by_kind.iter().for_each(|volume| all.add(volume));
        all
    }

    /// What was counted since an earlier count of the same.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let each = core::array::from_fn(|kind| self.by_kind[kind].since(&earlier.by_kind[kind]));
        Self { by_kind: each }
    }

    /// Takes notice of a TPDU.
    pub(super) const fn tpdu(&mut self, tpdu: &Tpdu) {
        self.by_kind[tpdu.kind as usize].observe(tpdu);
    }

    /// Takes notice of TPDUs of one sort.
    pub(super) const fn alike(&mut self, sort: Sort, alike: &Alike) {
        let volume = &mut self.by_kind[sort.kind() as usize];
        volume.tpdus += alike.tpdus as u64;
        volume.header_octets += alike.header_octets;
        volume.data_octets += alike.data_octets;
        volume.information_octets += alike.data_octets;
    }

    /// DTs and AKs.
    #[must_use]
    pub const fn data_and_acknowledgements(&self) -> [&Volume; 2] {
        [self.of(Kind::Dt), self.of(Kind::Ak)]
    }
}

impl Measure for Transport {
    fn observe(&mut self, sight: &Sight) {
        if let Sight::Tpdu(tpdu) = sight {
            self.tpdu(tpdu);
        }
    }

    fn add(&mut self, other: &Self) {
        self.by_kind.iter_mut().zip(&other.by_kind).for_each(|(volume, more)| volume.add(more));
    }

    fn values(&self) -> Values {
        self.by_kind()
            .flat_map(|(kind, volume)| named(kind, volume))
            .map(|(name, value)| (name.into(), value))
            .collect()
    }
}

/// The values of one kind under their names.
const fn named(kind: Kind, volume: &Volume) -> [(&'static str, u64); 5] {
    let names = names(kind);
    [
        (names[0], volume.tpdus),
        (names[1], volume.header_octets),
        (names[2], volume.data_octets),
        (names[3], volume.information_octets),
        (names[4], volume.retransmissions),
    ]
}

#[rustfmt::skip]
const fn names(kind: Kind) -> [&'static str; 5] {
    match kind {
        Kind::Cr => [
            "cr_tpdus", "cr_header_octets", "cr_data_octets", "cr_information_octets",
            "cr_retransmissions",
        ],
        Kind::Cc => [
            "cc_tpdus", "cc_header_octets", "cc_data_octets", "cc_information_octets",
            "cc_retransmissions",
        ],
        Kind::Dr => [
            "dr_tpdus", "dr_header_octets", "dr_data_octets", "dr_information_octets",
            "dr_retransmissions",
        ],
        Kind::Dc => [
            "dc_tpdus", "dc_header_octets", "dc_data_octets", "dc_information_octets",
            "dc_retransmissions",
        ],
        Kind::Dt => [
            "dt_tpdus", "dt_header_octets", "dt_data_octets", "dt_information_octets",
            "dt_retransmissions",
        ],
        Kind::Ed => [
            "ed_tpdus", "ed_header_octets", "ed_data_octets", "ed_information_octets",
            "ed_retransmissions",
        ],
        Kind::Ak => [
            "ak_tpdus", "ak_header_octets", "ak_data_octets", "ak_information_octets",
            "ak_retransmissions",
        ],
        Kind::Ea => [
            "ea_tpdus", "ea_header_octets", "ea_data_octets", "ea_information_octets",
            "ea_retransmissions",
        ],
        Kind::Rj => [
            "rj_tpdus", "rj_header_octets", "rj_data_octets", "rj_information_octets",
            "rj_retransmissions",
        ],
        Kind::Er => [
            "er_tpdus", "er_header_octets", "er_data_octets", "er_information_octets",
            "er_retransmissions",
        ],
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
    fn information_and_overhead_make_up_the_same_total_as_header_and_data() {
        let tpdu = |retransmitted| Tpdu { retransmitted, ..Tpdu::plain(Kind::Dt, 9, 100) };
        let mut volume = Volume::default();
        volume.observe(&tpdu(false));
        volume.observe(&tpdu(true));
        assert_eq!((volume.information_octets, volume.overhead_octets()), (100, 118));
        assert_eq!((volume.header_octets, volume.data_octets), (18, 200));
        assert_eq!(volume.total_octets(), 218);
    }
}

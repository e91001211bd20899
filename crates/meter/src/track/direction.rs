//! What one side of a connection sent, spelled out for whoever asks.

use crate::measure::{Measure as _, Peak, Sizes, Summary, Transport, Volume, Waits};
use wire::time::Instant;
use wire::tp::Kind;

/// Where the numbers of a direction stand: counted on without wrapping, so that they can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// One past the highest DT seen.
    pub sent: u64,
    /// The DT that the peer expects next, as its last AK says; none before the first.
    pub acknowledged: Option<u64>,
    /// One past the last DT that the peer's credit allows; none before the first AK.
    pub allowed: Option<u64>,
}

/// What one side of a connection sent, and how its peer let it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Direction {
    /// TPDUs by kind, in the order of [`Kind::ALL`].
    pub volumes: [Volume; 10],
    /// TSDUs that were seen whole.
    pub tsdus: u64,
    /// Their octets.
    pub tsdu_octets: u64,
    /// Its AKs by role: acknowledging, crediting, confirming, keeping alive.
    pub roles: [u64; 4],
    /// DTs beyond the credit that its peer gave.
    pub into_closed_window: u64,
    /// DTs that carry nothing and end nothing.
    pub empty_parts: u64,
    /// Since when its peer gives no credit; none while it gives some.
    pub closed_since: Option<Instant>,
    /// Where its numbers stand; none in classes without numbers, and before the first.
    pub numbers: Option<Numbers>,
    /// The busiest second of its TPDUs.
    pub peak: Peak,
    /// Its TPDUs, DTs and TSDUs by size.
    pub sizes: Sizes,
    /// How long things took, the longest to the next microsecond; how long its peer gave no credit.
    pub waits: Waits,
    /// Times that its replies took since the connection was seen first.
    pub replied: Summary,
}

impl Direction {
    /// The TPDUs of this kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Volume {
        &self.volumes[kind as usize]
    }

    /// Its TPDUs by kind.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        Transport::of_volumes(self.volumes)
    }

    /// All TPDUs.
    #[must_use]
    pub fn all(&self) -> Volume {
        let mut all = Volume::default();
        self.volumes.iter().for_each(|volume| all.add(volume));
        all
    }

    /// What was counted since an earlier count of the same; its numbers and its window are as they
    /// are now, and the longest times those of the whole.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            volumes: core::array::from_fn(|kind| self.volumes[kind].since(&earlier.volumes[kind])),
            tsdus: self.tsdus - earlier.tsdus,
            tsdu_octets: self.tsdu_octets - earlier.tsdu_octets,
            roles: core::array::from_fn(|role| self.roles[role] - earlier.roles[role]),
            into_closed_window: self.into_closed_window - earlier.into_closed_window,
            empty_parts: self.empty_parts - earlier.empty_parts,
            closed_since: self.closed_since,
            numbers: self.numbers,
            peak: self.peak.since(&earlier.peak),
            sizes: self.sizes.since(&earlier.sizes),
            waits: self.waits.since(&earlier.waits),
            replied: self.replied,
        }
    }

    /// Adds what another direction counted; numbers, windows and percentiles of several are none.
    pub fn add(&mut self, other: &Self) {
        self.volumes.iter_mut().zip(&other.volumes).for_each(|(volume, more)| volume.add(more));
        self.tsdus += other.tsdus;
        self.tsdu_octets += other.tsdu_octets;
        self.roles.iter_mut().zip(&other.roles).for_each(|(role, more)| *role += more);
        self.into_closed_window += other.into_closed_window;
        self.empty_parts += other.empty_parts;
        (self.closed_since, self.numbers, self.replied) = (None, None, Summary::default());
        self.peak.add(&other.peak);
        // Nothing has bounds of its own.
        if self.sizes.classes == Sizes::default().classes {
            self.sizes.bounds_octets = other.sizes.bounds_octets;
        }
        self.sizes.add(&other.sizes);
        self.waits.add(&other.waits);
    }
}

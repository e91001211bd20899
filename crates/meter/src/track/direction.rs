//! Report of what one side of a connection sent.

use crate::measure::{Peak, Sizes, Summary, Transport, Volume, Waits};
use wire::time::Instant;
use wire::tp::Kind;

/// Sequence numbers of a direction, unwrapped, so that they can be plotted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// One past the highest DT seen.
    pub sent: u64,
    /// Next DT that the peer expects, by its last AK; none before the first.
    pub acknowledged: Option<u64>,
    /// One past the last DT that the peer's credit allows; none before the first AK.
    pub allowed: Option<u64>,
}

/// Traffic and flow control of one side of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Direction {
    /// TPDUs by kind, in the order of [`Kind::ALL`].
    pub volumes: [Volume; 10],
    /// TSDUs of which every DT was seen.
    pub tsdus: u64,
    /// Their octets.
    pub tsdu_octets: u64,
    /// AKs by role: acknowledging, crediting, confirming, keeping alive.
    pub roles: [u64; 4],
    /// DTs beyond the credit that its peer granted.
    pub into_closed_window: u64,
    /// DTs without user data and without EOT.
    pub empty_parts: u64,
    /// Time since which its peer grants no credit; none while it grants some.
    pub closed_since: Option<Instant>,
    /// Sequence numbers; none in classes without numbers, and before the first.
    pub numbers: Option<Numbers>,
    /// Busiest second of its TPDUs.
    pub peak: Peak,
    /// Its TPDUs, DTs and TSDUs by size.
    pub sizes: Sizes,
    /// Delays, the maximum rounded up to the next microsecond, and durations of closed windows.
    pub waits: Waits,
    /// Response times of its replies since the connection was first seen.
    pub replied: Summary,
}

impl Direction {
    /// Volume of this kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> &Volume {
        &self.volumes[kind as usize]
    }

    /// Volumes by kind.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        Transport::of_volumes(self.volumes)
    }

    /// Volume of all TPDUs.
    #[must_use]
    pub fn all(&self) -> Volume {
        let mut all = Volume::default();
        self.volumes.iter().for_each(|volume| all.add(volume));
        all
    }

    /// Ends a time that began with these counts: they become those in it, but numbers and window are
    /// those of `now`, the later state of the same direction, and maxima those of the whole.
    pub fn end(&mut self, now: &Self) {
        self.volumes.iter_mut().zip(&now.volumes).for_each(|(volume, now)| volume.end(now));
        self.tsdus = now.tsdus - self.tsdus;
        self.tsdu_octets = now.tsdu_octets - self.tsdu_octets;
        self.roles.iter_mut().zip(&now.roles).for_each(|(role, now)| *role = now - *role);
        self.into_closed_window = now.into_closed_window - self.into_closed_window;
        self.empty_parts = now.empty_parts - self.empty_parts;
        self.peak.end(&now.peak);
        self.sizes.end(&now.sizes);
        self.waits.end(&now.waits);
        let Self { closed_since, numbers, replied, .. } = *now;
        (self.closed_since, self.numbers, self.replied) = (closed_since, numbers, replied);
    }

    /// Adds the counts of another direction; the sum has no numbers, windows or percentiles.
    pub fn add(&mut self, other: &Self) {
        self.volumes.iter_mut().zip(&other.volumes).for_each(|(volume, more)| volume.add(more));
        self.tsdus += other.tsdus;
        self.tsdu_octets += other.tsdu_octets;
        self.roles.iter_mut().zip(&other.roles).for_each(|(role, more)| *role += more);
        self.into_closed_window += other.into_closed_window;
        self.empty_parts += other.empty_parts;
        (self.closed_since, self.numbers, self.replied) = (None, None, Summary::default());
        self.peak.add(&other.peak);
        // An empty direction has no bounds of its own.
        if self.sizes.classes == Sizes::default().classes {
            self.sizes.bounds_octets = other.sizes.bounds_octets;
        }
        self.sizes.add(&other.sizes);
        self.waits.add(&other.waits);
    }
}

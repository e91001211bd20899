//! A publisher as the file declares it.

use meter::{Protocol, StreamReport};
use scl::{Control, Multicast, SampleMode};

/// Nanoseconds of a millisecond.
pub(super) const NANOS_PER_MS: u64 = 1_000_000;
/// Octets of a name that the meter keeps.
const NAME_OCTETS: usize = 129;
/// Longest time between frames of GOOSE where the file has no MaxTime, in milliseconds.
const GOOSE_MS: u64 = 10_000;
/// Time within which Sampled Values must be seen, in milliseconds.
const SAMPLED_MS: u64 = 1_000;

/// Publisher as the file declares it.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) protocol: Protocol,
    pub(super) ied: String,
    /// Reference of the control block.
    pub(super) reference: String,
    /// goID, or svID; empty if the file has none.
    pub(super) id: String,
    /// Reference of the data set.
    pub(super) data_set: Option<String>,
    /// Number of its members; none if the file lacks the data set.
    pub(super) entries: Option<u32>,
    /// confRev; none if the file has none, or 0.
    pub(super) revision: Option<u32>,
    pub(super) address: Option<Multicast>,
    /// MaxTime in milliseconds.
    pub(super) max_ms: Option<u32>,
    /// Samples, and the unit of their rate.
    pub(super) samples: Option<Samples>,
    /// False without an address or a data set: then it does not publish.
    pub(super) is_complete: bool,
}

/// Samples of Sampled Values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Samples {
    pub(super) rate: u32,
    pub(super) mode: SampleMode,
    /// ASDUs in a frame.
    pub(super) asdus: u32,
}

impl Declared {
    pub(super) fn of(publisher: &scl::Publisher<'_>) -> Self {
        let (protocol, id, revision, max_ms, samples) = match publisher.control {
            Control::Goose(of) => (Protocol::Goose, &of.id, of.revision, of.max_ms, None),
            Control::Sampled(of) => {
                let samples = Samples { rate: of.rate, mode: of.mode, asdus: of.asdus };
                (Protocol::SampledValues, &of.id, of.revision, None, Some(samples))
            }
        };
        let entries = publisher.data_set().map(|set| set.members.len());
        Self {
            protocol,
            ied: publisher.ied.name.clone(),
            reference: publisher.reference(),
            id: id.clone(),
            data_set: publisher.data_set_reference(),
            entries: entries.and_then(|entries| u32::try_from(entries).ok()),
            revision: Some(revision).filter(|revision| *revision > 0),
            address: publisher.address(),
            max_ms,
            samples,
            is_complete: publisher.is_complete(),
        }
    }

    /// Name of its stream: gocbRef, or svID. Empty if it is not known.
    pub(super) fn name(&self) -> &[u8] {
        let name = match self.protocol {
            Protocol::SampledValues => &self.id,
            _ => &self.reference,
        };
        cut(name.as_bytes())
    }

    /// True for a stream of its name.
    pub(super) fn has_name_of(&self, seen: &StreamReport) -> bool {
        let name = self.name();
        self.protocol == seen.key.protocol && !name.is_empty() && *name == *seen.key.name
    }

    /// True if the file declares a VLAN or a priority.
    pub(super) fn has_tag(&self) -> bool {
        self.address.is_some_and(|it| it.vlan.is_some() || it.priority.is_some())
    }

    /// Time within which a frame must be seen, in milliseconds.
    pub(super) const fn due_ms(&self) -> u64 {
        match (self.protocol, self.max_ms) {
            (Protocol::SampledValues, _) => SAMPLED_MS,
            (_, Some(max_ms)) => max_ms as u64,
            (_, None) => GOOSE_MS,
        }
    }
}

/// A name as the meter keeps it.
pub(super) fn cut(name: &[u8]) -> &[u8] {
    name.get(..NAME_OCTETS).unwrap_or(name)
}

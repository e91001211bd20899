//! Statistics of frame collection: losses that no measure of the meter can show.

use super::record::{End, Interval};
use serde::{Deserialize, Serialize};
use wire::capture::Statistics;

/// Counts from the begin of measuring until the record was made, summed over all interfaces and captures; of a live port
/// they include frames that wait in the ring, which are in a later interval. A count that no source
/// reports is absent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Collection {
    /// Frames that the interface received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// Frames that passed the kernel's filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
    /// Frames delivered to the capturing program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<u64>,
    /// Frames that the interface dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_by_interface: Option<u64>,
    /// Frames that the kernel dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_by_kernel: Option<u64>,
    /// Number of times the ring between the kernel and the capturing program was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_full: Option<u64>,
}

impl Collection {
    /// Returns the counts; none where there are none.
    pub fn of(counted: &Statistics) -> Option<Self> {
        let collection = Self {
            received: counted.received,
            accepted: counted.accepted,
            delivered: counted.delivered,
            dropped_by_interface: counted.dropped_by_interface,
            dropped_by_kernel: counted.dropped_by_system,
            ring_full: counted.ring_full,
        };
        (collection != Self::default()).then_some(collection)
    }

    /// Describes the losses in words; empty where they are not reported.
    pub fn lost(&self) -> Vec<String> {
        let by_kernel = self.dropped_by_kernel.map(|lost| format!("{lost} dropped by the kernel"));
        let by_interface =
            self.dropped_by_interface.map(|lost| format!("{lost} dropped by the interface"));
        let ring = self.ring_full.filter(|times| *times > 0);
        let ring = ring.map(|times| format!("the ring full {times} times"));
        [by_kernel, by_interface, ring].into_iter().flatten().collect()
    }

    /// Describes the frames received so far in words; empty where they are not reported.
    pub fn came(&self) -> Vec<String> {
        let received = self.received.map(|came| format!("{came} at the interface"));
        let accepted = self.accepted.map(|came| format!("{came} past its filter"));
        let delivered = self.delivered.map(|came| format!("{came} handed over"));
        [received, accepted, delivered].into_iter().flatten().collect()
    }
}

impl Interval {
    /// Returns the statistics of frame collection, as far as the record has them.
    pub fn collected(&self) -> Collection {
        let dropped_by_kernel = self.dropped_by_kernel;
        self.collection.unwrap_or(Collection { dropped_by_kernel, ..Collection::default() })
    }
}

impl End {
    /// Returns the statistics of frame collection, as far as the record has them.
    pub fn collected(&self) -> Collection {
        let dropped_by_kernel = self.dropped_by_kernel;
        self.collection.unwrap_or(Collection { dropped_by_kernel, ..Collection::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_counts_are_absent_no_counts_give_no_collection() {
        assert_eq!(Collection::of(&Statistics::default()), None);
        let counted = Statistics {
            accepted: Some(9),
            dropped_by_system: Some(2),
            ring_full: Some(0),
            ..Statistics::default()
        };
        let told = Collection::of(&counted).unwrap();
        assert_eq!(
            (told.came(), told.lost()),
            (vec!["9 past its filter".to_owned()], vec!["2 dropped by the kernel".to_owned()])
        );
        let json = serde_json::to_string(&told).unwrap();
        assert_eq!(json, r#"{"accepted":9,"dropped_by_kernel":2,"ring_full":0}"#);
    }
}

//! What was counted where frames were collected: losses that no measure of the meter can show.

use serde::{Deserialize, Serialize};
use wire::capture::Statistics;

/// Counts since measuring began, of all interfaces and captures together. Each is told or is not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Collection {
    /// Frames that came to the interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) received: Option<u64>,
    /// Frames that passed the filter of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accepted: Option<u64>,
    /// Frames that reached whoever captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delivered: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dropped_by_interface: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dropped_by_kernel: Option<u64>,
    /// How often the ring between the kernel and whoever captured had no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ring_full: Option<u64>,
}

impl Collection {
    /// What was counted; none where nothing was.
    pub(crate) fn of(counted: &Statistics) -> Option<Self> {
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

    /// What was lost, in words; nothing where that is not told.
    pub(crate) fn lost(&self) -> Vec<String> {
        let by_kernel = self.dropped_by_kernel.map(|lost| format!("{lost} dropped by the kernel"));
        let by_interface =
            self.dropped_by_interface.map(|lost| format!("{lost} dropped by the interface"));
        let ring = self.ring_full.filter(|times| *times > 0);
        let ring = ring.map(|times| format!("the ring full {times} times"));
        [by_kernel, by_interface, ring].into_iter().flatten().collect()
    }

    /// How many came so far, in words; nothing where that is not told.
    pub(crate) fn came(&self) -> Vec<String> {
        let received = self.received.map(|came| format!("{came} at the interface"));
        let accepted = self.accepted.map(|came| format!("{came} past its filter"));
        let delivered = self.delivered.map(|came| format!("{came} handed over"));
        [received, accepted, delivered].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_left_out_and_nothing_told_is_no_collection() {
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

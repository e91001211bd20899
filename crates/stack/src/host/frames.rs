//! Frames of a host waiting for its MAC.

use crate::messaging::Priority;
use crate::station::{Frame, PRIORITIES};
use crate::tp4::TransmitHandle;
use std::collections::VecDeque;

/// Frame for the medium, with the timer that waits for its transmission.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) frame: Frame,
    pub(super) priority: Priority,
    pub(super) handle: Option<TransmitHandle>,
}

/// Frames in the order of their creation.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    queue: VecDeque<Outgoing>,
    /// Number of frames of each priority.
    counts: [usize; PRIORITIES],
}

impl Frames {
    /// Appends a frame.
    pub(super) fn push(&mut self, frame: Frame, priority: Priority) {
        self.counts[usize::from(priority.number())] += 1;
        self.queue.push_back(Outgoing { frame, priority, handle: None });
    }

    /// Number of waiting frames.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Number of waiting frames of at least this priority.
    pub(super) fn as_urgent_as(&self, priority: Priority) -> usize {
        self.counts[usize::from(priority.number())..].iter().sum()
    }

    /// Newest frame.
    pub(super) fn last_mut(&mut self) -> Option<&mut Outgoing> {
        self.queue.back_mut()
    }

    /// Highest priority of the waiting frames; `None` if none waits.
    pub(super) fn highest(&self) -> Option<Priority> {
        let place = self.counts.iter().rposition(|count| *count > 0)?;
        u8::try_from(place).ok().and_then(Priority::new)
    }

    /// Takes the oldest frame.
    pub(super) fn take_first(&mut self) -> Option<Outgoing> {
        self.take(0)
    }

    /// Takes the oldest of the most urgent frames.
    pub(super) fn take_most_urgent(&mut self) -> Option<Outgoing> {
        let highest = self.highest()?;
        let place = self.queue.iter().position(|outgoing| outgoing.priority == highest)?;
        self.take(place)
    }

    fn take(&mut self, place: usize) -> Option<Outgoing> {
        let taken = self.queue.remove(place)?;
        self.counts[usize::from(taken.priority.number())] -= 1;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn the_most_urgent_frame_goes_first_and_equals_in_their_order() {
        let mut frames = Frames::default();
        for (number, priority) in [(1, 0), (2, 5), (3, 0), (4, 7), (5, 5)] {
            let frame = Frame::new(Bytes::from(vec![number; 20]));
            frames.push(frame, Priority::new(priority).unwrap());
        }
        let of = |taken: Option<Outgoing>| taken.map(|it| it.frame.first::<1>().unwrap()[0]);
        assert_eq!(frames.highest(), Some(Priority::HIGHEST));
        let as_urgent = |number| frames.as_urgent_as(Priority::new(number).unwrap());
        assert_eq!([0, 1, 6, 7].map(as_urgent), [5, 3, 1, 1]);
        assert_eq!(of(frames.take_first()), Some(1));
        let rest = std::iter::from_fn(|| of(frames.take_most_urgent()));
        assert_eq!(rest.collect::<Vec<_>>(), [4, 2, 5, 3]);
        assert_eq!((frames.len(), frames.highest()), (0, None));
    }
}

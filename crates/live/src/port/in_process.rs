//! LAN within the process: a hub whose stations are threads.
//!
//! A frame is in the receivers' queues as soon as it is sent. Not modelled: transmission time,
//! collisions, damage.

use super::{Arrival, Counts, Port, PortError, Stamp};
use crate::clock;
use core::time::Duration;
use stack::station::{Frame, Transmission, destination};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Queue of one receiver.
#[derive(Debug)]
struct Queue {
    /// Station address; `None` for a tap, which receives everything.
    addr: Option<Mac>,
    waiting: VecDeque<(Instant, Frame)>,
    overrun: u64,
    is_open: bool,
}

#[derive(Debug)]
struct Shared {
    queues: Mutex<Vec<Queue>>,
    arrived: Condvar,
    capacity: usize,
}

impl Shared {
    /// Locks the queues. A thread that panicked with the lock has not left them half changed.
    fn queues(&self) -> MutexGuard<'_, Vec<Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, addr: Option<Mac>) -> usize {
        let mut queues = self.queues();
        let queue = Queue { addr, waiting: VecDeque::new(), overrun: 0, is_open: true };
        // A closed queue's index is reused, so that stations may join and leave without limit.
        if let Some(place) = queues.iter().position(|queue| !queue.is_open) {
            queues[place] = queue;
            return place;
        }
        queues.push(queue);
        queues.len() - 1
    }

    fn leave(&self, place: usize) {
        if let Some(queue) = self.queues().get_mut(place) {
            queue.is_open = false;
            queue.waiting = VecDeque::new();
        }
    }

    fn overrun(&self, place: usize) -> u64 {
        self.queues().get(place).map_or(0, |queue| queue.overrun)
    }

    fn next(&self, place: usize, until: Instant) -> Option<(Instant, Frame)> {
        let mut queues = self.queues();
        loop {
            if let Some(next) = queues.get_mut(place)?.waiting.pop_front() {
                return Some(next);
            }
            let left = until - clock::now();
            if left == Duration::ZERO {
                return None;
            }
            let woken = self.arrived.wait_timeout(queues, left);
            queues = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Hub: delivers each frame to all stations it is addressed to.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

impl Hub {
    /// Creates a hub without stations. A receiver with `queue_frames` waiting loses further ones.
    #[must_use]
    pub fn new(queue_frames: usize) -> Self {
        let queues = Mutex::new(Vec::new());
        let shared = Shared { queues, arrived: Condvar::new(), capacity: queue_frames };
        Self { shared: Arc::new(shared) }
    }

    /// Creates a port for a station with this address.
    #[must_use]
    pub fn port(&self, addr: Mac) -> InProcess {
        let place = self.shared.join(Some(addr));
        let shared = Arc::clone(&self.shared);
        InProcess { shared, place, addr, name: format!("hub/{addr}"), counts: Counts::default() }
    }

    /// Creates a receiver of every frame from now on, which cannot send.
    #[must_use]
    pub fn tap(&self) -> HubTap {
        HubTap { place: self.shared.join(None), shared: Arc::clone(&self.shared) }
    }
}

/// Station's port on a [`Hub`].
#[derive(Debug)]
pub struct InProcess {
    shared: Arc<Shared>,
    place: usize,
    addr: Mac,
    name: String,
    counts: Counts,
}

impl Port for InProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn addr(&self) -> Mac {
        self.addr
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        let to = destination(frame).unwrap_or_default();
        let mut queues = self.shared.queues();
        // Read under the lock, so that the stamps in a queue are in order.
        let at = clock::now();
        for (place, queue) in queues.iter_mut().enumerate() {
            let is_meant = queue.addr.is_none_or(|addr| to == addr || to.is_group());
            if place == self.place || !queue.is_open || !is_meant {
                continue;
            }
            if queue.waiting.len() < self.shared.capacity {
                queue.waiting.push_back((at, frame.clone()));
            } else {
                queue.overrun += 1;
            }
        }
        drop(queues);
        self.shared.arrived.notify_all();
        self.counts.sent += 1;
        Ok(Transmission::Sent)
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Arrival>, PortError> {
        let Some((at, frame)) = self.shared.next(self.place, until) else { return Ok(None) };
        self.counts.received += 1;
        Ok(Some(Arrival { at, taken: clock::now(), stamp: Stamp::User, frame }))
    }

    fn link_rate(&self) -> Option<BitRate> {
        None
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn counts(&self) -> Counts {
        Counts { overrun: self.shared.overrun(self.place), ..self.counts }
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.shared.leave(self.place);
    }
}

/// Receiver of every frame on a [`Hub`].
#[derive(Debug)]
pub struct HubTap {
    shared: Arc<Shared>,
    place: usize,
}

impl HubTap {
    /// Returns the next frame on the hub; waits for one until `until`.
    pub fn receive(&mut self, until: Instant) -> Option<Arrival> {
        let (at, frame) = self.shared.next(self.place, until)?;
        Some(Arrival { at, taken: clock::now(), stamp: Stamp::User, frame })
    }

    /// Frames missed because they were not taken in time.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.overrun(self.place)
    }
}

impl Drop for HubTap {
    fn drop(&mut self) {
        self.shared.leave(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn frame(to: Mac, from: Mac) -> Frame {
        let octets: Vec<u8> = [&to.0[..], &from.0, b"\0\x03\x7c\x7c\x03"].concat();
        Frame::new(Bytes::from(octets))
    }

    #[test]
    fn a_frame_reaches_its_receivers_and_every_tap() {
        let hub = Hub::new(4);
        let [one, two, three] = [1, 2, 3].map(Mac::local);
        let (mut a, mut b, mut c, mut tap) =
            (hub.port(one), hub.port(two), hub.port(three), hub.tap());
        a.send(&frame(two, one)).unwrap();
        a.send(&frame(Mac::BROADCAST, one)).unwrap();
        let heard = |port: &mut InProcess| {
            core::iter::from_fn(|| port.receive(Instant::ZERO).unwrap()).count()
        };
        assert_eq!([heard(&mut a), heard(&mut b), heard(&mut c)], [0, 2, 1]);
        assert_eq!(core::iter::from_fn(|| tap.receive(Instant::ZERO)).count(), 2);
        assert_eq!((a.counts().sent, b.counts().received), (2, 2));
    }

    #[test]
    fn a_joining_station_reuses_the_place_of_one_that_left() {
        let hub = Hub::new(4);
        let [one, two] = [1, 2].map(Mac::local);
        let mut stays = hub.port(one);
        for _ in 0..100 {
            let mut comes = hub.port(two);
            stays.send(&frame(two, one)).unwrap();
            assert!(comes.receive(Instant::ZERO).unwrap().is_some());
            assert!(
                comes.receive(Instant::ZERO).unwrap().is_none(),
                "a frame for the previous station"
            );
        }
        assert_eq!(hub.shared.queues().len(), 2);
    }

    #[test]
    fn a_full_queue_drops_the_newest_and_counts_it() {
        let hub = Hub::new(2);
        let (mut a, mut b) = (hub.port(Mac::local(1)), hub.port(Mac::local(2)));
        for _ in 0..5 {
            a.send(&frame(Mac::local(2), Mac::local(1))).unwrap();
        }
        assert_eq!(b.counts().overrun, 3);
        assert!(b.receive(Instant::ZERO).unwrap().is_some());
        drop(b);
        a.send(&frame(Mac::local(2), Mac::local(1))).unwrap();
    }
}

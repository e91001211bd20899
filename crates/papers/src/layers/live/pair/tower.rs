//! Two stations with layers above LLC, on the ports of a pair.

use super::super::super::Users;
use super::{LOST_AFTER, LayersError, Pair};
use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{Port, PortError};
use stack::profile::{Framing, Layered, Top};
use stack::station::Station as _;
use std::collections::BTreeSet;
use wire::time::Instant;

/// Largest TPDU: longer than a frame, so that frames alone limit DTs.
const TPDU_OCTETS: usize = 2_048;
/// T1: longer than any pause of this host, as a rule.
const T1: Duration = Duration::from_millis(200);
/// References of transport between two stations at one address.
const REFERENCES_APART: u16 = 16;

/// Sender and receiver, connected.
pub(in super::super) struct Tower {
    sides: [Layered; 2],
}

/// Sends the pending frames; returns their number.
fn push(station: &mut Layered, port: &mut dyn Port) -> Result<u64, PortError> {
    let mut frames = 0;
    while let Some(frame) = station.poll() {
        let outcome = port.send(&frame)?;
        station.transmitted(clock::now(), 0, outcome);
        frames += 1;
    }
    Ok(frames)
}

/// Retransmits what is due; returns the number of frames.
fn expire(station: &mut Layered, port: &mut dyn Port) -> Result<u64, PortError> {
    let now = clock::now();
    if station.deadline().is_some_and(|deadline| deadline.at <= now) {
        station.expire(now);
    }
    push(station, port)
}

impl Pair {
    /// Opens a connection between two new stations; `None` if that fails within [`LOST_AFTER`].
    pub(in super::super) fn tower(&mut self, top: Top) -> Result<Option<Tower>, LayersError> {
        let addresses = [self.here.port.addr(), self.there.port.addr()];
        self.references = self.references.wrapping_add(REFERENCES_APART);
        let users = Users {
            top,
            framing: Framing::Ieee8023,
            tpdu_octets: TPDU_OCTETS,
            t1: T1,
            last_reference: self.references,
            charged: BTreeSet::new(),
        };
        let [here, there] = addresses;
        let sides = [users.params(here, there), users.params(there, here)].map(Layered::new);
        let mut tower = Tower { sides };
        let start = clock::now();
        tower.sides[0].open(start);
        self.frames += push(&mut tower.sides[0], &mut *self.here.port)?;
        while !tower.sides.iter().all(Layered::is_open) {
            if clock::now() - start >= LOST_AFTER {
                self.miss(1)?;
                return Ok(None);
            }
            self.step(&mut tower, 1, Instant::ZERO)?;
            self.step(&mut tower, 0, Instant::ZERO)?;
        }
        Ok(Some(tower))
    }

    /// Receives a frame at a side, if one arrives until `until`, and sends what follows from it.
    /// Returns the time at which a message was delivered to its user.
    fn step(
        &mut self,
        tower: &mut Tower,
        side: usize,
        until: Instant,
    ) -> Result<Option<Instant>, PortError> {
        let party = if side == 0 { &mut self.here } else { &mut self.there };
        let Some(station) = tower.sides.get_mut(side) else { return Ok(None) };
        let mut delivered = None;
        match party.port.receive(until)? {
            Some(arrival) => {
                station.receive(clock::now(), arrival.frame);
                delivered = station.take().map(|_| clock::now());
                self.frames += push(station, &mut *party.port)?;
            }
            None => self.frames += expire(station, &mut *party.port)?,
        }
        Ok(delivered)
    }

    /// Sends one message from user to user, and waits until transport has its acknowledgement;
    /// `None` if it was lost.
    pub(in super::super) fn tower_lap(
        &mut self,
        tower: &mut Tower,
        data: &Bytes,
    ) -> Result<Option<Duration>, LayersError> {
        let start = clock::now();
        tower.sides[0].send(start, data.clone());
        self.frames += push(&mut tower.sides[0], &mut *self.here.port)?;
        let give_up = start + LOST_AFTER;
        let mut delivered = None;
        while delivered.is_none() || !tower.sides[0].is_acknowledged() {
            if clock::now() >= give_up {
                self.miss(1)?;
                return Ok(None);
            }
            let side = usize::from(delivered.is_none());
            let due = tower.sides[0].deadline().map_or(give_up, |deadline| deadline.at);
            let at = self.step(tower, side, due.min(give_up))?;
            delivered = delivered.or(at);
            if clock::now() >= due {
                // A frame or its acknowledgement was lost: the sender retransmits.
                self.frames += expire(&mut tower.sides[0], &mut *self.here.port)?;
                self.step(tower, 1 - side, Instant::ZERO)?;
            }
        }
        Ok(delivered.map(|at| at - start))
    }
}

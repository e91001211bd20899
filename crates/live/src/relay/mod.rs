//! A bridge between two interfaces with a bad path in it: what NBSIR 85-3104 calls the exception
//! generator.
//!
//! ```text
//!              ┌─ hear ─▶ faults ─▶ hold ─▶ send ─┐
//!   interface ─┤                                  ├─ interface
//!              └─ send ◀─ hold ◀─ faults ◀─ hear ─┘
//! ```
//!
//! It passes whole frames of whatever protocol, with their VLAN tags, and tells of each that the faults
//! touched. A frame for a station that was heard on the side it came from stays there. One for
//! everybody crosses, so a second way between the two sides would let frames go round forever. So frames
//! of a station that seems to change sides on and on do not cross for a second, and are counted. Frames
//! that one host forges hold back the station whose address they bear, and no other.
//!
//! Not modelled: the MAC's own errors, which no packet socket can send; spanning trees; queues by
//! priority. Delays are as punctual as the thread's wake-up.

mod end;
mod path;
mod sides;

pub use path::{Deed, Event, Selection};

use crate::clock;
use crate::port::PortError;
use crate::socket;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use end::{End, Handed};
use path::Path;
use sides::{Sides, Verdict};
use stack::fault::{self, Faults};
use stack::station::Frame;
use wire::time::Instant;

/// How often it looks whether it is to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Frames taken from one side before the other has its turn.
const AT_A_TIME: usize = 64;

/// Where a side of the relay is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The interface's name.
    pub interface: String,
    /// The network namespace it is in, as `ip netns` names it; the process's own without one.
    pub namespace: Option<String>,
}

/// How a relay is made.
#[derive(Clone, Debug)]
pub struct RelayParams {
    /// The two sides.
    pub places: [Place; 2],
    /// What befalls frames that come in at the side of the same index.
    pub faults: [Option<Faults>; 2],
    /// Which frames the faults may touch.
    pub selection: Selection,
    /// Frames that may be held back at a time, each way; further ones are dropped and counted.
    pub held_frames: usize,
}

/// What became of the frames that came in at one side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames that came in.
    pub received: u64,
    /// Frames for a station of the side they came from, which need not cross.
    pub local: u64,
    /// Frames, and copies of them, that went out at the other side.
    pub relayed: u64,
    /// Frames that the faults held when there was no room left.
    pub no_room: u64,
    /// Frames that the other side's queue had no room for.
    pub not_sent: u64,
    /// Frames longer than the other side can send, or than the kernel tells.
    pub too_long: u64,
    /// Frames of stations that were heard on both sides in turn: they go round, or are forged.
    pub held_back: u64,
    /// Frames that the kernel dropped before the relay could take them.
    pub kernel_drops: u64,
    /// What the faults did.
    pub faults: fault::Counts,
}

/// A relay.
#[derive(Debug)]
pub struct Relay {
    ends: [End; 2],
    paths: [Path; 2],
    sides: Sides,
    counts: [Counts; 2],
}

/// A frame that was handed to an interface.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// When.
    pub at: Instant,
    /// The side that it came in at: 0 or 1. It left at the other.
    pub side: usize,
    /// The frame.
    pub frame: &'a Frame,
}

impl Relay {
    /// Opens both interfaces.
    ///
    /// # Errors
    /// [`PortError::Loop`] where both are one, and those of [`crate::port::AfPacket::open`].
    pub fn open(params: RelayParams) -> Result<Self, PortError> {
        let [first, second] = &params.places;
        if first == second {
            return Err(PortError::Loop(first.interface.clone()));
        }
        let ends = [End::open(first)?, End::open(second)?];
        let [there, back] = params.faults;
        let path = |faults| Path::new(faults, params.selection.clone(), params.held_frames);
        Ok(Self {
            ends,
            paths: [path(there), path(back)],
            sides: Sides::default(),
            counts: Default::default(),
        })
    }

    /// Relays until `until`, or until `stop` is set, which it looks at ten times a second; what has come in
    /// by then still crosses, as far as one look at each side takes it. `tell` hears of every frame that the
    /// faults touched.
    ///
    /// # Errors
    /// Where an interface can no longer be used. What was counted stays.
    pub fn run(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), PortError> {
        self.run_watched(until, stop, tell, &mut |_| ())
    }

    /// The same; `sent` takes each frame that was handed to an interface.
    ///
    /// # Errors
    /// As [`Relay::run`].
    pub fn run_watched(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Event<'_>),
        sent: &mut dyn FnMut(&Sent<'_>),
    ) -> Result<(), PortError> {
        loop {
            let is_last = stop.load(Ordering::Relaxed);
            let mut is_idle = true;
            for side in [0, 1] {
                is_idle &= self.take(side, tell)? == 0;
            }
            let now = clock::now();
            for side in [0, 1] {
                self.release(side, now, sent)?;
            }
            if is_last || now >= until {
                return Ok(());
            }
            if is_idle {
                self.wait(until.min(now + LOOK_UP))?;
            }
        }
    }

    /// What became of the frames that came in at each side so far.
    #[must_use]
    pub fn counts(&mut self) -> [Counts; 2] {
        for ((counts, end), path) in self.counts.iter_mut().zip(&mut self.ends).zip(&self.paths) {
            counts.kernel_drops = end.kernel_drops();
            counts.faults = path.counts();
        }
        self.counts
    }

    /// What the sides are called.
    #[must_use]
    pub fn names(&self) -> [&str; 2] {
        let [first, second] = &self.ends;
        [first.name(), second.name()]
    }

    /// Takes what has come in at a side; says how many frames.
    fn take(&mut self, side: usize, tell: &mut dyn FnMut(&Event<'_>)) -> Result<usize, PortError> {
        let Self { ends, paths, sides, counts } = self;
        let (Some(end), Some(path), Some(counts)) =
            (ends.get_mut(side), paths.get_mut(side), counts.get_mut(side))
        else {
            return Ok(0);
        };
        for taken in 0..AT_A_TIME {
            let Some(heard) = end.hear()? else { return Ok(taken) };
            counts.received += 1;
            let Some(frame) = heard.frame else {
                counts.too_long += 1;
                continue;
            };
            match sides.heard(heard.at, side, &frame) {
                Verdict::Crosses => {
                    counts.no_room += path.befall(side, heard.at, frame, tell);
                }
                Verdict::Stays => counts.local += 1,
                Verdict::HeldBack => counts.held_back += 1,
            }
        }
        Ok(AT_A_TIME)
    }

    /// Sends what came in at `side` and is due.
    fn release(
        &mut self,
        side: usize,
        now: Instant,
        sent: &mut dyn FnMut(&Sent<'_>),
    ) -> Result<(), PortError> {
        let (Some(path), Some(end)) = (self.paths.get_mut(side), self.ends.get(1 - side)) else {
            return Ok(());
        };
        let Some(counts) = self.counts.get_mut(side) else { return Ok(()) };
        while let Some(frame) = path.due(now) {
            match end.send(&frame)? {
                Handed::Sent => {
                    counts.relayed += 1;
                    sent(&Sent { at: now, side, frame: &frame });
                }
                Handed::QueueFull => counts.not_sent += 1,
                Handed::TooLong => counts.too_long += 1,
            }
        }
        Ok(())
    }

    fn wait(&self, until: Instant) -> Result<(), PortError> {
        let next = self.paths.iter().filter_map(Path::next).min();
        let interests = self.ends.each_ref().map(End::interest);
        let until = next.map_or(until, |next| next.min(until));
        socket::wait_for(&interests, until).map_err(PortError::system("wait for frames"))
    }
}

//! Bridge between two interfaces with a bad path in it: the exception generator of NBSIR 85-3104.
//!
//! ```text
//!              ┌─ receive ─▶ faults ─▶ hold ─▶ send ─┐
//!   interface ─┤                                     ├─ interface
//!              └─ send ◀─ hold ◀─ faults ◀─ receive ─┘
//! ```
//!
//! The relay forwards whole frames of any protocol, with their VLAN tags, and reports each frame
//! that the faults touched. A frame for a station known to be on the side it came from stays there.
//! A broadcast crosses, so a second path between the two sides would let frames loop forever.
//! Therefore the frames of a station that keeps changing sides do not cross for a second, and are
//! counted. Forged frames hold back only the station whose address they bear.
//!
//! Not modelled: the MAC's own errors, which no packet socket can send; spanning trees; priority
//! queues. Delays are as punctual as the thread's wake-up.

mod end;
mod path;
mod sides;

pub use path::{Event, RelayAction, Selection};

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

/// Maximum time between two checks of the stop flag.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Maximum number of frames taken from one side before the other side's turn.
const AT_A_TIME: usize = 64;

/// Interface of one side of the relay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Interface name.
    pub interface: String,
    /// Network namespace of the interface, as named by `ip netns`; `None` for that of the process.
    pub namespace: Option<String>,
}

/// Parameters of a relay.
#[derive(Clone, Debug)]
pub struct RelayParams {
    /// The two sides.
    pub places: [Place; 2],
    /// Faults of frames that come in at the side of the same index.
    pub faults: [Option<Faults>; 2],
    /// Frames that the faults may touch.
    pub selection: Selection,
    /// Maximum number of frames held back at a time in each direction; further frames are dropped
    /// and counted.
    pub held_frames: usize,
}

/// Counters of the frames that came in at one side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Frames received.
    pub received: u64,
    /// Frames for a station of the side they came from, which need not cross.
    pub local: u64,
    /// Frames, and copies of them, sent at the other side.
    pub relayed: u64,
    /// Frames to be held back by the faults, for which there was no room.
    pub no_room: u64,
    /// Frames not sent because the other side's queue was full.
    pub not_sent: u64,
    /// Frames too long for the other side, or truncated by the kernel.
    pub too_long: u64,
    /// Frames of stations that kept changing sides: they loop, or are forged.
    pub held_back: u64,
    /// Frames dropped by the kernel before the relay could take them.
    pub kernel_drops: u64,
    /// Fault counters.
    pub faults: fault::Counts,
}

/// Relay between two interfaces.
#[derive(Debug)]
pub struct Relay {
    ends: [End; 2],
    paths: [Path; 2],
    sides: Sides,
    counts: [Counts; 2],
}

/// Frame that was handed to an interface.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Time of sending.
    pub at: Instant,
    /// Side at which it came in: 0 or 1. It left at the other side.
    pub side: usize,
    /// Frame.
    pub frame: &'a Frame,
}

impl Relay {
    /// Opens both interfaces.
    ///
    /// # Errors
    /// [`PortError::Loop`] if both are the same, and those of [`crate::port::AfPacket::open`].
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

    /// Relays until `until`, or until `stop` is set, which is checked ten times a second. Frames
    /// received by then still cross, up to one batch per side. `tell` is called for every frame
    /// that the faults touched.
    ///
    /// # Errors
    /// Fails if an interface can no longer be used. The counters remain valid.
    pub fn run(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), PortError> {
        self.run_watched(until, stop, tell, &mut |_| ())
    }

    /// Like [`Relay::run`]; `sent` is called for each frame that was handed to an interface.
    ///
    /// # Errors
    /// Those of [`Relay::run`].
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

    /// Counters of the frames that came in at each side so far.
    #[must_use]
    pub fn counts(&mut self) -> [Counts; 2] {
        for ((counts, end), path) in self.counts.iter_mut().zip(&mut self.ends).zip(&self.paths) {
            counts.kernel_drops = end.kernel_drops();
            counts.faults = path.counts();
        }
        self.counts
    }

    /// Names of the two interfaces.
    #[must_use]
    pub fn names(&self) -> [&str; 2] {
        let [first, second] = &self.ends;
        [first.name(), second.name()]
    }

    /// Takes the frames received at a side; returns their number.
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
                    counts.no_room += path.apply(side, heard.at, frame, tell);
                }
                Verdict::Stays => counts.local += 1,
                Verdict::HeldBack => counts.held_back += 1,
            }
        }
        Ok(AT_A_TIME)
    }

    /// Sends the frames that came in at `side` and are due.
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

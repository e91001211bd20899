//! EtherCAT: frames of a master, out and back.
//!
//! Definition: a frame comes back with the locally administered bit set in its source address, and is
//! that of the same index (of the first datagram) that is out. It is lost if it is not back before the
//! master sends the next frame with its index, or within a second. A master whose own address has the
//! bit set is found by the frames that come back with it: those with a working counter, or an index
//! that is out. A working counter is too low if a frame of the same stream came back with a higher one
//! for the same command and address; process data (LRD, LWR, LRW) and the commands that distribute the
//! time count. Bias: a device that never answered is not missed.

use super::frame::Frame;
use super::station::Station;
use crate::lru_slab::Handle;
use wire::addr::Mac;
use wire::ethercat::Pdu;
use wire::time::Instant;

/// Maximum number of masters.
const MASTERS: usize = 64;
/// Time after which a frame does not come back.
const LOST_NS: u64 = 1_000_000_000;
/// Silence after which a master makes room for another.
const SILENT_NS: u64 = 60_000_000_000;
/// Maximum number of commands of a stream whose working counters are kept.
const COMMANDS: usize = 32;
/// Bit of an address that devices set.
const LOCAL: u8 = 0x02;

/// Frame that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    /// Its stream.
    pub(super) stream: Handle,
}

/// Master with its frames that are out.
#[derive(Clone, Debug)]
struct Master {
    ends: [Station; 2],
    last: Instant,
    swept: Instant,
    /// By their index.
    out: Vec<Option<Sent>>,
}

/// Masters followed.
#[derive(Clone, Default, Debug)]
pub(super) struct Masters {
    known: Vec<Master>,
}

impl Sent {
    /// True if the frame does not come back any more at this time.
    pub(super) const fn is_lost(self, at: Instant) -> bool {
        self.at.as_nanos().saturating_add(LOST_NS) <= at.as_nanos()
    }
}

/// Way of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// From the master.
    Out,
    /// Back, to the master of these ends.
    Back([Station; 2]),
}

/// Ends with the bit of the source cleared; none if it is not set.
fn cleared([destination, source]: [Station; 2]) -> Option<[Station; 2]> {
    match source {
        Station::Lan(Mac([first, rest @ ..])) if first & LOCAL != 0 => {
            let [b, c, d, e, g] = rest;
            Some([destination, Station::Lan(Mac([first & !LOCAL, b, c, d, e, g]))])
        }
        _ => None,
    }
}

impl Masters {
    fn find(&mut self, ends: [Station; 2]) -> Option<&mut Master> {
        self.known.iter_mut().find(|master| master.ends == ends)
    }

    /// Way of a frame with this index in its first datagram.
    pub(super) fn way(&mut self, frame: &Frame<'_>, pdu: &Pdu<'_>, index: u8) -> Way {
        let Some(cleared) = cleared(frame.ends) else { return Way::Out };
        if self.find(cleared).is_some() {
            return Way::Back(cleared);
        }
        let is_answered = || pdu.datagrams().flatten().any(|it| it.working_counter > 0);
        let is_out = self.find(frame.ends).is_some_and(|master| master.is_out(index));
        if is_out || is_answered() { Way::Back(frame.ends) } else { Way::Out }
    }

    /// Takes the frame with this index that is out.
    pub(super) fn back(&mut self, ends: [Station; 2], index: u8, at: Instant) -> Option<Sent> {
        let master = self.find(ends)?;
        master.last = at;
        master.out.get_mut(usize::from(index))?.take()
    }

    /// Adds a frame that goes out, and calls `lost` for those that do not come back. Returns false if
    /// its master is one more than is followed.
    pub(super) fn out(
        &mut self,
        ends: [Station; 2],
        index: u8,
        sent: Sent,
        mut lost: impl FnMut(Sent),
    ) -> bool {
        let Some(master) = self.master(ends, sent.at) else { return false };
        if master.swept.as_nanos() + LOST_NS <= sent.at.as_nanos() {
            master.sweep(sent.at, &mut lost);
        }
        master.last = sent.at;
        let before = master.out.get_mut(usize::from(index)).and_then(|place| place.replace(sent));
        before.into_iter().for_each(lost);
        true
    }

    /// Master with these ends, new if need be and if there is room.
    fn master(&mut self, ends: [Station; 2], at: Instant) -> Option<&mut Master> {
        let place = self.known.iter().position(|master| master.ends == ends);
        if let Some(place) = place {
            return self.known.get_mut(place);
        }
        if self.known.len() == MASTERS {
            let is_silent = |it: &Master| it.last.as_nanos() + SILENT_NS < at.as_nanos();
            let place = self.known.iter().position(is_silent)?;
            self.known.swap_remove(place);
        }
        self.known.push(Master { ends, last: at, swept: at, out: vec![None; 256] });
        self.known.last_mut()
    }

    /// Calls `lost` for the frames that do not come back, as of the end of measuring.
    pub(super) fn finish(&mut self, at: Instant, mut lost: impl FnMut(Sent)) {
        self.known.iter_mut().for_each(|master| master.sweep(at, &mut lost));
    }
}

impl Master {
    fn is_out(&self, index: u8) -> bool {
        self.out.get(usize::from(index)).is_some_and(Option::is_some)
    }

    /// Gives up the frames that have been out for a second.
    fn sweep(&mut self, at: Instant, lost: &mut impl FnMut(Sent)) {
        self.swept = at;
        for place in &mut self.out {
            if let Some(sent) = place.take_if(|it| it.is_lost(at)) {
                lost(sent);
            }
        }
    }
}

/// Highest working counter of a command.
#[derive(Clone, Copy, Debug)]
struct Reached {
    command: u8,
    address: u32,
    counter: u16,
}

/// Highest working counters of a stream.
#[derive(Clone, Default, Debug)]
pub(super) struct WorkingCounters {
    highest: Vec<Reached>,
}

impl WorkingCounters {
    /// Adds those of a frame that came back. Returns true if one is too low.
    pub(super) fn add(&mut self, pdu: &Pdu<'_>) -> bool {
        let mut is_low = false;
        for datagram in pdu.datagrams().flatten() {
            if !datagram.is_logical() && !datagram.distributes_time() {
                continue;
            }
            let (command, address) = (datagram.command, datagram.address);
            let counter = datagram.working_counter;
            let has_room = self.highest.len() < COMMANDS;
            let key = (command, address);
            match self.highest.iter_mut().find(|it| (it.command, it.address) == key) {
                Some(it) if counter < it.counter => is_low = true,
                Some(it) => it.counter = counter,
                None if has_room => self.highest.push(Reached { command, address, counter }),
                None => {}
            }
        }
        is_low
    }
}

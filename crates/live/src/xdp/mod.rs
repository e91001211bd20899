//! AF_XDP sockets: frames that pass by most of the kernel's network stack.
//!
//! The interface's driver, or the kernel on its behalf, runs a small program for each frame that
//! arrives ([`program`]); it turns some over to a socket, which shares memory and rings with this
//! process. In copy mode on the generic hook, which every interface has: the kernel copies each frame
//! into or out of that memory, and looks at the ring to send from in a system call only.
//!
//! Left out: drivers that hand over their own memory (zero copy), the hook within drivers, frames in
//! several pieces, stamps.

mod memory;
mod program;

use crate::clock;
use crate::mapping::Mapping;
use crate::socket::{Socket, Wait};
use bytes::Bytes;
use core::time::Duration;
use memory::{Ring, Rings};
use program::Program;
use std::io;
use wire::addr::Mac;
use wire::time::Instant;

/// Frames that may wait to be taken.
const RECEIVING: u32 = 1_024;
/// Frames that may be under way to the interface.
const SENDING: u32 = 256;
/// Octets of the piece of memory for one frame; the kernel keeps 256 of them for programs.
const CHUNK: u32 = 2_048;
/// The longest frame that fits.
pub(crate) const LONGEST_FRAME: usize = 1_792;
/// How long the kernel may hold a queue whose socket was just closed.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// What became of a frame that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// The interface has it, or the ring keeps it for the next call.
    Out,
    /// There was no room.
    NoRoom,
}

/// A socket with the first queue of an interface.
#[derive(Debug)]
pub(crate) struct Xdp {
    /// Frames come as long as it lives. It goes first, so that none is lost to a socket that is gone.
    _program: Program,
    socket: Socket,
    chunks: Mapping,
    filling: Ring,
    completed: Ring,
    receiving: Ring,
    sending: Ring,
}

impl Xdp {
    /// Takes LLC frames for these addresses away from the host, from now on.
    pub(crate) fn open(index: u32, addresses: &[Mac]) -> io::Result<Self> {
        let socket = Socket::xdp()?;
        let chunks = Mapping::anonymous((RECEIVING + SENDING) as usize * CHUNK as usize)?;
        memory::register(&socket, &chunks, CHUNK)?;
        let Rings { filling, completed, receiving, sending } =
            Rings::of(&socket, RECEIVING, SENDING)?;
        (0..RECEIVING).for_each(|chunk| filling.put_address(u64::from(chunk * CHUNK)));
        socket.bind_xdp(index, clock::now() + RELEASED_WITHIN)?;
        let program = Program::attach(&socket, index, addresses)?;
        Ok(Self { _program: program, socket, chunks, filling, completed, receiving, sending })
    }

    /// Sends a frame of these two parts, filled up to `shortest` octets.
    ///
    /// The kernel is told at once. A driver without room leaves the frame in the ring, where the next
    /// call finds it.
    pub(crate) fn send(&self, parts: [&[u8]; 2], shortest: usize) -> io::Result<Sent> {
        let number = self.sending.produced();
        if !self.put(parts, shortest)? {
            return Ok(Sent::NoRoom);
        }
        match self.push() {
            // The kernel dropped one before it: this one stays in the ring, and must not be sent again.
            Ok(Sent::NoRoom) if self.sending.consumed() == number => Ok(Sent::Out),
            Err(error) => {
                // Nothing of it was looked at: it must not go out when the interface is up again.
                if self.sending.consumed() == number {
                    self.sending.take_back(number);
                }
                Err(error)
            }
            sent => sent,
        }
    }

    /// Sends several such frames with one call of the kernel, as far as there is room in the ring for
    /// them, and says in order what became of each in `told`. One it has no word for was not looked at:
    /// it is not in the ring any more.
    ///
    /// A call for which the kernel drops a frame ends with that, and is made again for those behind it.
    pub(crate) fn send_several<'a>(
        &self,
        frames: impl Iterator<Item = [&'a [u8]; 2]>,
        shortest: usize,
        mut told: impl FnMut(Sent),
    ) -> io::Result<()> {
        let first = self.sending.produced();
        // What goes wrong here does so again below.
        let frames = frames.take_while(|parts| matches!(self.put(*parts, shortest), Ok(true)));
        let count = frames.fold(0, |count, _| count + 1);
        let mut known = 0;
        while known < count {
            let pushed = self.push();
            // Frames of earlier calls may still be in the ring, before these.
            let looked_at = self.sending.consumed().wrapping_sub(first);
            let looked_at = if looked_at > count { known } else { looked_at };
            for place in known..looked_at {
                let dropped = place + 1 == looked_at && matches!(pushed, Ok(Sent::NoRoom));
                told(if dropped { Sent::NoRoom } else { Sent::Out });
            }
            if let Err(error) = pushed {
                self.sending.take_back(first.wrapping_add(looked_at));
                return Err(error);
            }
            if looked_at == known {
                break;
            }
            known = looked_at;
        }
        // What the driver has no room for yet stays in the ring.
        (known..count).for_each(|_| told(Sent::Out));
        Ok(())
    }

    /// Puts a frame of these two parts into the ring, filled up to `shortest` octets; whether there was
    /// room for it.
    fn put(&self, parts: [&[u8]; 2], shortest: usize) -> io::Result<bool> {
        self.completed.take_all();
        let number = self.sending.produced();
        if number.wrapping_sub(self.completed.consumed()) >= SENDING {
            self.push()?;
            self.completed.take_all();
            if number.wrapping_sub(self.completed.consumed()) >= SENDING {
                return Ok(false);
            }
        }
        let at = (RECEIVING + number % SENDING) as usize * CHUNK as usize;
        let [front, back] = parts;
        let octets = front.len() + back.len();
        self.chunks.write(at, front);
        self.chunks.write(at + front.len(), back);
        let pad = [0; 64];
        let missing = shortest.saturating_sub(octets).min(pad.len());
        self.chunks.write(at + octets, pad.get(..missing).unwrap_or_default());
        self.sending.put_frame(at as u64, (octets + missing) as u32);
        Ok(true)
    }

    /// Lets the kernel send what the ring holds.
    fn push(&self) -> io::Result<Sent> {
        match self.socket.push() {
            Ok(()) => Ok(Sent::Out),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(Sent::Out),
                Some(libc::EBUSY | libc::ENOBUFS) => Ok(Sent::NoRoom),
                _ => Err(error),
            },
        }
    }

    /// The next frame, if one is there.
    fn take(&self) -> Option<Bytes> {
        let (address, octets) = self.receiving.take_frame()?;
        let frame = self.chunks.read(address as usize, octets as usize);
        self.filling.put_address(address / u64::from(CHUNK) * u64::from(CHUNK));
        Some(frame)
    }

    /// The next frame, or `None` once the time is over.
    pub(crate) fn receive_until(&self, until: Instant, wait: Wait) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(frame) = self.take() {
                return Ok(Some(frame));
            }
            if clock::now() >= until {
                return Ok(None);
            }
            if self.sending.produced() != self.sending.consumed() {
                self.push()?;
            }
            match wait {
                Wait::Block => self.socket.wait(until)?,
                Wait::Spin => core::hint::spin_loop(),
            }
        }
    }

    /// Frames for this socket that the kernel dropped for want of room.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let statistics = memory::statistics(&self.socket)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }
}

//! AF_XDP sockets: frames bypass most of the kernel's network stack.
//!
//! The interface's driver, or the kernel on its behalf, runs a small program for each received
//! frame ([`program`]). The program redirects some frames to a socket, which shares memory and
//! rings with this process. The socket uses copy mode on the generic hook, which every interface
//! has: the kernel copies each frame into or out of that memory, and reads the send ring in system
//! calls only.
//!
//! Not included: drivers that hand over their own memory (zero copy), the hook within drivers,
//! frames in several parts, stamps.

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

/// Maximum number of received frames that wait to be taken.
const RECEIVING: u32 = 1_024;
/// Maximum number of frames under way to the interface.
const SENDING: u32 = 256;
/// Octets of the chunk for one frame; the kernel reserves 256 of them for programs.
const CHUNK: u32 = 2_048;
/// Maximum length of a frame.
pub(crate) const LONGEST_FRAME: usize = 1_792;
/// Maximum time for which the kernel may hold a queue whose socket was just closed.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// Outcome of sending a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// The interface has it, or the ring keeps it for the next call.
    Out,
    /// There was no room.
    NoRoom,
}

/// Socket on the first queue of an interface.
#[derive(Debug)]
pub(crate) struct Xdp {
    /// Redirects frames while it lives. It is dropped first, so that none is lost to a closed
    /// socket.
    _program: Program,
    socket: Socket,
    chunks: Mapping,
    filling: Ring,
    completed: Ring,
    receiving: Ring,
    sending: Ring,
}

impl Xdp {
    /// Redirects LLC frames for these addresses from the host to the socket, from now on.
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

    /// Sends a frame of two parts, padded to `shortest` octets.
    ///
    /// The kernel is called at once. If the driver has no room, the frame stays in the ring for the
    /// next call.
    pub(crate) fn send(&self, parts: [&[u8]; 2], shortest: usize) -> io::Result<Sent> {
        let number = self.sending.produced();
        if !self.put(parts, shortest)? {
            return Ok(Sent::NoRoom);
        }
        match self.push() {
            // The kernel dropped an earlier frame; this one stays in the ring, and must not be sent
            // twice.
            Ok(Sent::NoRoom) if self.sending.consumed() == number => Ok(Sent::Out),
            Err(error) => {
                // The kernel has not read it: it must not be sent when the interface is up again.
                if self.sending.consumed() == number {
                    self.sending.take_back(number);
                }
                Err(error)
            }
            sent => sent,
        }
    }

    /// Sends several such frames with one call of the kernel, as far as the ring has room, and
    /// passes each outcome to `told`, in order. A frame without an outcome was not read by the
    /// kernel, and is no longer in the ring.
    ///
    /// A call in which the kernel drops a frame ends there, and is repeated for the later frames.
    pub(crate) fn send_several<'a>(
        &self,
        frames: impl Iterator<Item = [&'a [u8]; 2]>,
        shortest: usize,
        mut told: impl FnMut(Sent),
    ) -> io::Result<()> {
        let first = self.sending.produced();
        // An error here recurs below.
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
        // Frames that the driver has no room for yet stay in the ring.
        (known..count).for_each(|_| told(Sent::Out));
        Ok(())
    }

    /// Adds a frame of two parts to the ring, padded to `shortest` octets; returns whether there
    /// was room.
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

    /// Lets the kernel send the frames in the ring.
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

    /// Takes the next frame, if there is one.
    fn take(&self) -> Option<Bytes> {
        let (address, octets) = self.receiving.take_frame()?;
        let frame = self.chunks.read(address as usize, octets as usize);
        self.filling.put_address(address / u64::from(CHUNK) * u64::from(CHUNK));
        Some(frame)
    }

    /// Takes the next frame; `None` once the time is over.
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

    /// Frames for this socket dropped by the kernel for lack of room.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let statistics = memory::statistics(&self.socket)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full)
    }
}

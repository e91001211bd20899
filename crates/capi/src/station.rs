//! Station behind the calls: sockets, a port, lent buffers and pending indications.

use crate::buffer::Buffer;
use crate::port::{self, OpenError};
use crate::types::{LLCcounts, LLCindication, LLCoutcome, LLCstate};
use bytes::Bytes;
use core::ffi::c_void;
use core::time::Duration;
use live::clock;
use live::port::{Port, PortError};
use live::runner::{OnDown, Runner};
use stack::messaging::{Indication, Options, Params, Side, SideState};
use stack::profile::Messenger;
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;

/// Maximum number of pending indications; the oldest are dropped.
const MOST_OWED: usize = 4_096;

/// Indication functions of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indications {
    pub(crate) transmitted: LLCindication,
    pub(crate) received: LLCindication,
    pub(crate) context: *mut c_void,
}

impl Indications {
    const NONE: Self = Self { transmitted: None, received: None, context: core::ptr::null_mut() };
}

/// State of a socket: its lent buffer and its indication functions.
#[derive(Debug)]
struct Socket {
    buffer: Option<Buffer>,
    indications: Indications,
}

/// Finished operation, whose indication was not called yet.
#[derive(Clone, Copy, Debug)]
struct Over {
    socket: u8,
    side: Side,
    state: LLCstate,
}

/// Function to be called now.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: unsafe extern "C" fn(core::ffi::c_int, LLCstate, *mut c_void),
    pub(crate) socket: u8,
    pub(crate) state: LLCstate,
    pub(crate) context: *mut c_void,
}

/// Station of a thread.
pub(crate) struct Station {
    messenger: Messenger,
    port: Box<dyn Port>,
    runner: Runner,
    sockets: BTreeMap<u8, Socket>,
    owed: VecDeque<Over>,
    indications_lost: u64,
    /// True if an operation has ended since the last poll.
    has_ended: bool,
}

impl Station {
    /// Creates a station that may open `sockets` sockets, on the port named `port`.
    pub(crate) fn new(sockets: usize, port: &str) -> Result<Self, OpenError> {
        let port = port::open(port)?;
        let params = Params { sockets, ..Params::lan() };
        let messenger = Messenger::new(port.addr(), params);
        clock::be_punctual();
        Ok(Self {
            messenger: messenger.expect("LLC's parameters for a LAN are valid"),
            port,
            runner: Runner::with(OnDown::Outlast),
            sockets: BTreeMap::new(),
            owed: VecDeque::new(),
            indications_lost: 0,
            has_ended: false,
        })
    }

    /// Closes all sockets, and sends LLC's resulting frames.
    pub(crate) fn off(mut self) -> Result<(), PortError> {
        self.messenger.sockets.close_all(clock::now());
        self.sockets.clear();
        self.send()
    }

    pub(crate) fn open(&mut self, socket: u8) -> LLCoutcome {
        let sockets = &mut self.messenger.sockets;
        let outcome = sockets.open(clock::now(), socket);
        if outcome.is_accepted() {
            let buffer = None;
            self.sockets.insert(socket, Socket { buffer, indications: Indications::NONE });
            return self.option(socket, Options::plain(), Indications::NONE);
        }
        outcome.into()
    }

    pub(crate) fn close(&mut self, socket: u8) -> LLCoutcome {
        let outcome = self.messenger.sockets.close(clock::now(), socket);
        if outcome.is_accepted() {
            self.sockets.remove(&socket);
            self.owed.retain(|over| over.socket != socket);
        }
        outcome.into()
    }

    pub(crate) fn option(
        &mut self,
        socket: u8,
        options: Options,
        indications: Indications,
    ) -> LLCoutcome {
        // Always requested, because this layer detects the end of operations by them.
        let options = Options { transmit_indication: true, receive_indication: true, ..options };
        let outcome = self.messenger.sockets.option(socket, options);
        if let Some(open) = self.sockets.get_mut(&socket).filter(|_| outcome.is_accepted()) {
            open.indications = indications;
        }
        outcome.into()
    }

    pub(crate) fn transmit(
        &mut self,
        socket: u8,
        to: stack::messaging::Address,
        data: &[u8],
    ) -> (LLCoutcome, Result<(), PortError>) {
        let data = Bytes::copy_from_slice(data);
        let outcome = self.messenger.sockets.transmit(clock::now(), socket, to, data);
        let sent = if outcome.is_accepted() { self.send() } else { Ok(()) };
        (outcome.into(), sent)
    }

    pub(crate) fn receive(&mut self, socket: u8, octets: usize, buffer: Buffer) -> LLCoutcome {
        let outcome = self.messenger.sockets.enable_reception(clock::now(), socket, octets);
        if let Some(open) = self.sockets.get_mut(&socket).filter(|_| outcome.is_accepted()) {
            open.buffer = Some(buffer);
        }
        outcome.into()
    }

    pub(crate) fn reset(&mut self, socket: u8, side: Side) -> LLCoutcome {
        let outcome = self.messenger.sockets.reset(clock::now(), socket, side);
        if let Some(open) = self.sockets.get_mut(&socket).filter(|_| side == Side::Receive) {
            open.buffer = None;
        }
        outcome.into()
    }

    /// Returns whether the socket is open.
    pub(crate) fn is_open(&self, socket: u8) -> bool {
        self.sockets.contains_key(&socket)
    }

    pub(crate) fn state(&self, socket: u8, side: Side) -> Result<SideState, LLCoutcome> {
        self.messenger.sockets.status(socket, side).map_err(LLCoutcome::from)
    }

    pub(crate) const fn messenger(&self) -> &Messenger {
        &self.messenger
    }

    /// Station address.
    pub(crate) fn addr(&self) -> wire::addr::Mac {
        self.port.addr()
    }

    pub(crate) fn counts(&self) -> LLCcounts {
        let (runner, port) = (self.runner.counts(), self.port.counts());
        let sockets = &self.messenger.sockets;
        let (own, link) = (sockets.counters(), sockets.acknowledged().counters());
        LLCcounts {
            frames_sent: runner.sent,
            frames_received: runner.received,
            frames_not_sent: runner.given_up,
            network_down: runner.down,
            foreign: port.foreign + self.messenger.foreign_frames() + link.malformed,
            no_buffer: own.no_buffer + link.no_buffer,
            overruns: own.overruns + link.overruns,
            bad_crc: own.bad_crc,
            sent_again: link.sent_again,
            duplicates: link.duplicates,
            overrun_frames: port.overrun,
            indications_lost: self.indications_lost + self.messenger.indications_dropped(),
        }
    }

    // ---- the network ------------------------------------------------------------------------------

    /// Sends all pending frames.
    fn send(&mut self) -> Result<(), PortError> {
        let down = self.runner.counts().down;
        let sent = self.runner.transmit(&mut self.messenger, &mut *self.port);
        self.collect();
        sent.and(self.was_up(down))
    }

    /// Returns an error if the port has been down since its counter was `down`.
    fn was_up(&self, down: u64) -> Result<(), PortError> {
        let is_up = self.runner.counts().down == down;
        if is_up { Ok(()) } else { Err(PortError::Down(self.port.name().to_owned())) }
    }

    /// Runs one round of the network, which waits for a frame until `until`.
    pub(crate) fn round(&mut self, until: Instant) -> Result<(), PortError> {
        let down = self.runner.counts().down;
        let went = self.runner.round(&mut self.messenger, &mut *self.port, until);
        self.collect();
        went.and(self.was_up(down))
    }

    /// Processes network traffic until an operation has ended since the last poll, or `ticks` have
    /// passed.
    pub(crate) fn poll(&mut self, ticks: u32) -> Result<(), PortError> {
        let until = clock::now() + Duration::from_millis(u64::from(ticks));
        let mut went = self.round(Instant::ZERO);
        while !self.has_ended && clock::now() < until {
            went = went.and(self.round(until));
            if matches!(went, Err(PortError::System { .. } | PortError::TooLong { .. })) {
                break;
            }
        }
        self.has_ended = false;
        went
    }

    /// Fills the buffers of finished receptions, and queues their indications.
    fn collect(&mut self) {
        while let Some(indication) = self.messenger.indication() {
            let (socket, side, completion) = match indication {
                Indication::Transmitted { socket, completion, .. } => {
                    (socket, Side::Transmit, completion)
                }
                Indication::Received { socket, completion } => (socket, Side::Receive, completion),
            };
            self.has_ended = true;
            let Some(open) = self.sockets.get_mut(&socket) else { continue };
            if side == Side::Receive
                && let Some(buffer) = open.buffer.take()
                && let Some(message) = self.messenger.sockets.take(socket)
            {
                buffer.write(message.from.into(), [message.data.head(), message.data.payload()]);
            }
            if self.owed.len() >= MOST_OWED {
                self.owed.pop_front();
                self.indications_lost += 1;
            }
            self.owed.push_back(Over { socket, side, state: completion.into() });
        }
    }

    /// Number of pending indications.
    pub(crate) fn owed(&self) -> usize {
        self.owed.len()
    }

    /// Next function to be called, of the next `most` indications, and the number of indications
    /// taken.
    pub(crate) fn next_call(&mut self, most: usize) -> (usize, Option<Call>) {
        for taken in 1..=most {
            let Some(Over { socket, side, state }) = self.owed.pop_front() else { break };
            let Some(open) = self.sockets.get(&socket) else { continue };
            let Indications { transmitted, received, context } = open.indications;
            let function = match side {
                Side::Transmit => transmitted,
                Side::Receive => received,
            };
            if let Some(function) = function {
                return (taken, Some(Call { function, socket, state, context }));
            }
        }
        (most, None)
    }
}

//! Station that only runs a control session and counts numbered frames.

use crate::frame;
use bytes::Bytes;
use live::clock;
use live::port::{Port, is_rendezvous};
use live::runner::{Control, Runner, Stopped};
use stack::control::{Call, ControlSession, Indication, Params, Request, Unitdata};
use stack::machine::{Deadline, Machine, Output};
use stack::station::{Frame, Station, destination, source};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::addr::Mac;
use wire::control::{Counts, Limits, Role, SAP, text};
use wire::packet::Packet;
use wire::time::Instant;

pub(crate) const WIDE: Limits =
    Limits { frames_per_second: u32::MAX, bits_per_second: u64::MAX >> 1 };

pub(crate) struct Party {
    addr: Mac,
    machine: ControlSession,
    /// Number of numbered frames it sends once permitted.
    load: u32,
    outgoing: VecDeque<Frame>,
    pub(crate) frames: u64,
    pub(crate) told: Vec<Indication>,
}

impl Party {
    pub(crate) fn new(addr: Mac, load: u32) -> Self {
        let mut params = Params::new(Some(WIDE), 1, text("tidewire test"));
        params.linger = Duration::from_millis(300);
        Self {
            addr,
            machine: ControlSession::new(params),
            load,
            outgoing: VecDeque::new(),
            frames: 0,
            told: Vec::new(),
        }
    }

    pub(crate) fn call(&mut self, peer: Mac) {
        let call = Call {
            peer,
            nonce: clock::now().as_nanos(),
            role: Role::Sender,
            offered: WIDE,
            least: Limits::NONE,
            flows: 1,
            purpose: text("a test"),
            receive: None,
            is_policy_needed: false,
            has_streams: false,
        };
        self.machine.request(clock::now(), Request::Open(call));
    }

    /// Runs it until an indication that `is_last`.
    pub(crate) fn run(&mut self, port: &mut dyn Port, is_last: fn(&Indication) -> bool) {
        let stop = AtomicBool::new(false);
        // Long enough for any machine, and a limit in case of an error.
        let until = clock::now() + Duration::from_secs(60);
        let stopped = Runner::new().run(self, port, until, &stop, |party, _| {
            if party.told.iter().any(is_last) { Control::Stop } else { Control::Continue }
        });
        assert_eq!(stopped.unwrap(), Stopped::Satisfied, "told: {:?}", self.told);
    }

    fn act(&mut self, now: Instant, indication: Indication) {
        self.told.push(indication);
        match indication {
            Indication::Opened { peer, .. } => {
                for number in 0..self.load {
                    self.outgoing.push_back(frame(peer, self.addr, 0x04, number));
                }
                if self.load > 0 {
                    self.machine.request(now, Request::Stop);
                }
            }
            Indication::StopAsked => {
                let counts = Counts { frames: self.frames, ..Counts::default() };
                self.machine.request(now, Request::Final(counts));
            }
            _ => {}
        }
    }
}

impl Station for Party {
    fn addr(&self) -> Mac {
        self.addr
    }

    fn receive(&mut self, now: Instant, frame: Frame) {
        assert!(destination(&frame) == Some(self.addr));
        if !is_rendezvous(&frame) {
            self.frames += 1;
            return;
        }
        let octets = frame.to_bytes();
        let length = usize::from(u16::from_be_bytes([octets[12], octets[13]]));
        let packet = Packet::new(octets.slice(17..14 + length));
        self.machine.receive(now, Unitdata { peer: source(&frame).unwrap(), packet });
    }

    fn expire(&mut self, now: Instant) {
        self.machine.expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.machine.deadline()
    }

    fn poll(&mut self) -> Option<Frame> {
        loop {
            // Load before the Stop that ends it.
            if let Some(frame) = self.outgoing.pop_front() {
                return Some(frame);
            }
            match self.machine.poll()? {
                Output::Send(Unitdata { peer, packet }) => {
                    let data: Bytes = packet.to_bytes();
                    let length = 3 + u16::try_from(data.len()).unwrap();
                    let mut frame = Packet::new(data);
                    frame.prepend(&[SAP.0, SAP.0, 0x03]);
                    frame.prepend(&length.to_be_bytes());
                    frame.prepend(&self.addr.0);
                    frame.prepend(&peer.0);
                    return Some(frame);
                }
                Output::Deliver(indication) => self.act(clock::now(), indication),
                Output::Note(_) => {}
            }
        }
    }
}

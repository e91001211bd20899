//! Actions of a scripted peer: octets to frames.

use super::{HEADERS, HERE, PEER, control, lsdu, typed};
use crate::session::report::KEPT;
use core::time::Duration;
use stack::clnp;
use stack::host::{Host, HostParams};
use stack::load::{Flow, FlowId, LEAST_OCTETS, Pattern, Service, Stamp, StampKind};
use stack::messaging::Priority;
use stack::profile::Framing;
use stack::station::{Frame, Station as _, Transmission};
use stack::tp4;
use wire::addr::{Mac, Nsap};
use wire::control::report::{Arrival, Body as ReportBody, ON_A_PAGE, Page, Pdu as ReportPdu};
use wire::control::{
    Accept, Acknowledge, Body, Counts, Hello, Limits, Pdu, ReceivePolicy, Refusal, Role, SAP, text,
};
use wire::time::Instant;

/// SAPs of CLNP, and of messages without connection.
const SAPS: [u8; 2] = [0xFE, 0x5C];
/// EtherTypes of streams: GOOSE, Sampled Values, PROFINET, and one for experiments.
const TYPES: [u16; 4] = [0x88B8, 0x88BA, 0x8892, 0x88B5];
/// Length from which raw data are those of a stream.
const STREAMS_FROM: usize = 192;
/// Maximum number of flows of an honest host in a script.
const FLOWS: usize = 8;
/// Maximum length of a datagram in octets.
const DATAGRAM_OCTETS: usize = 1_497;

/// Next action of a peer.
pub(super) enum Act {
    /// Lets time pass.
    Wait(Duration),
    /// Sends a frame.
    Send(Frame),
    /// Has no visible effect.
    Nothing,
}

/// Peer on the LAN: a script, the data learnt from the session, and an honest host that makes most
/// of its load.
pub(super) struct Peer<'a> {
    script: &'a [u8],
    /// Nonce of the session, as chosen or received.
    nonce: u64,
    /// Latest cookie received.
    cookie: u64,
    /// Source address of the frames it makes itself.
    source: Mac,
    host: Host,
    flows: usize,
    /// Damage to the next frame of the honest host.
    damage: Option<u8>,
    /// Station whose Hello carried a cookie last.
    pub(super) caller: Option<Mac>,
}

impl<'a> Peer<'a> {
    pub(super) fn new(script: &'a [u8]) -> Self {
        let params = HostParams {
            address: PEER,
            transport: tp4::Params::lan(),
            network: clnp::Params::inactive(Nsap::of_station(PEER)),
            last_reference: 7,
            accepts: true,
            saps: vec![SAP],
            framing: Framing::Ieee8023,
            messaging: None,
        };
        Self {
            script,
            nonce: 7,
            cookie: 0,
            source: PEER,
            host: Host::new(params, Vec::new()),
            flows: 0,
            damage: None,
            caller: Some(PEER),
        }
    }

    /// Receives a frame of the station under test.
    pub(super) fn hear(&mut self, now: Instant, frame: &Frame) {
        let octets = frame.to_bytes();
        let Some([sap, _, _]) = octets.get(14..HEADERS) else { return };
        if *sap != SAP.0 {
            return self.host.receive(now, frame.clone());
        }
        if let Ok(pdu) = Pdu::decode(octets.get(HEADERS..).unwrap_or_default()) {
            match pdu.body {
                Body::Challenge { cookie } => self.cookie = cookie,
                Body::Hello(_) => self.nonce = pdu.nonce,
                _ => {}
            }
        }
    }

    /// Next action, if the script goes on.
    pub(super) fn act(&mut self, now: Instant) -> Option<Act> {
        Some(match self.octet()? % 10 {
            0 => Act::Wait(Duration::from_millis(u64::from(self.octet()?) * 4)),
            1 => Act::Send(self.control_pdu()?),
            2 => Act::Send(self.datagram()?),
            3 => {
                let count = usize::from(self.octet()?);
                match count.checked_sub(STREAMS_FROM) {
                    Some(kind) => {
                        let ethertype = TYPES.get(kind % TYPES.len()).copied().unwrap_or(0);
                        Act::Send(typed(self.source, ethertype, self.take(count)))
                    }
                    None => {
                        let sap = if count % 2 == 0 { SAPS[0] } else { SAPS[1] };
                        Act::Send(lsdu(self.source, sap, self.take(count)))
                    }
                }
            }
            4 => {
                let count = usize::from(self.octet()?);
                Act::Send(control(self.source, self.take(count)))
            }
            5 | 6 => self.honest(now),
            7 => self.add_flow(now)?,
            8 => {
                self.damage = Some(self.octet()?);
                Act::Nothing
            }
            _ => {
                self.source = match self.octet()? {
                    255 => Mac::BROADCAST,
                    number @ 128.. => Mac::local(u32::from(number)),
                    _ => PEER,
                };
                Act::Nothing
            }
        })
    }

    fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.script.split_first()?;
        self.script = rest;
        Some(*first)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.script.split_at(count.min(self.script.len()));
        self.script = rest;
        taken
    }

    fn word(&mut self) -> u32 {
        let mut octets = [0; 4];
        let taken = self.take(4);
        octets[..taken.len()].copy_from_slice(taken);
        u32::from_be_bytes(octets)
    }

    /// Next frame of the honest host, damaged if requested.
    fn honest(&mut self, now: Instant) -> Act {
        if self.host.deadline().is_some_and(|deadline| deadline.at <= now) {
            self.host.expire(now);
        }
        while self.host.record().is_some() {}
        let Some(frame) = self.host.poll() else { return Act::Nothing };
        self.host.transmitted(now, 0, Transmission::Sent);
        let Some(damage) = self.damage.take() else { return Act::Send(frame) };
        let mut octets = frame.to_bytes().to_vec();
        let place = HEADERS + usize::from(damage) % (octets.len() - HEADERS).max(1);
        if let Some(octet) = octets.get_mut(place) {
            *octet ^= damage | 1;
        }
        Act::Send(Frame::new(octets.into()))
    }

    fn add_flow(&mut self, now: Instant) -> Option<Act> {
        let (kind, size) = (self.octet()?, self.octet()?);
        if self.flows >= FLOWS {
            return Some(Act::Nothing);
        }
        self.flows += 1;
        self.host.add(Flow {
            id: FlowId(u16::from(kind % 4)),
            peer: HERE,
            service: if kind % 2 == 0 { Service::Class4 } else { Service::Datagram },
            priority: Priority::new(kind >> 5).unwrap_or_default(),
            pattern: match kind / 2 % 3 {
                0 => Pattern::Bulk,
                1 => Pattern::MaximumRateRequest { reply_octets: usize::from(size) * 250 + 20 },
                _ => Pattern::Cyclic { period: Duration::from_millis(1) },
            },
            size_octets: LEAST_OCTETS + usize::from(size) * 4,
            messages: Some(64),
            start: now,
            seed: 1,
        });
        self.host.expire(now);
        Some(Act::Nothing)
    }

    /// Message without connection, with a stamp given by the script.
    fn datagram(&mut self) -> Option<Frame> {
        let (flow, kind, octets) = (self.octet()?, self.octet()?, self.octet()?);
        let stamp = Stamp {
            flow: FlowId(u16::from(flow) * if flow > 99 { 250 } else { 1 }),
            kind: match kind {
                0..=99 => StampKind::Message,
                100..=119 => StampKind::Reply,
                _ => StampKind::Request { reply_octets: u16::from(kind - 119) * 40 },
            },
            sequence: self.word(),
            planned: Instant::from_nanos(u64::from(self.word())),
            lag: Some(Duration::ZERO),
        };
        let head = stamp.encode(DATAGRAM_OCTETS);
        let room = DATAGRAM_OCTETS - head.len();
        // Half of them are stamps alone, which are valid; content of one octet seldom is.
        let length = if octets % 2 == 0 { 0 } else { usize::from(octets) * 6 };
        let content = vec![octets; length.min(room)];
        Some(lsdu(self.source, SAPS[1], &[&head[..], &content].concat()))
    }

    fn control_pdu(&mut self) -> Option<Frame> {
        let (kind, way) = (self.octet()?, self.octet()?);
        let nonce = if way & 1 == 0 { self.nonce } else { self.nonce ^ u64::from(way) };
        let mut octets = Vec::new();
        if kind % 13 < 2 {
            let body = self.report(kind % 13, way);
            ReportPdu { nonce, body }.encode(&mut octets);
        } else {
            let body = self.body(kind % 13, way);
            if matches!(body, Body::Hello(Hello { cookie: 1.., .. })) {
                self.caller = Some(self.source);
            }
            Pdu { nonce, body }.encode(&mut octets);
        }
        Some(control(self.source, &octets))
    }

    fn report(&mut self, kind: u8, way: u8) -> ReportBody {
        if kind == 0 {
            return ReportBody::Fetch(if way & 2 == 0 { 0 } else { self.word() });
        }
        let arrivals = (0..usize::from(way).min(ON_A_PAGE)).map(|number| Arrival {
            flow: u16::from(way >> 1 & 1),
            sequence: number as u32,
            octets: 100,
            planned: Instant::from_nanos(1_100_000_000),
            sent: (number % 2 == 0).then(|| Instant::from_nanos(1_100_000_000)),
            at: Instant::from_nanos(1_200_000_000 + number as u64),
        });
        let arrivals = arrivals.collect();
        let first = if way & 4 == 0 { 0 } else { self.word() };
        let kept = [0, 40, KEPT as u32, u32::MAX][usize::from(way >> 6)];
        ReportBody::Page(Box::new(Page { first, kept, is_all: way & 8 != 0, arrivals }))
    }

    fn body(&mut self, kind: u8, way: u8) -> Body {
        let limits = Limits {
            frames_per_second: [1_000, 10, 0, u32::MAX][usize::from(way & 3)],
            bits_per_second: [1_000_000, 10_000, 0, u64::MAX][usize::from(way >> 2 & 3)],
        };
        match kind {
            2 | 3 => Body::Hello(Hello {
                role: Role::Sender,
                offered: limits,
                least: Limits::NONE,
                flows: u16::from(way),
                cookie: if kind == 2 { self.cookie } else { 0 },
                program: text("script"),
                purpose: text("hostile"),
                receive: (way & 1 == 1).then(|| ReceivePolicy {
                    acknowledge: Acknowledge::Delay,
                    acknowledge_every: u16::from(way),
                    acknowledgement_delay_ns: u64::from(way) << 56,
                    window: u16::from(way) << 8,
                }),
                has_streams: way & 2 != 0,
            }),
            4 => Body::Accept(Accept {
                limits,
                program: text("script"),
                receive: None,
                has_streams: way & 4 != 0,
            }),
            5 => Body::Refuse(Refusal::Unknown(way)),
            6 | 7 => Body::KeepAlive { counter: way.into() },
            8 => Body::Stop,
            9 => Body::Challenge { cookie: self.word().into() },
            10 => Body::Done,
            11 => {
                let count = u64::from(self.word());
                let counts = Counts {
                    delivered: count,
                    octets: count << 32,
                    duplicates: u64::from(way) << 56,
                    damaged: count,
                    frames: count,
                    not_agreed: 0,
                };
                Body::Counts { counts, is_final: way & 2 == 0 }
            }
            _ => Body::Foreign { version: way, kind: way % 12 },
        }
    }
}

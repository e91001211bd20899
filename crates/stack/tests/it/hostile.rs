//! Entry point of the class 4 entity's fuzz target, also run by plain tests over its corpus. A
//! string of octets is a script of TPDUs, requests and times; the entity must keep its claims under
//! any script:
//!
//! 1. No panic; a bounded number of outputs per call.
//! 2. Only whole TPDUs are sent, no longer than the network or the agreement permits, with correct
//!    checksums.
//! 3. After all expired timers were handled, no timer is due: no live-lock.
//! 4. The numbers of connections and of half-open connections stay within their limits, and memory
//!    is bounded.
//! 5. A user gets one indication of an opening, data only while open, one indication of the end,
//!    and none after it.
//! 6. If the peers fall silent, all connections are deleted in bounded time.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{
    Acknowledgement, Address, Counters, Credit, Endpoint, Entity, Indication, Nsdu, Params,
    Request, Retransmission, RetransmissionTimer, State,
};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{
    Checksum, ClassOption, Connect, Data, Disconnect, DisconnectConfirm, Expedited,
    ExpeditedAcknowledgement, Format, Kind, Parameter, ParameterBuffer, Pdu, Reference, Rejected,
    seal, tpdus,
};

/// Maximum number of outputs of one call: all DTs of a full queue at 100 octets each, and a few for
/// the release.
const OUTPUTS: usize = 1_000;
const QUEUE_OCTETS: usize = 4_096;
const RETAINED_OCTETS: usize = 8_192;
const CONNECTIONS: usize = 4;
/// Maximum octets of a script. A TPDU of the peer takes 5 to 13 of them, a request two, so these
/// are some hundreds of actions, enough to fill windows, queues and tables. The cost of an action
/// grows with the number of connections so far: a longer script would take as long as many shorter
/// ones, which cover more.
const SCRIPT_OCTETS: usize = 1_024;
/// Longest TSDU of a script.
const TSDU_OCTETS: usize = 3_840;
/// Limit for the printed state of an entity: four octets for each octet it may hold, and 16 KiB for
/// the fixed part.
const DESCRIPTION_OCTETS: usize =
    16_384 + CONNECTIONS * 4 * (QUEUE_OCTETS + TSDU_OCTETS + RETAINED_OCTETS + 1_024 + 100 * 1_024);

/// Rest of the script; zeros after its end.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

/// State of a connection from the point of view of its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knows {
    Asked,
    Open,
    Over,
}

/// Encoding of the peer's next TPDU.
#[derive(Clone, Copy)]
struct Manner {
    extended: bool,
    sealed: bool,
    damaged: bool,
    joined: bool,
}

struct Attacked {
    entity: Entity,
    now: Instant,
    params: Params,
    endpoints: Vec<Endpoint>,
    knows: BTreeMap<Endpoint, Knows>,
    /// References that the entity has used.
    references: Vec<u16>,
    nsdu: Vec<u8>,
}

/// Runs a script against an entity; returns its counters.
pub(crate) fn tp4(octets: &[u8]) -> Counters {
    let mut script = Script(octets.get(..SCRIPT_OCTETS).unwrap_or(octets));
    let params = params([script.octet(), script.octet()]);
    let mut attacked = Attacked {
        entity: Entity::new(params.clone(), 0),
        now: Instant::from_nanos(1),
        params,
        endpoints: Vec::new(),
        knows: BTreeMap::new(),
        references: vec![1],
        nsdu: Vec::new(),
    };
    let usual = attacked.usual();
    let mut manner = usual;
    while !script.0.is_empty() {
        let code = script.octet();
        if code & 15 == 15 {
            let flips = |bit: u8| code >> 4 & bit != 0;
            manner = Manner {
                extended: usual.extended ^ flips(1),
                sealed: usual.sealed ^ flips(2),
                damaged: flips(4),
                joined: flips(8),
            };
        } else {
            attacked.act(code & 15, code >> 4, manner, &mut script);
            manner = usual;
        }
    }
    attacked.falls_silent();
    attacked.entity.counters().clone()
}

fn params([first, second]: [u8; 2]) -> Params {
    Params {
        extended: first & 1 != 0,
        checksum: first & 2 != 0,
        expedited: first & 4 != 0,
        concatenate: first & 8 != 0,
        retransmission_timer: match first & 16 {
            0 => RetransmissionTimer::Fixed,
            _ => RetransmissionTimer::Adaptive,
        },
        retransmission: match first >> 5 & 3 {
            0 => Retransmission::First,
            1 => Retransmission::Early,
            2 => Retransmission::All,
            _ => Retransmission::Selective,
        },
        acknowledgement: match second & 3 {
            0 => Acknowledgement::Each,
            1 => Acknowledgement::Withhold,
            2 => Acknowledgement::Delay,
            _ => Acknowledgement::OnRequest,
        },
        credit: match second >> 2 & 3 {
            0 | 1 => Credit::Automatic,
            2 => Credit::ByUser,
            _ => Credit::Taut,
        },
        window: if second & 16 == 0 { 8 } else { 100 },
        tpdu_octets: if second & 32 == 0 { 128 } else { 1_024 },
        nsdu_octets: if second & 64 == 0 { 1_496 } else { 200 },
        transmissions: 3,
        inactivity_time: Duration::from_secs(12),
        queue_octets: QUEUE_OCTETS,
        retained_octets: RETAINED_OCTETS,
        connections: CONNECTIONS,
        half_open: 2,
        ..Params::lan()
    }
}

/// Parameters that a script adds to a TPDU: one, which may be invalid there, and the checksum.
fn parameters(argument: u8, second: u8, sealed: bool, script: &mut Script<'_>) -> ParameterBuffer {
    let mut buffer = ParameterBuffer::new();
    let octets = &script.take(usize::from(argument & 8))[..];
    let added = match argument & 7 {
        0 => None,
        1 => Some(Parameter::AdditionalOptions(second)),
        2 => Some(Parameter::TpduSize(second & 15)),
        3 => Some(Parameter::PreferredTpduSize(u32::from(second))),
        4 => Some(Parameter::Subsequence(u16::from(second))),
        5 => Some(Parameter::Unknown { code: 0x8C, octets }),
        6 => Some(Parameter::AlternativeClasses(octets)),
        _ => Some(Parameter::Unknown { code: second, octets }),
    };
    for parameter in added.into_iter().chain(sealed.then_some(Parameter::Checksum([0, 0]))) {
        buffer.push(&parameter).expect("two parameters of at most eight octets fit");
    }
    buffer
}

fn station(number: u8) -> Address {
    Address::Station(Mac::local(1 + u32::from(number & 1)))
}

impl Attacked {
    const fn usual(&self) -> Manner {
        let Params { extended, checksum: sealed, .. } = self.params;
        Manner { extended, sealed, damaged: false, joined: false }
    }

    /// Executes one step of the script: an operation, its argument of four bits, and its further
    /// octets.
    fn act(&mut self, operation: u8, argument: u8, manner: Manner, script: &mut Script<'_>) {
        let kinds = [Kind::Cr, Kind::Cc, Kind::Ak, Kind::Dt, Kind::Ed, Kind::Ea, Kind::Dr];
        let others = [Kind::Dc, Kind::Er, Kind::Rj];
        match operation {
            0 => {
                let length = usize::from(script.octet());
                self.nsdu.extend(script.take(length));
                self.arrive(argument);
            }
            1..=7 => self.tpdu(kinds[usize::from(operation) - 1], argument, manner, script),
            8 => self.tpdu(others[usize::from(argument % 3)], argument, manner, script),
            9 => self.connect(script),
            14 => self.pass(argument),
            _ => self.user(operation, argument, script),
        }
        self.holds();
    }

    fn connect(&mut self, script: &mut Script<'_>) {
        let endpoint = self.entity.endpoint();
        self.remember(endpoint, Knows::Asked);
        let lengths = [script.octet() % 40, script.octet() % 40, script.octet() % 40];
        let [called, calling, data] = lengths.map(|n| Bytes::from(vec![b'c'; usize::from(n)]));
        let peer = station(lengths[0]);
        self.request(Request::Connect { endpoint, peer, called, calling, data });
    }

    fn user(&mut self, operation: u8, argument: u8, script: &mut Script<'_>) {
        let second = script.octet();
        let place = usize::from(second & 15) % self.endpoints.len().max(1);
        let Some(endpoint) = self.endpoints.get(place).copied() else { return };
        let data = |octets: usize| Bytes::from(vec![b'd'; octets]);
        let buffers = u32::from(second >> 4);
        self.request(match (operation, argument) {
            (10, _) => Request::Accept { endpoint, data: data(usize::from(argument) * 3) },
            (11, _) => Request::Data { endpoint, tsdu: data(usize::from(argument) * 256) },
            (12, _) => Request::Expedited { endpoint, data: data(usize::from(argument) + 2) },
            (_, 0..=7) => Request::GiveBack { endpoint, buffers },
            (_, 8..=12) => Request::Withdraw { endpoint, buffers },
            (_, _) => Request::Disconnect { endpoint, reason: second },
        });
    }

    /// Sends a TPDU of the peer: well-formed except for the additions of the script.
    fn tpdu(&mut self, kind: Kind, argument: u8, manner: Manner, script: &mut Script<'_>) {
        let [to, from, first, second] = [(); 4].map(|()| script.octet());
        let place = usize::from(to) % self.references.len();
        let known = self.references.get(place).copied().unwrap_or(1);
        let destination_reference = Reference(if to >= 0xF8 { u16::from(to) } else { known });
        let source_reference = Reference(u16::from(from & 7));
        let sealed = manner.sealed || kind == Kind::Cr;
        let buffer = parameters(argument, second, sealed, script);
        let data = vec![b'p'; usize::from(second & 0x7F)];
        let data = &data[..if kind.may_carry_data() { data.len() } else { 0 }];
        let parameters = buffer.parameters(kind);
        let format = if manner.extended { Format::Extended } else { Format::Normal };
        // Near zero, on either side.
        let number = i32::from(first as i8) as u32 & (format.modulus() - 1);
        let (credit, next) = (u16::from(second & 15), number);
        let class = ClassOption::from_octet(if first == 0 { 0x42 } else { first });
        let connect = Connect {
            credit: second & 15,
            destination_reference,
            source_reference,
            class,
            parameters,
            data,
        };
        let ak =
            wire::tp::Acknowledgement { format, destination_reference, next, credit, parameters };
        let pdu = match kind {
            Kind::Cr => {
                Pdu::Cr(Connect { destination_reference: Reference(u16::from(to >> 7)), ..connect })
            }
            Kind::Cc => Pdu::Cc(connect),
            Kind::Dr => Pdu::Dr(Disconnect {
                destination_reference,
                source_reference,
                reason: first,
                parameters,
                data,
            }),
            Kind::Dc => {
                Pdu::Dc(DisconnectConfirm { destination_reference, source_reference, parameters })
            }
            Kind::Dt => Pdu::Dt(Data {
                format,
                destination_reference,
                number,
                end_of_tsdu: second & 0x80 != 0,
                acknowledgement_requested: from & 8 != 0,
                parameters,
                data,
            }),
            Kind::Ed => {
                Pdu::Ed(Expedited { format, destination_reference, number, parameters, data })
            }
            Kind::Ak => Pdu::Ak(ak),
            Kind::Rj => Pdu::Rj(ak),
            Kind::Ea => Pdu::Ea(ExpeditedAcknowledgement {
                format,
                destination_reference,
                number,
                parameters,
            }),
            Kind::Er => Pdu::Er(Rejected { destination_reference, cause: first, parameters }),
        };
        self.write(&pdu, sealed, manner, data);
        if !manner.joined {
            self.arrive(from >> 4);
        }
    }

    fn write(&mut self, pdu: &Pdu<'_>, sealed: bool, manner: Manner, data: &[u8]) {
        let mut octets = Vec::new();
        pdu.encode_header(&mut octets);
        if sealed {
            let at = octets.len() - 2;
            seal(&mut octets, at, data);
        }
        octets.extend_from_slice(data);
        if manner.damaged
            && let Some(octet) = octets.last_mut()
        {
            *octet ^= 0x55;
        }
        self.nsdu.extend(octets);
    }

    fn arrive(&mut self, number: u8) {
        let octets = core::mem::take(&mut self.nsdu);
        // Header and user data contiguous or separate, as from the layers below.
        let mut packet = Packet::new(Bytes::from(octets));
        if number & 2 != 0 {
            let octets = packet.take_payload();
            let header =
                tpdus(&octets).next().and_then(Result::ok).map_or(0, |raw| raw.header_octets);
            packet = Packet::new(octets.slice(header..));
            packet.prepend(&octets[..header]);
        }
        self.entity.receive(self.now, Nsdu { peer: station(number), packet });
        self.drain();
    }

    fn request(&mut self, request: Request) {
        self.entity.request(self.now, request);
        self.drain();
    }

    /// Advances the time: to the next deadline, or by 1 ms to 16 s without handling timers
    /// meanwhile.
    fn pass(&mut self, argument: u8) {
        let due = self.entity.deadline().map(|deadline| deadline.at);
        self.now = match argument {
            0 => due.map_or(self.now, |due| self.now.max(due)),
            _ => self.now + Duration::from_millis(1 << argument.min(14)),
        };
        self.expire();
    }

    /// Checks claim 3.
    fn expire(&mut self) {
        for round in 0.. {
            assert!(
                round <= 8 * CONNECTIONS,
                "what is due stays due: {:?}",
                self.entity.deadline()
            );
            self.entity.expire(self.now);
            self.drain();
            if self.entity.deadline().is_none_or(|deadline| deadline.at > self.now) {
                break;
            }
        }
    }

    fn remember(&mut self, endpoint: Endpoint, knows: Knows) {
        assert!(self.knows.insert(endpoint, knows).is_none(), "an endpoint is used twice");
        if self.endpoints.len() == 8 {
            self.endpoints.remove(0);
        }
        self.endpoints.push(endpoint);
    }

    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < OUTPUTS, "no end of outputs");
            let Some(output) = self.entity.poll() else { break };
            match output {
                Output::Send(nsdu) => self.sent(&nsdu.packet.to_bytes()),
                Output::Deliver(indication) => self.told(&indication),
                Output::Note(_) => {}
            }
        }
    }

    /// Checks claim 2.
    fn sent(&mut self, octets: &[u8]) {
        assert!(octets.len() <= self.params.nsdu_octets, "{} octets", octets.len());
        for raw in tpdus(octets) {
            let raw = raw.unwrap();
            let decode = |format| Pdu::decode(&raw, Some(format));
            let pdu = decode(Format::Extended).or_else(|_| decode(Format::Normal)).unwrap();
            assert_ne!(raw.checksum(pdu.parameters(), &[]), Checksum::Bad, "{octets:02x?}");
            match &pdu {
                Pdu::Cr(connect) | Pdu::Cc(connect) => {
                    let named = connect.source_reference.0;
                    assert!(named != 0 && connect.class.class == 4 && raw.octets.len() <= 128);
                    if !self.references.contains(&named) {
                        self.references.push(named);
                    }
                    self.references.drain(..self.references.len().saturating_sub(6));
                }
                Pdu::Dc(dc) => {
                    assert_ne!(dc.destination_reference.0, 0, "a DC with reference zero")
                }
                Pdu::Dt(_) => assert!(raw.octets.len() <= self.params.tpdu_octets),
                Pdu::Ed(ed) => assert!((1..=16).contains(&ed.data.len())),
                Pdu::Dr(_) | Pdu::Ak(_) | Pdu::Ea(_) | Pdu::Er(_) => {}
                Pdu::Rj(_) => panic!("class 4 has no RJ"),
            }
        }
    }

    /// Checks claim 5.
    fn told(&mut self, indication: &Indication) {
        let (endpoint, before, after) = match *indication {
            Indication::Connect { endpoint, .. } => return self.remember(endpoint, Knows::Asked),
            Indication::Confirm { endpoint, .. } | Indication::Established { endpoint } => {
                (endpoint, &[Knows::Asked][..], Knows::Open)
            }
            Indication::Data { endpoint, .. }
            | Indication::Expedited { endpoint, .. }
            | Indication::Drained { endpoint } => (endpoint, &[Knows::Open][..], Knows::Open),
            Indication::Disconnect { endpoint, .. } => {
                (endpoint, &[Knows::Asked, Knows::Open][..], Knows::Over)
            }
            // The answer to a request, in any state.
            Indication::ExpeditedRefused { .. }
            | Indication::Full { .. }
            | Indication::Ready { .. } => return,
            Indication::Closed { .. } => panic!("class 4 has no network connections"),
        };
        let knows = self.knows.get_mut(&endpoint).expect("indication for an unknown endpoint");
        assert!(before.contains(knows), "{indication:?} in state {knows:?}");
        *knows = after;
    }

    /// Checks claim 4, as far as it is cheap.
    fn holds(&self) {
        assert!(self.entity.connections() <= CONNECTIONS);
        let states = self.knows.keys().map(|endpoint| self.entity.state(*endpoint));
        let half_open = states.filter(|state| matches!(state, State::Indicated | State::CcSent));
        assert!(half_open.count() <= self.params.half_open);
        let rooms = self.endpoints.iter().map(|endpoint| self.entity.room(*endpoint));
        assert!(rooms.max().unwrap_or(0) <= QUEUE_OCTETS);
    }

    /// Checks claims 4 and 6: pending users refuse, and no more TPDUs arrive.
    fn falls_silent(&mut self) {
        let description = format!("{:?}", self.entity);
        assert!(description.len() <= DESCRIPTION_OCTETS, "{} octets", description.len());
        let asked: Vec<_> = self.knows.keys().copied().collect();
        for endpoint in asked {
            if self.entity.state(endpoint) == State::Indicated {
                self.request(Request::Disconnect { endpoint, reason: 0 });
            }
        }
        let Params { transmissions, retransmission_time, nsdu_lifetime, .. } = self.params;
        let tries = retransmission_time * transmissions + nsdu_lifetime;
        // I, or the wait for a CC; N transmissions of a DR; L.
        let all = self.params.inactivity_time + tries * 2 + self.params.reference_time;
        let end = self.now + all;
        while let Some(deadline) = self.entity.deadline().filter(|deadline| deadline.at <= end) {
            self.now = self.now.max(deadline.at);
            self.expire();
        }
        assert_eq!(self.entity.connections(), 0, "connections are left");
        let description = format!("{:?}", self.entity);
        for empty in ["by_peer: {}", "agenda: {}", "half_open: 0", "in_use: 0"] {
            assert!(description.contains(empty), "not {empty}: {description}");
        }
    }
}

//! Entry point of the fuzz target `session_machine`: a script of requests, SPDUs, transport events and
//! times for one session machine, also run by plain tests over the corpus.
//!
//! The first octet of a script selects the parameters. Each further octet is an operation in its low
//! three bits, and an argument. The claims are:
//!
//! 1. Nothing panics; each input has a bounded number of outputs.
//! 2. SPDUs that are sent can be decoded, and are sent on a transport connection only.
//! 3. Each primitive to the user is one that the service (ISO 8326) permits in the user's state; a
//!    request that it does not permit is refused and has no other effect.
//! 4. After each expiry the next deadline is in the future.
//! 5. After the loss of the transport connection no session connection and no timer is left.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine as _, Output};
use stack::session::{Below, Connection, Note, Params, Primitive, State};
use std::sync::LazyLock;
use wire::ber::Writer;
use wire::session::{DUPLEX, Kind, Parameters, Pdu, VERSION_1, VERSION_2};
use wire::time::Instant;

/// Maximum number of outputs of one input.
const OUTPUTS: usize = 4;

/// Result of a script, to find out how far it went.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Passed {
    pub(crate) opened: u32,
    pub(crate) received: u32,
    pub(crate) released: u32,
    pub(crate) crossed: u32,
    pub(crate) aborted: u32,
    pub(crate) refused: u32,
    pub(crate) errors: u32,
    pub(crate) timed_out: u32,
}

/// State of the user, by what it has requested and received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum User {
    Idle,
    Asked,
    Indicated,
    Open,
    Releasing,
    Released,
    /// Has requested a release, and has one to answer.
    Crossed,
    /// Has answered a crossing release, and waits for its own confirm.
    Answered,
    /// Own release is confirmed, and the crossing one is still to be answered.
    Confirmed,
}

/// Transport connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transport {
    Absent,
    Requested,
    Open,
}

struct Script {
    now: Instant,
    machine: Connection,
    user: User,
    transport: Transport,
    /// Place and value of the octet to be changed in the next SPDU.
    damage: Option<(u8, u8)>,
    passed: Passed,
}

/// Runs a script, and checks the claims.
pub(crate) fn session(octets: &[u8]) -> Passed {
    let mut rest = octets.iter().copied();
    let options = rest.next().unwrap_or(0);
    let versions = [VERSION_2, VERSION_1, VERSION_1 | VERSION_2, VERSION_2];
    let params = Params {
        versions: versions[usize::from(options & 3)],
        keeps_transport: options & 4 != 0,
        ..Params::version_2()
    };
    let mut script = Script {
        now: Instant::from_nanos(1),
        machine: Connection::new(params),
        user: User::Idle,
        transport: Transport::Absent,
        damage: None,
        passed: Passed::default(),
    };
    while let Some(code) = rest.next() {
        let argument = code >> 3;
        match code & 7 {
            0 => script.connect(),
            1 => script.disconnect(),
            2 | 3 => script.spdu(SHEET[usize::from(argument) % SHEET.len()].to_vec()),
            4 => script.spdu(rest.by_ref().take(usize::from(argument) * 2).collect()),
            5 => script.damage = Some((argument, rest.next().unwrap_or(0))),
            6 => script.request(argument),
            _ => script.wait(argument),
        }
    }
    script.disconnect();
    script.wait(0);
    assert_eq!((script.machine.state(), script.user), (State::Sta01, User::Idle));
    assert_eq!(script.machine.deadline(), None);
    script.passed
}

static SHEET: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let of = |kind, parameters| {
        let mut out = Writer::new();
        Pdu::new(kind, parameters).encode(&mut out);
        Bytes::copy_from_slice(out.octets())
    };
    let none = Parameters::default;
    let opening = |version, requirements| Parameters {
        options: Some(0),
        version: Some(version),
        requirements: Some(requirements),
        user_data: Some(b"user"),
        ..Parameters::default()
    };
    let ending = |disconnect| Parameters { disconnect: Some(disconnect), ..Parameters::default() };
    let refusal = |reason| Parameters { reason: Some(reason), ..ending(1) };
    vec![
        of(Kind::Cn, opening(VERSION_2, DUPLEX)),
        of(Kind::Ac, opening(VERSION_2, DUPLEX)),
        of(Kind::Cn, opening(VERSION_1, DUPLEX)),
        of(Kind::Ac, opening(VERSION_1, DUPLEX)),
        of(Kind::Cn, opening(VERSION_2, 1)),
        of(Kind::Ac, opening(VERSION_1 | VERSION_2, DUPLEX)),
        of(Kind::Cn, none()),
        of(Kind::Rf, refusal(2)),
        of(Kind::Rf, Parameters { reason: Some(0x81), ..ending(0) }),
        of(Kind::Fn, none()),
        of(Kind::Fn, ending(0)),
        of(Kind::Dn, none()),
        of(Kind::Ab, ending(3)),
        of(Kind::Ab, ending(2)),
        of(Kind::Ab, ending(5)),
        of(Kind::Ab, none()),
        of(Kind::Aa, none()),
        Bytes::from_static(&[1, 0, 1, 0, b'd', b'a', b't', b'a']),
        Bytes::from_static(&[1, 0]),
        Bytes::from_static(&[1, 0, 1, 0]),
        Bytes::from_static(&[1, 0, 9, 0]),
    ]
});

impl Script {
    // ---- transport and peer ---------------------------------------------------------------------

    fn connect(&mut self) {
        if self.transport != Transport::Open {
            self.transport = Transport::Open;
            self.receive(Below::Connect);
        }
    }

    fn disconnect(&mut self) {
        if self.transport != Transport::Absent {
            self.transport = Transport::Absent;
            self.receive(Below::Disconnect);
            assert_eq!(self.machine.deadline(), None, "a timer without transport");
        }
    }

    fn spdu(&mut self, mut octets: Vec<u8>) {
        if let Some((place, value)) = self.damage.take()
            && let Some(octet) = octets.get_mut(usize::from(place))
        {
            *octet ^= value;
        }
        if self.transport == Transport::Open {
            self.receive(Below::Data(octets.into()));
        }
    }

    fn receive(&mut self, below: Below) {
        self.machine.receive(self.now, below);
        self.drain();
    }

    // ---- user -----------------------------------------------------------------------------------

    fn request(&mut self, argument: u8) {
        let data = Bytes::from(vec![argument; usize::from(argument >> 3) * 9]);
        let [calling, called] = [Bytes::from_static(b"c"), Bytes::new()];
        let (user, primitive) = (self.user, argument & 7);
        let next = match (user, primitive) {
            (User::Idle, 0) => Some(User::Asked),
            (User::Indicated, 1) => Some(User::Open),
            (User::Indicated, 2) => Some(User::Idle),
            (User::Open | User::Released, 3) => Some(user),
            (User::Open, 4) => Some(User::Releasing),
            (User::Crossed, 5) => Some(User::Answered),
            (User::Released | User::Confirmed, 5) => Some(User::Idle),
            (User::Idle, _) => None,
            (_, 6) => Some(User::Idle),
            _ => None,
        };
        let primitive = match primitive {
            0 => Primitive::Connect { calling, called, data },
            1 => Primitive::Accept { data },
            2 => Primitive::Refuse { reason: 0, data },
            3 => Primitive::Data { ssdu: data },
            4 => Primitive::Release { data },
            5 => Primitive::Released { data },
            6 => Primitive::Abort { data },
            _ => Primitive::ProviderAbort { reason: stack::session::Reason::ByPeer },
        };
        self.machine.request(self.now, primitive);
        let refused = Output::Note(Note::Refused);
        match self.machine.poll() {
            Some(output) if output == refused => {
                // A connection may still be ending, or belong to the peer.
                let is_early = user == User::Idle;
                assert!(next.is_none() || is_early, "{user:?} refused, {:?}", self.machine);
                assert_eq!(self.machine.poll(), None, "a refused request has an effect");
                self.passed.refused += 1;
            }
            output => {
                let next = next.unwrap_or_else(|| panic!("{user:?} may not, {:?}", self.machine));
                self.user = next;
                output.into_iter().for_each(|output| self.output(output));
                self.drain();
            }
        }
    }

    // ---- time -----------------------------------------------------------------------------------

    /// Passes time: to the next deadline, or a number of half seconds.
    fn wait(&mut self, argument: u8) {
        let deadline = self.machine.deadline().map_or(self.now, |deadline| deadline.at);
        let later = self.now + Duration::from_millis(u64::from(argument) * 500);
        self.now = self.now.max(if argument == 0 { deadline } else { later });
        self.passed.timed_out +=
            u32::from(self.machine.deadline().is_some_and(|it| it.at <= self.now));
        self.machine.expire(self.now);
        self.drain();
        let is_over = self.machine.deadline().is_none_or(|deadline| deadline.at > self.now);
        assert!(is_over, "{:?} at {:?}", self.machine.deadline(), self.now);
    }

    // ---- outputs --------------------------------------------------------------------------------

    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < OUTPUTS, "no end of outputs");
            let Some(output) = self.machine.poll() else { return };
            self.output(output);
        }
    }

    fn output(&mut self, output: Output<Below, Primitive, Note>) {
        match output {
            Output::Send(Below::Connect) => {
                assert_eq!(self.transport, Transport::Absent);
                self.transport = Transport::Requested;
            }
            Output::Send(Below::Data(tsdu)) => {
                assert_eq!(self.transport, Transport::Open, "an SPDU without transport");
                Pdu::decode(&tsdu).expect("what is sent can be decoded");
            }
            Output::Send(Below::Disconnect) => {
                assert_ne!(self.transport, Transport::Absent);
                self.transport = Transport::Absent;
            }
            Output::Deliver(primitive) => self.tell(&primitive),
            Output::Note(_) => self.passed.errors += 1,
        }
    }

    fn tell(&mut self, primitive: &Primitive) {
        let user = self.user;
        self.user = match (user, primitive) {
            (User::Idle, Primitive::Connect { .. }) => User::Indicated,
            (User::Asked, Primitive::Accept { .. }) => User::Open,
            (User::Asked, Primitive::Refuse { .. }) => User::Idle,
            (User::Open | User::Releasing, Primitive::Data { .. }) => user,
            (User::Open, Primitive::Release { .. }) => User::Released,
            (User::Releasing, Primitive::Release { .. }) => User::Crossed,
            (User::Releasing | User::Answered, Primitive::Released { .. }) => User::Idle,
            (User::Crossed, Primitive::Released { .. }) => User::Confirmed,
            (User::Idle, _) => panic!("{primitive:?} to an idle user: {:?}", self.machine),
            (_, Primitive::Abort { .. } | Primitive::ProviderAbort { .. }) => User::Idle,
            (user, other) => panic!("{other:?} to a user that is {user:?}: {:?}", self.machine),
        };
        let passed = &mut self.passed;
        passed.opened += u32::from(matches!(
            (user, self.user),
            (User::Asked, User::Open) | (User::Idle, User::Indicated)
        ));
        passed.received += u32::from(matches!(primitive, Primitive::Data { .. }));
        passed.released += u32::from(matches!(primitive, Primitive::Released { .. }));
        passed.crossed += u32::from(self.user == User::Crossed);
        let is_abort =
            matches!(primitive, Primitive::Abort { .. } | Primitive::ProviderAbort { .. });
        passed.aborted += u32::from(is_abort);
    }
}

use super::*;
use crate::session::carrier::OnWake;
use live::runner::Stopped;
use stack::load::{Flow, FlowId, Pattern, Service};
use stack::messaging::Priority;
use stack::station::{Station, Transmission};
use wire::addr::Mac;
use wire::units::BitRate;

const CALLER: Mac = Mac::local(1);
const HERE: Mac = Mac::local(2);
const MESSAGES: u64 = 21;

fn party(address: Mac, offered: Option<Limits>) -> Party {
    let params = HostParams {
        address,
        transport: tp4::Params::lan(),
        network: clnp::Params::inactive(Nsap::of_station(address)),
        last_reference: 0,
        accepts: true,
        saps: vec![SAP],
        framing: Framing::Ieee8023,
        messaging: None,
    };
    Party::new(Host::new(params, Vec::new()), control::Params::new(offered, 1, text("test")))
}

/// LAN on which the responder is so slow that the caller's call, its load and its end have all
/// arrived when it first wakes.
struct Slow {
    caller: Party,
}

impl Slow {
    /// Carries frames in both directions until both are idle.
    fn carry(&mut self, party: &mut Party) {
        let mut is_busy = true;
        while is_busy {
            is_busy = pass(&mut self.caller, party) | pass(party, &mut self.caller);
        }
    }
}

/// Carries the frames of one party to the other; returns whether there were any.
fn pass(from: &mut Party, to: &mut Party) -> bool {
    let mut any = false;
    while let Some(frame) = from.poll() {
        from.transmitted(clock::now(), 0, Transmission::Sent);
        to.receive(clock::now(), frame);
        any = true;
    }
    any
}

impl Carrier for Slow {
    fn run(
        &mut self,
        party: &mut Party,
        _until: Instant,
        _stop: &AtomicBool,
        on_wake: OnWake<'_>,
    ) -> Result<Stopped, SessionError> {
        self.carry(party);
        while let Some(told) = self.caller.told() {
            if let Indication::Opened { .. } = told {
                self.caller.host.add(Flow {
                    id: FlowId(1),
                    peer: HERE,
                    service: Service::Class4,
                    priority: Priority::LOWEST,
                    pattern: Pattern::Bulk,
                    size_octets: 100,
                    messages: Some(MESSAGES),
                    start: Instant::ZERO,
                    seed: 1,
                });
                Station::expire(&mut self.caller, clock::now());
                self.carry(party);
                self.caller.request(clock::now(), Request::Stop);
                self.carry(party);
            }
        }
        let control = on_wake(party, clock::now());
        Ok(if control == Control::Stop { Stopped::Satisfied } else { Stopped::Ended })
    }

    fn unpredictable(&mut self) -> Result<u128, SessionError> {
        Ok(1)
    }

    fn offered(&self) -> Limits {
        Limits { frames_per_second: 1_000, bits_per_second: BitRate::mbps(1).bits_per_second() }
    }

    fn agree(&mut self, _limits: Limits) {}

    fn disagree(&mut self) {}

    fn is_within_host(&self) -> bool {
        false
    }
}

#[test]
fn load_that_arrives_with_the_call_is_counted() {
    let mut caller = party(CALLER, None);
    let offered = Limits { frames_per_second: 1_000, bits_per_second: 1_000_000 };
    caller.request(
        clock::now(),
        Request::Open(control::Call {
            peer: HERE,
            nonce: 7,
            role: wire::control::Role::Sender,
            offered,
            least: Limits::NONE,
            flows: 2,
            purpose: text("load"),
            receive: None,
            is_policy_needed: false,
            has_streams: false,
        }),
    );
    let host = party(HERE, None).host;
    let mut waiting = Waiting::new(Box::new(Slow { caller }), host).unwrap();
    let served = waiting.serve(Instant::MAX, &AtomicBool::new(false)).unwrap().unwrap();
    assert!(served.complete);
    assert_eq!((served.counts.delivered, served.counts.octets), (MESSAGES, 100 * MESSAGES));
    // A CR, and a DT for each message; the AKs and the DR need not be counted here.
    assert!(served.counts.frames > MESSAGES);
    assert_eq!(served.transport.received[wire::tp::Kind::Dt as usize], MESSAGES);
}

//! Two threads, a hub between them: a question that is sure to arrive, and its answer.
use live::port::Hub;
use live::runner::{Control, Runner};
use stack::messaging::{Address, Options, Params, Side, SideState};
use stack::profile::Messenger;
use wire::{addr::Mac, time::Instant};

const SOCKET: u8 = 4;

/// Runs a station until it has heard something and what it says is acknowledged.
fn station(hub: &Hub, own: Mac, to: Address, is_first: bool, says: &'static str) {
    let mut it = Messenger::new(own, Params::lan()).expect("these parameters can be");
    let acked = Options { acknowledged: true, transmissions: 8, ..Options::plain() };
    let is_open = it.sockets.open(Instant::ZERO, SOCKET).is_accepted();
    assert!(is_open && it.sockets.option(SOCKET, acked).is_accepted());
    assert!(it.sockets.enable_reception(Instant::ZERO, SOCKET, 100).is_accepted());
    let (mut has_heard, mut may_speak) = (false, is_first);
    let on_wake = |it: &mut Messenger, now| {
        if let Some(message) = it.sockets.take(SOCKET) {
            println!("{own} hears {:?} from {}", message.data.to_bytes(), message.from);
            (has_heard, may_speak) = (true, !is_first);
        }
        if core::mem::take(&mut may_speak) {
            assert!(it.sockets.transmit(now, SOCKET, to, says.into()).is_accepted());
        }
        let said = it.sockets.status(SOCKET, Side::Transmit) == Ok(SideState::Idle);
        if has_heard && said { Control::Stop } else { Control::Continue }
    };
    let (mut runner, mut port, stop) = (Runner::new(), hub.port(own), Default::default());
    runner.run(&mut it, &mut port, Instant::MAX, &stop, on_wake).expect("a hub lasts");
}

fn main() {
    let (hub, at) = (Hub::new(100), |n| Address { station: Mac::local(n), socket: SOCKET });
    std::thread::scope(|scope| {
        scope.spawn(|| station(&hub, Mac::local(2), at(1), false, "350 degrees"));
        station(&hub, Mac::local(1), at(2), true, "heading?");
    });
}

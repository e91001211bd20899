//! Timeouts: operations limited to 5 ms, without a receiver and without a sender.
mod over;

use stack::messaging::{Options, Side, SideState};
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends to a station that does not exist, listens, and prints both outcomes.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    let time = Some(core::time::Duration::from_millis(5));
    if it.sockets.open(now, SOCKET).is_accepted() {
        let plain = Options { acknowledged: true, transmissions: 8, ..Options::plain() };
        let options = Options { transmit_time: time, receive_time: time, ..plain };
        assert!(it.sockets.option(SOCKET, options).is_accepted());
        let sent = it.sockets.transmit(now, SOCKET, over::at(9, SOCKET), "anybody?".into());
        assert!(sent.is_accepted());
        assert!(it.sockets.enable_reception(now, SOCKET, 100).is_accepted());
    }
    let states = [Side::Transmit, Side::Receive].map(|side| it.sockets.status(SOCKET, side));
    if states == [Ok(SideState::TimedOut); 2] {
        println!("both: {}", SideState::TimedOut);
        over::done();
    }
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(|_, _| None)]);
}

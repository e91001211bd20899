//! Acknowledged message, retransmitted if need be.
mod over;

use stack::messaging::{Options, Side, SideState};
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends a message, and prints its outcome.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let options = Options { acknowledged: true, transmissions: 8, ..Options::plain() };
        assert!(it.sockets.option(SOCKET, options).is_accepted());
        let sent = it.sockets.transmit(now, SOCKET, over::at(2, SOCKET), "350 degrees".into());
        assert!(sent.is_accepted());
    } else if it.sockets.status(SOCKET, Side::Transmit) == Ok(SideState::Idle) {
        println!("acknowledged");
        over::done();
    }
    None
}

/// Prints the messages that arrive.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    let _ = it.sockets.open(now, SOCKET);
    let message = it.sockets.take(SOCKET);
    let _ = it.sockets.enable_reception(now, SOCKET, 100);
    println!("received: {:?}", message?.data.to_bytes());
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver)]);
}

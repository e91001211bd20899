//! Message to a group of stations, which cannot be acknowledged.
mod over;

use stack::messaging::Address;
use stack::profile::Messenger;
use stack::station::Station;
use std::sync::atomic::{AtomicU32, Ordering};
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends a message to all stations of the group.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let to = Address { station: over::GROUP, socket: SOCKET };
        assert!(it.sockets.transmit(now, SOCKET, to, "turn to port".into()).is_accepted());
    }
    None
}

/// Prints the message; the second receiver ends the example.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    static HEARD: AtomicU32 = AtomicU32::new(0);
    let _ = it.sockets.open(now, SOCKET);
    let message = it.sockets.take(SOCKET);
    let _ = it.sockets.enable_reception(now, SOCKET, 100);
    assert_eq!(message.as_ref()?.from, over::at(1, SOCKET));
    println!("{} received {:?}", it.addr(), message?.data.to_bytes());
    if HEARD.fetch_add(1, Ordering::Relaxed) == 1 {
        over::done();
    }
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver), Box::new(receiver)]);
}

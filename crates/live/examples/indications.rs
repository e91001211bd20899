//! Indications: a user is notified when an operation is over, and need not poll.
mod over;

use stack::messaging::{Indication, Options};
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends a message, and prints its indication.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let acked = Options { acknowledged: true, transmissions: 8, ..Options::plain() };
        let options = Options { transmit_indication: true, ..acked };
        assert!(it.sockets.option(SOCKET, options).is_accepted());
        let sent = it.sockets.transmit(now, SOCKET, over::at(2, SOCKET), "350 degrees".into());
        assert!(sent.is_accepted());
    }
    let Indication::Transmitted { completion, .. } = it.indication()? else { return None };
    println!("transmitted: {completion:?}");
    over::done();
    None
}

/// Receives a message, and prints its indication.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let options = Options { receive_indication: true, ..Options::plain() };
        assert!(it.sockets.option(SOCKET, options).is_accepted());
        assert!(it.sockets.enable_reception(now, SOCKET, 100).is_accepted());
    }
    let Indication::Received { completion, .. } = it.indication()? else { return None };
    println!("received: {completion:?}");
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver)]);
}

//! Message without acknowledgement: one frame, whose transmission is reported to the sender.
mod over;

use stack::messaging::{Side, SideState};
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends a message.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let sent = it.sockets.transmit(now, SOCKET, over::at(2, SOCKET), "350 degrees".into());
        assert!(sent.is_accepted());
        assert_eq!(it.sockets.status(SOCKET, Side::Transmit), Ok(SideState::Pending));
    }
    None
}

/// Prints the messages that arrive.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    let _ = it.sockets.open(now, SOCKET);
    let message = it.sockets.take(SOCKET);
    let _ = it.sockets.enable_reception(now, SOCKET, 100);
    println!("received: {:?}", message?.data.to_bytes());
    over::done();
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver)]);
}

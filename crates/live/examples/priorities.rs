//! Priorities: an alarm queued after several charts is sent first.
mod over;

use stack::messaging::{Options, Priority};
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Queues eight charts, and then the alarm.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    let priorities = [(SOCKET, Priority::LOWEST, 8), (6, Priority::HIGHEST, 1)];
    for (socket, priority, pending_transmits) in priorities {
        if it.sockets.open(now, socket).is_accepted() {
            let options = Options { priority, pending_transmits, ..Options::plain() };
            assert!(it.sockets.option(socket, options).is_accepted());
            let (to, data) = (over::at(2, SOCKET), if socket == 6 { "fire" } else { "chart" });
            while it.sockets.transmit(now, socket, to, data.into()).is_accepted() {}
        }
    }
    None
}

/// Prints the first message that arrives.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    let _ = it.sockets.open(now, SOCKET);
    let _ = it.sockets.enable_reception(now, SOCKET, 100);
    println!("first: {:?}", it.sockets.take(SOCKET)?.data.to_bytes());
    over::done();
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver)]);
}

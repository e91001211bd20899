//! CRC from end to end: a message without a valid CRC is counted, and not delivered.
mod over;

use stack::messaging::Options;
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Sends one message without a CRC, and one with it.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    for (socket, crc) in [(SOCKET, false), (6, true)] {
        if it.sockets.open(now, socket).is_accepted() {
            assert!(it.sockets.option(socket, Options { crc, ..Options::plain() }).is_accepted());
            let data = if crc { "with" } else { "without" };
            let sent = it.sockets.transmit(now, socket, over::at(2, SOCKET), data.into());
            assert!(sent.is_accepted());
        }
    }
    None
}

/// Requires a CRC, and prints the messages that have one.
fn receiver(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let options = Options { crc: true, ..Options::plain() };
        assert!(it.sockets.option(SOCKET, options).is_accepted());
        assert!(it.sockets.enable_reception(now, SOCKET, 100).is_accepted());
    }
    let message = it.sockets.take(SOCKET)?;
    println!("{:?}, and {} bad", message.data.to_bytes(), it.sockets.counters().bad_crc);
    over::done();
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(receiver)]);
}

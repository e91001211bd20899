//! State of a socket's side, and its reset.
mod over;

use stack::messaging::Side;
use stack::profile::Messenger;
use wire::time::Instant;

const SOCKET: u8 = 4;

/// Prints the state of both sides before and after they are reset.
fn sender(it: &mut Messenger, now: Instant) -> Option<Instant> {
    if it.sockets.open(now, SOCKET).is_accepted() {
        let sides = [Side::Transmit, Side::Receive];
        let sent = it.sockets.transmit(now, SOCKET, over::at(2, SOCKET), "never mind".into());
        assert!(sent.is_accepted());
        assert!(it.sockets.enable_reception(now, SOCKET, 100).is_accepted());
        for side in sides {
            println!("{side:?}: {}", it.sockets.status(SOCKET, side).expect("it is open"));
            assert!(it.sockets.reset(now, SOCKET, side).is_accepted());
            println!("{side:?}: {}", it.sockets.status(SOCKET, side).expect("it is open"));
        }
        assert!(it.sockets.close(now, SOCKET).is_accepted());
        over::done();
    }
    None
}

fn main() {
    over::run(vec![Box::new(sender), Box::new(|_, _| None)]);
}

//! Station in Rust that receives from the C program `send`, and sends to the C program `receive`.

use bytes::Bytes;
use live::clock;
use live::port::Port;
use live::runner::{Control, Runner, Stopped};
use stack::messaging::{Address, Options, Params, Side, SideState};
use stack::profile::Messenger;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wire::addr::Mac;

/// Socket of the C programs.
const SOCKET: u8 = 4;
/// Long enough for any machine, and a limit in case of an error.
const MOST: Duration = Duration::from_secs(60);

pub(crate) struct Peer {
    messenger: Messenger,
    port: Box<dyn Port>,
}

impl Peer {
    pub(crate) fn new(port: Box<dyn Port>) -> Self {
        let mut messenger = Messenger::new(port.addr(), Params::lan()).unwrap();
        let now = clock::now();
        let options =
            Options { acknowledged: true, crc: true, transmissions: 100, ..Options::plain() };
        assert!(messenger.sockets.open(now, SOCKET).is_accepted());
        assert!(messenger.sockets.option(SOCKET, options).is_accepted());
        Self { messenger, port }
    }

    fn run(&mut self, on_wake: impl FnMut(&mut Messenger, wire::time::Instant) -> Control) {
        let (until, stop) = (clock::now() + MOST, AtomicBool::new(false));
        let stopped =
            Runner::new().run(&mut self.messenger, &mut *self.port, until, &stop, on_wake);
        assert_eq!(stopped.unwrap(), Stopped::Satisfied);
    }

    /// Receives the next `count` messages; returns each with its sender.
    pub(crate) fn receive(&mut self, count: usize) -> Vec<(Address, String)> {
        let mut heard = Vec::new();
        self.run(|messenger, now| {
            while let Some(message) = messenger.sockets.take(SOCKET) {
                let text = String::from_utf8(message.data.to_bytes().to_vec()).unwrap();
                heard.push((message.from, text));
            }
            let _ = messenger.sockets.enable_reception(now, SOCKET, 100);
            if heard.len() < count { Control::Continue } else { Control::Stop }
        });
        heard
    }

    /// Sends these, each acknowledged before the next.
    pub(crate) fn send(&mut self, to: Mac, texts: &[&'static str]) {
        let (to, mut left) = (Address { station: to, socket: SOCKET }, texts.iter());
        self.run(|messenger, now| match messenger.sockets.status(SOCKET, Side::Transmit) {
            Ok(SideState::Idle) => match left.next() {
                Some(text) => {
                    let data = Bytes::from_static(text.as_bytes());
                    assert!(messenger.sockets.transmit(now, SOCKET, to, data).is_accepted());
                    Control::Continue
                }
                None => Control::Stop,
            },
            Ok(SideState::Failed | SideState::TimedOut) | Err(_) => panic!("not acknowledged"),
            Ok(SideState::Pending | SideState::InProgress) => Control::Continue,
        });
    }
}

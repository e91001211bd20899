//! `tidewire-tap`: listens on an interface and writes the frames to standard output as pcapng.
//!
//! It is the only part of tidewire that needs the right to listen (CAP_NET_RAW), and is small for
//! that reason. Once the interface is open it drops all rights, including that one, and restricts
//! itself to reading the ring, writing to its output, and ending: see [`sandbox`]. The packet
//! socket never leaves it. Frames are stripped to their headers unless requested otherwise.
//!
//! Not included: opening files, more than one interface, and options for the ring.

mod options;
mod sandbox;
mod stream;

use live::interface::{Interface, Kind};
use live::port::{PortError, Wait};
use live::tap::{Collection, Stamps, Tap, TapParams};
use options::{Asked, Options};
use std::process::ExitCode;

/// Kernel buffer in octets for use while the output is not read.
const BUFFER_OCTETS: i32 = 16 << 20;

// Exit codes of tidewire: tidewire help exit-codes.
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const PERMISSION_MISSING: u8 = 5;

/// Fatal error: the exit code and the message.
struct Failure(u8, String);

fn main() -> ExitCode {
    // First of all: a program that may listen must not be taken over by one that may not.
    if let Err(error) = sandbox::hide() {
        eprintln!("tidewire-tap: cannot protect itself from other processes: {error}");
        return ExitCode::from(FAILED);
    }
    let asked = match options::parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(complaint) => {
            eprintln!("tidewire-tap: {complaint}\n\n{}", options::USAGE);
            return ExitCode::from(USAGE);
        }
    };
    let options = match asked {
        Asked::Help => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Asked::Listen(options) => options,
    };
    match listen(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(code, said)) => {
            eprintln!("tidewire-tap: {said}");
            ExitCode::from(code)
        }
    }
}

fn listen(options: &Options) -> Result<(), Failure> {
    let tap = open(options).map_err(|error| {
        let is_permission = matches!(error, PortError::NotPermitted { .. });
        Failure(if is_permission { PERMISSION_MISSING } else { FAILED }, error.to_string())
    })?;
    tap.lock_filter().map_err(|error| Failure(FAILED, error.to_string()))?;
    let failed = |doing: &str| {
        let doing = doing.to_owned();
        move |error: std::io::Error| Failure(FAILED, format!("cannot {doing}: {error}"))
    };
    let out = stream::output().map_err(failed("use standard output"))?;
    if options.until_end_of_input {
        sandbox::ignore_interrupts();
    }
    let confined = sandbox::enter(tap.number(), &out).map_err(failed("give up rights"))?;
    if !confined.filters_calls && !options.until_end_of_input {
        eprintln!(
            "tidewire-tap: no system call filter for this kind of processor; going on without"
        );
    }
    if options.probe {
        return sandbox::probe(tap.number(), out).map_err(failed("write"));
    }
    stream::run(tap, out, options).map_err(|error| Failure(FAILED, error))
}

fn open(options: &Options) -> Result<Tap, PortError> {
    // A loopback delivers every frame twice: as it is sent and as it is received.
    let is_loopback = Interface::named(&options.interface)?.kind == Kind::Loopback;
    Tap::open(&TapParams {
        interface: options.interface.clone(),
        namespace: None,
        snap_octets: options.snap_octets,
        promiscuous: true,
        outgoing: !is_loopback,
        buffer_octets: BUFFER_OCTETS,
        collection: Collection::Ring(Stamps::Kernel),
        filter: options.filter.clone(),
        wait: Wait::Block,
    })
}

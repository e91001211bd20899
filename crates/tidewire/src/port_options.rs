//! The port options of `measure` and `serve`.

use crate::args::PortOptions;
use crate::exit::Failure;
use crate::permission;
use bench::scenario::Faults;
use bench::session::SessionError;
use bench::session::foreign::is_near;
use bench::session::iso_tcp::{Class, End, IsoWay, IsoWayParams};
use bench::session::way::{self, Way, WayParams, Wire};
use live::port::PortError;
use std::net::{SocketAddr, ToSocketAddrs};
use wire::tpkt;

/// Opens the way that the options describe.
///
/// # Errors
/// Usage errors, missing permissions, and errors of the port.
pub(crate) fn open(options: &PortOptions, seed: u64) -> anyhow::Result<Way> {
    let wire = match (&options.interface, &options.xdp, options.udp) {
        (Some(interface), ..) => Wire::Interface(interface.clone()),
        (None, Some(interface), _) => Wire::Xdp(interface.clone()),
        (None, None, Some(address)) => Wire::Udp { address, peer: options.udp_peer },
        (None, None, None) => {
            let fix = "name an interface with -i, an address with --udp 127.0.0.1:5001, or \
                       --over iso-tcp://127.0.0.1:4102";
            return Err(Failure::usage("no port").with_fix(fix).into());
        }
    };
    let faults = options.fault.as_deref().map(faults).transpose()?;
    let params = WayParams {
        wire,
        faults,
        seed,
        capture: options.capture.clone(),
        frames_per_second: options.max_frames,
    };
    Way::open(&params).map_err(explain)
}

/// The faults that an option describes.
pub(crate) fn faults(text: &str) -> Result<Faults, Failure> {
    way::faults(text).map_err(|error| {
        Failure::scenario_is_wrong(format!("no such faults:\n{error}"), error)
            .with_fix("tidewire help faults")
    })
}

/// The address in the value of --over: this host where none is named, port 102 where none is.
pub(crate) fn over(url: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: &str| {
        let fix = "iso-tcp://127.0.0.1:4102, say; the port may be left out and is then 102";
        Failure::usage(format!("--over {url:?}: {why}")).with_fix(fix)
    };
    let rest = url.strip_prefix("iso-tcp://").ok_or_else(|| wrong("not an iso-tcp address"))?;
    let (host, port) = match rest.rsplit_once(':') {
        // The last colon of [::1] is part of the address.
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().map_err(|_| wrong("no such port"))?)
        }
        _ => (rest, tpkt::PORT),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    let mut addresses =
        (host, port).to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    addresses.next().ok_or_else(|| wrong("the name has no address"))
}

/// The class preferred.
pub(crate) fn class(number: u8) -> Result<Class, Failure> {
    match number {
        0 => Ok(Class::Class0),
        // RFC 2126 4.2.1: flow control is TCP's over TCP.
        2 => Ok(Class::Class2 { flow_control: false }),
        _ => Err(Failure::usage(format!("--class {number}: there are 0 and 2 over TCP"))),
    }
}

/// Opens the way over TCP that the options describe.
///
/// # Errors
/// Usage errors, and errors of the system.
pub(crate) fn open_iso_tcp(
    options: &PortOptions,
    end: End,
    class: Class,
) -> anyhow::Result<IsoWay> {
    let (End::Client(address) | End::Server(address)) = end;
    // Listening at the unspecified address is listening at all of them.
    let may_be_anywhere = options.allow_public && !options.foreign_peer;
    if !may_be_anywhere && !is_near(address.ip()) {
        let message = format!("--over: {address} is neither on this host nor in a private network");
        let fix = "name such an address, or add --allow-public if the plant's rules allow it";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let params = IsoWayParams {
        end,
        class,
        echoes: options.foreign_peer,
        frames_per_second: options.max_frames,
    };
    IsoWay::open(params).map_err(explain)
}

/// A session error with what would mend it.
pub(crate) fn explain(error: SessionError) -> anyhow::Error {
    match error {
        SessionError::Port(PortError::NotLoopback(address)) => {
            let message = format!("{address} is not a loopback address");
            Failure::usage(message).with_fix("use 127.0.0.1, or an interface with -i").into()
        }
        SessionError::Port(error) => permission::failure(&error).into(),
        SessionError::Faults(_)
        | SessionError::NoConnection(_)
        | SessionError::Mms(_)
        | SessionError::File(_)
        | SessionError::NoPriority(_)
        | SessionError::TooFar(_)
        | SessionError::TooLong { .. }
        | SessionError::TooManyFlows { .. } => Failure::usage(error.to_string()).into(),
        other => Failure::failed(other.to_string()).into(),
    }
}

/// A size as people type it: octets where no unit is given, and no space needed before one.
pub(crate) fn size(name: &str, text: &str) -> Result<usize, Failure> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = if unit.trim().is_empty() { "B" } else { unit.trim() };
    let size: bench::scenario::Size = crate::quantity::option(name, &format!("{number} {unit}"))?;
    Ok(size.octets())
}

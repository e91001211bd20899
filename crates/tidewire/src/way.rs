//! The port options of `measure` and `serve`.

use crate::args::PortOptions;
use crate::exit::Failure;
use crate::permission;
use bench::session::SessionError;
use bench::session::way::{Way, WayParams, Wire, faults};
use live::port::PortError;

/// Opens the way that the options describe.
///
/// # Errors
/// Usage errors, missing permissions, and what the port said.
pub(crate) fn open(options: &PortOptions, seed: u64) -> anyhow::Result<Way> {
    let wire = match (&options.interface, options.udp) {
        (Some(interface), _) => Wire::Interface(interface.clone()),
        (None, Some(address)) => Wire::Udp { address, peer: options.udp_peer },
        (None, None) => {
            let fix = "name an interface with -i, or an address with --udp 127.0.0.1:5001";
            return Err(Failure::usage("no port").with_fix(fix).into());
        }
    };
    let faults = match &options.fault {
        Some(text) => Some(faults(text).map_err(|error| {
            Failure::usage(format!("--fault {text:?}:\n{error}")).with_fix("tidewire help faults")
        })?),
        None => None,
    };
    let params = WayParams {
        wire,
        faults,
        seed,
        capture: options.capture.clone(),
        frames_per_second: options.max_frames,
    };
    Way::open(&params).map_err(explain)
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

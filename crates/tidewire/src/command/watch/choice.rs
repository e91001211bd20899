//! Source of `watch` without a file and an interface: the built-in capture, or the first interface that is up.

use crate::args::Watch;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::permission;
use crate::quantity::{significant, value};
use crate::table::{Align, Table};
use bench::analysis::Unit;
use core::time::Duration;
use live::clock;
use live::interface::{Interface, Kind};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Name of the built-in capture, as the system shows it.
const DEMO: &str = "tidewire-demo.pcapng";
/// Time over which rates are counted.
const SPAN: Duration = Duration::from_millis(500);

/// Makes the built-in capture the source. It is in memory as long as the returned file is open.
///
/// # Errors
/// The system has no memory for it.
pub(super) fn demo(watch: &mut Watch) -> Result<File, Failure> {
    let cannot = |error: std::io::Error| Failure::failed(format!("--demo: {error}"));
    let memory = memfd_create(DEMO, MemfdFlags::CLOEXEC).map_err(|error| cannot(error.into()))?;
    let mut file = File::from(memory);
    file.write_all(crate::command::demo::CELL).map_err(cannot)?;
    watch.source.read = vec![PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))];
    Ok(file)
}

/// Returns true for the path of the built-in capture.
pub(super) fn is_demo(path: &Path) -> bool {
    path.starts_with("/proc/self/fd")
        && fs::read_link(path).is_ok_and(|link| link.to_string_lossy().contains(DEMO))
}

/// All interfaces.
///
/// # Errors
/// The system's error.
pub(super) fn interfaces() -> Result<Vec<Interface>, Failure> {
    Interface::all().map_err(|error| permission::failure(&error))
}

/// The first interface that is up and no loopback, one with a link before one without.
pub(super) fn first(all: &[Interface]) -> Option<String> {
    let is_up = |it: &&Interface| it.is_up && it.kind != Kind::Loopback;
    let with_link = all.iter().filter(is_up).find(|it| it.has_link);
    with_link.or_else(|| all.iter().find(is_up)).map(|it| it.name.clone())
}

/// Interface with its traffic, as a record.
#[derive(Serialize)]
#[serde(tag = "type", rename = "interface")]
struct Record<'a> {
    name: &'a str,
    is_up: bool,
    has_link: bool,
    /// Rate of its link, if known.
    link_bits_per_second: Option<u64>,
    /// Frames that it received, per second.
    frames_per_second: Option<f64>,
    bits_per_second: Option<f64>,
}

/// Frames and octets that an interface has received since it was made.
#[derive(Clone, Copy)]
struct Received {
    frames: u64,
    octets: u64,
}

impl Received {
    fn of(name: &str) -> Option<Self> {
        let counter = |which: &str| {
            let path = Path::new("/sys/class/net").join(name).join("statistics").join(which);
            fs::read_to_string(path).ok()?.trim().parse().ok()
        };
        Some(Self { frames: counter("rx_packets")?, octets: counter("rx_bytes")? })
    }
}

/// Prints all interfaces with their rates, in place of a measurement.
///
/// # Errors
/// The interfaces cannot be listed, or standard output cannot be written.
pub(super) fn list(reason: &str, output: &Output) -> anyhow::Result<Exit> {
    let all = interfaces()?;
    let before: Vec<_> = all.iter().map(|it| Received::of(&it.name)).collect();
    clock::sleep_until(clock::now() + SPAN);
    let mut table = Table::new([
        ("interface", Align::Left),
        ("state", Align::Left),
        ("link", Align::Right),
        ("frames/s", Align::Right),
        ("received", Align::Right),
    ]);
    for (interface, before) in all.iter().zip(before) {
        let now = before.zip(Received::of(&interface.name));
        let rate = |of: fn(Received) -> u64| {
            now.map(|(before, now)| of(now).saturating_sub(of(before)) as f64 / SPAN.as_secs_f64())
        };
        let (frames, octets) = (rate(|it| it.frames), rate(|it| it.octets));
        let bits = octets.map(|octets| octets * 8.0);
        let link = interface.rate.map(|rate| rate.bits_per_second());
        output.record(&Record {
            name: &interface.name,
            is_up: interface.is_up,
            has_link: interface.has_link,
            link_bits_per_second: link,
            frames_per_second: frames,
            bits_per_second: bits,
        })?;
        let state = match (interface.kind, interface.is_up, interface.has_link) {
            (Kind::Loopback, ..) => "loopback",
            (_, false, _) => "down",
            (_, true, false) => "up, no link",
            (_, true, true) => "up",
        };
        let shown = |rate: Option<f64>| {
            rate.map_or_else(|| "-".to_owned(), |it| value(Unit::BitsPerSecond, it))
        };
        table.row([
            interface.name.clone(),
            state.to_owned(),
            shown(link.map(|it| it as f64)),
            frames.map_or_else(|| "-".to_owned(), |it| significant(it, 3)),
            shown(bits),
        ]);
    }
    output.line(format_args!("{reason}:"))?;
    output.line(table.to_string().trim_end())?;
    output
        .remark("tidewire watch -i INTERFACE listens on one; -r FILE and --demo need no privilege");
    Ok(Exit::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::addr::Mac;

    fn interface(name: &str, kind: Kind, is_up: bool, has_link: bool) -> Interface {
        let (name, mac) = (name.to_owned(), Mac([2, 0, 0, 0, 0, 1]));
        Interface { index: 1, name, mtu: 1_500, mac, is_up, has_link, rate: None, kind }
    }

    #[test]
    fn the_first_interface_with_a_link_is_chosen() {
        let (lo, down) = (
            interface("lo", Kind::Loopback, true, true),
            interface("eth0", Kind::Wire, false, false),
        );
        let (no_link, up) =
            (interface("eth1", Kind::Wire, true, false), interface("eth2", Kind::Veth, true, true));
        let chosen =
            |all: &[&Interface]| first(&all.iter().map(|it| (*it).clone()).collect::<Vec<_>>());
        assert_eq!(chosen(&[&lo, &down, &no_link, &up]), Some("eth2".to_owned()));
        assert_eq!(chosen(&[&lo, &down, &no_link]), Some("eth1".to_owned()));
        assert_eq!(chosen(&[&lo, &down]), None);
    }
}

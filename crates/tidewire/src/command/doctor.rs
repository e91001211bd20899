//! `tidewire doctor`: what this machine can do, and what to do about what it cannot.

use crate::busy::Host;
use crate::exit::Exit;
use crate::listener::{self, Listener, Times, Wanted};
use crate::output::Output;
use crate::{host, oldest_runs, permission, quantity};
use bench::paragraph::wrapped;
use live::clock;
use live::hardware_clock::HardwareStamps;
use live::interface::{Interface, Kind};
use live::tap::Stamps;
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use wire::filter::Filter;

/// CAP_NET_RAW's place among the capabilities.
const CAP_NET_RAW: u32 = 13;
/// Those of CAP_NET_ADMIN and CAP_BPF, which AF_XDP takes in addition.
const CAP_NET_ADMIN: u32 = 12;
const CAP_BPF: u32 = 39;
/// The port that is there on every machine, and enough of its frames.
const LOOPBACK: &str = "lo";
const SNAP_OCTETS: usize = 64;
/// Long enough for a datagram to reach the process that sent it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

/// Subject and finding of the check.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "check")]
struct Check {
    status: Status,
    what: String,
    fix: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "end")]
struct End {
    complete: bool,
    error: Option<String>,
}

impl Check {
    fn new(status: Status, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), fix: None }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// Prints every check on its line. Succeeds regardless of their results.
pub(crate) fn run(output: &Output) -> anyhow::Result<Exit> {
    let host = Host::look();
    let mut checks = vec![capability(), helper(&listener::helper(), may_use_raw()), af_xdp()];
    checks.extend(interfaces());
    checks.extend([
        clock_source(),
        wall_clock(clock::wall_error()),
        governor(),
        cores(),
        load(&host),
        wakes(&host),
        run_folders(Path::new("runs")),
        loopback(),
    ]);
    for check in &checks {
        output.record(check)?;
        let status = match check.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        };
        output.line(wrapped(&format!("{status:4}  "), &check.what))?;
        if let Some(fix) = &check.fix {
            // Not wrapped: most are commands to copy.
            output.line(format_args!("      fix: {fix}"))?;
        }
    }
    output.record(&End { complete: true, error: None })?;
    Ok(Exit::Ok)
}

fn capability() -> Check {
    match fs::read_to_string("/proc/self/status").ok().as_deref().and_then(effective) {
        Some(capabilities) if capabilities >> CAP_NET_RAW & 1 == 1 => {
            Check::new(Status::Ok, "CAP_NET_RAW: may listen and send on LAN interfaces")
        }
        Some(_) => Check::new(Status::Warn, "CAP_NET_RAW is missing: no live port; files work")
            .fix(permission::give(&host::program())),
        None => Check::new(Status::Warn, "cannot tell which capabilities this process has"),
    }
}

/// Checks `tidewire-tap`, which listens where this process may not: lets it
/// listen on the loopback until it reports success or failure. A missing helper is a warning if this process
/// may not listen either.
fn helper(path: &Path, may_listen: bool) -> Check {
    let what = format!("tidewire-tap: {}", path.display());
    if !path.is_file() {
        if may_listen {
            return Check::new(
                Status::Ok,
                format!("{what} is missing, and not needed with CAP_NET_RAW"),
            );
        }
        let what = format!("{what} is missing: watch and capture have no live port through it");
        let give = permission::give_to_helper(path);
        return Check::new(Status::Warn, what)
            .fix(format!("put tidewire-tap of this version there, then {give}"));
    }
    let wanted = Wanted {
        interface: LOOPBACK,
        filter: Filter::all(),
        snap_octets: SNAP_OCTETS,
        by_helper: true,
        times: Times::Steady,
        stamps: Some(Stamps::Kernel),
    };
    match Listener::open(&wanted) {
        Ok(_) => Check::new(Status::Ok, format!("{what} may listen")),
        Err(failure) if failure.is_permission() => {
            let why = match permission::group_of(path) {
                Some(group) => format!("may be started by members of the group {group} only"),
                None => "may not listen: it has no CAP_NET_RAW".to_owned(),
            };
            Check::new(Status::Warn, format!("{what} {why}")).fix(permission::give_to_helper(path))
        }
        Err(failure) => {
            let said = failure.to_string();
            let line = said.lines().next().unwrap_or_default();
            Check::new(Status::Warn, format!("{what} does not listen: {line}"))
        }
    }
}

/// True if this process has all capabilities that AF_XDP takes.
pub(super) fn may_use_xdp() -> bool {
    has_all(&[CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF])
}

/// True if this process may listen on LAN interfaces itself.
fn may_use_raw() -> bool {
    has_all(&[CAP_NET_RAW])
}

fn has_all(wanted: &[u32]) -> bool {
    let status = fs::read_to_string("/proc/self/status").ok();
    let capabilities = status.as_deref().and_then(effective).unwrap_or(0);
    wanted.iter().all(|capability| capabilities >> capability & 1 == 1)
}

/// AF_XDP is optional, so its absence is no warning.
fn af_xdp() -> Check {
    let what = if may_use_xdp() {
        "AF_XDP: may open interfaces with --xdp"
    } else {
        "AF_XDP: --xdp needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; -i does without the last two"
    };
    Check::new(Status::Ok, what)
}

/// The effective capabilities in the text of `/proc/self/status`.
fn effective(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

fn interfaces() -> Vec<Check> {
    match Interface::all() {
        Ok(interfaces) if interfaces.is_empty() => {
            vec![Check::new(Status::Warn, "no interfaces here")]
        }
        Ok(interfaces) => interfaces.iter().map(interface).collect(),
        Err(error) => vec![Check::new(Status::Fail, format!("interfaces: {error}"))],
    }
}

/// True if no device and no peer is behind an interface: it exists in software only.
fn is_virtual(interface: &Interface) -> bool {
    let folder = Path::new("/sys/class/net").join(&interface.name);
    interface.kind == Kind::Wire && folder.is_dir() && !folder.join("device").exists()
}

fn interface(interface: &Interface) -> Check {
    let Interface { name, is_up, has_link, rate, kind, .. } = interface;
    let kind = match kind {
        Kind::Loopback => "loopback",
        Kind::Veth => "veth",
        Kind::Wire => "wire",
    };
    let rate = rate.map_or_else(|| "rate unknown".to_owned(), |rate| rate.to_string());
    let says = |state: &str| format!("interface {name}: {kind}, {state}, {rate}");
    match (is_up, has_link) {
        // Such as ifb0 and dummy0, which are down until a program needs them.
        (false, _) if is_virtual(interface) => Check::new(Status::Ok, says("down, virtual")),
        (false, _) => Check::new(Status::Warn, says("down"))
            .fix(format!("sudo ip link set {} up", permission::quoted(name))),
        (true, false) => Check::new(Status::Warn, says("up, no link")),
        (true, true) => match interface.hardware_stamps() {
            HardwareStamps::By(_) => {
                Check::new(Status::Ok, format!("{}, stamps frames", says("up")))
            }
            HardwareStamps::Off => {
                let what = format!("{}, could stamp frames by its own clock", says("up"));
                Check::new(Status::Warn, what).fix(permission::turn_on_stamps(name))
            }
            HardwareStamps::OfPtp | HardwareStamps::None => Check::new(Status::Ok, says("up")),
        },
    }
}

fn clock_source() -> Check {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(source) = host::clock_source() else {
        return Check::new(Status::Warn, "cannot tell what the clock is read from");
    };
    if !["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(&source.as_str()) {
        return Check::new(Status::Ok, format!("clock is read from {source}"));
    }
    let check = Check::new(Status::Warn, format!("clock is read from {source}, which is slow"));
    let others = host::line(&format!("{folder}/available_clocksource")).unwrap_or_default();
    if others.split_whitespace().any(|other| other == "tsc") {
        return check.fix(format!("echo tsc | sudo tee {folder}/current_clocksource"));
    }
    check
}

/// Times in captures are times of day; delays within this machine never are.
fn wall_clock(error: Option<Duration>) -> Check {
    match error {
        Some(error) => {
            let error = quantity::span(wire::time::nanos(error));
            Check::new(Status::Ok, format!("the time of day is right within {error}"))
        }
        None => {
            let what = "nothing sets the time of day: times of two machines do not compare";
            Check::new(Status::Warn, what).fix("sudo timedatectl set-ntp true")
        }
    }
}

fn governor() -> Check {
    let Some(governors) = host::governors() else {
        return Check::new(Status::Ok, "processor frequencies are not set by this system");
    };
    let what = format!("frequency governor: {}", governors.join(", "));
    if governors == ["performance"] {
        return Check::new(Status::Ok, what);
    }
    Check::new(Status::Warn, format!("{what}; delays vary with the frequency"))
        .fix("sudo cpupower frequency-set -g performance")
}

fn cores() -> Check {
    match host::cores() {
        1 => Check::new(Status::Warn, "one core: sender and receiver wait for each other"),
        cores => Check::new(Status::Ok, format!("{cores} cores")),
    }
}

/// Checks the load by other programs.
fn load(host: &Host) -> Check {
    match host.load() {
        Some((load, true)) => {
            Check::new(Status::Warn, format!("{load}: delays include waiting for others"))
                .fix("measure when less runs here")
        }
        Some((load, false)) => Check::new(Status::Ok, load),
        None => Check::new(Status::Warn, "the load of this machine is unknown"),
    }
}

/// Checks how late sleeps end; every measured delay includes this.
fn wakes(host: &Host) -> Check {
    if host.is_late() {
        return Check::new(Status::Warn, host.wake()).fix("measure when less runs here");
    }
    Check::new(Status::Ok, host.wake())
}

/// Checks that run folders can be written; leaves no file behind.
fn run_folders(runs: &Path) -> Check {
    match try_run_folders(runs) {
        Ok(()) => Check::new(
            Status::Ok,
            format!("run folders can be written in ./{}{}", runs.display(), kept(runs)),
        ),
        Err(error) => {
            let what = format!("run folders cannot be written in ./{}: {error}", runs.display());
            Check::new(Status::Warn, what).fix("tidewire predict SCENARIO --output FOLDER")
        }
    }
}

/// Number and size of the run folders that are there, if any.
fn kept(root: &Path) -> String {
    match oldest_runs::count(root) {
        (0, _) => String::new(),
        (1, octets) => format!("; 1 is there, {}", oldest_runs::size_of(octets)),
        (runs, octets) => {
            let size = oldest_runs::size_of(octets);
            format!("; {runs} are there, {size} (--keep-runs and --keep-size limit them)")
        }
    }
}

fn try_run_folders(runs: &Path) -> io::Result<()> {
    let made = match fs::create_dir(runs) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    let probe = runs.join(format!(".doctor-{}", std::process::id()));
    let result = File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
    if made {
        fs::remove_dir(runs)?;
    }
    result
}

fn loopback() -> Check {
    match try_loopback() {
        Ok(()) => Check::new(Status::Ok, "UDP over loopback works"),
        Err(error) => Check::new(Status::Fail, format!("UDP over loopback: {error}"))
            .fix("sudo ip link set lo up"),
    }
}

/// Sends a datagram to itself.
pub(super) fn try_loopback() -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send_to(b"tidewire", socket.local_addr()?)?;
    let mut room = [0; 16];
    let (octets, _) = socket.recv_from(&mut room)?;
    if room.starts_with(b"tidewire") && octets == 8 {
        return Ok(());
    }
    Err(io::Error::other("a datagram came back changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status_of_the_process() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000002000\n";
        assert_eq!(effective(status).map(|found| found >> CAP_NET_RAW & 1), Some(1));
        assert_eq!(effective("Name:\tx\n"), None);
    }

    #[test]
    fn a_missing_helper_is_a_warning_unless_it_is_not_needed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tidewire-tap");
        let needed = helper(&path, false);
        assert_eq!(needed.status, Status::Warn);
        assert!(needed.what.contains(" is missing: "), "{}", needed.what);
        assert!(needed.fix.is_some_and(|fix| fix.contains("setcap cap_net_raw=ep ")));
        let spare = helper(&path, true);
        assert_eq!((spare.status, spare.fix), (Status::Ok, None));
        assert!(spare.what.ends_with(" is missing, and not needed with CAP_NET_RAW"));
    }

    #[test]
    fn a_clock_that_nothing_sets_is_told_with_its_fix() {
        let set = wall_clock(Some(Duration::from_micros(1_500)));
        assert_eq!((set.status, set.fix), (Status::Ok, None));
        assert_eq!(set.what, "the time of day is right within 1.50 ms");
        let unset = wall_clock(None);
        assert!(unset.status == Status::Warn && unset.fix.is_some());
    }

    #[test]
    fn looking_whether_folders_can_be_written_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let runs = root.path().join("runs");
        assert_eq!(run_folders(&runs).status, Status::Ok);
        assert!(!runs.exists());
        fs::create_dir(&runs).unwrap();
        assert_eq!(run_folders(&runs).status, Status::Ok);
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
        fs::remove_dir(&runs).unwrap();
        fs::write(&runs, "in the way").unwrap();
        assert_eq!(run_folders(&runs).status, Status::Warn);
    }
}

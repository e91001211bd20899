//! Live port, read by this process or by `tidewire-tap`, which has no other right.

use crate::exit::Failure;
use crate::threaded_reader::Pipe;
use crate::{host, output, permission};
use core::time::Duration;
use live::clock::{self, Correlation};
use live::hardware_clock::HardwareStamps;
use live::interface::{Interface, Kind};
use live::port::{PortError, Wait};
use live::tap::{Collection, Fill, Sighting, Stamps, Tap, TapParams};
use records::StampClock;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::capture::{Capture, CaptureError, Record, Resolution, SNAP_OCTETS, Statistics};
use wire::dissect::Link;
use wire::filter::Filter;
use wire::time::{Instant, nanos};

/// Greatest age of a frame when it is taken from a port that was silent: twice as long as the ring holds a block
/// back, and a tick or two. Time on a port may advance to this much before now, and no further.
pub(crate) const LAG: Duration = Duration::from_millis(80);

/// Size of the kernel's buffer, in octets, for times in which the terminal is slow.
const BUFFER_OCTETS: i32 = 16 << 20;
/// The helper's name, and its exit code where it may not listen.
const HELPER: &str = "tidewire-tap";
const NOT_PERMITTED: i32 = 5;
/// Time for the helper to hand over its last frames.
const LAST: Duration = Duration::from_secs(1);

/// Clock of the times of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// By a clock that never steps, which shows the time of day as it was in the beginning.
    Steady,
    /// By the kernel's own stamps as they stand, which two ports can be compared by.
    Stamps,
}

/// Settings of a listener.
pub(crate) struct Wanted<'a> {
    pub(crate) interface: &'a str,
    /// The kernel drops frames that a few octets exclude; the caller filters the rest.
    pub(crate) filter: Filter,
    /// Frames are cut after this.
    pub(crate) snap_octets: usize,
    /// True to listen through the helper, even if this process has the right.
    pub(crate) by_helper: bool,
    pub(crate) times: Times,
    /// Clock of the stamps; none for that of the interface where it stamps every frame. The helper
    /// has the kernel's, and is not used where those of the interface are asked for.
    pub(crate) stamps: Option<Stamps>,
}

/// A port that is listened to.
pub(crate) enum Listener {
    /// By this process.
    Own(Box<Own>),
    /// By the helper.
    Helper(Box<Helper>),
}

pub(crate) struct Own {
    /// The interface's name.
    interface: String,
    tap: Tap,
    stamps: Stamps,
    /// Relation of the time of day, in which frames are reported, to the clock that never steps.
    day: Correlation,
    times: Times,
    /// Number of frames still to come, after a stop.
    rest: Option<u64>,
    /// True while the interface is down. Frames arrive again when it is up.
    is_down: bool,
    /// Octets that this host sends; none with a filter, and on the loopback, where arrivals show all of them.
    sent: Option<SentOctets>,
}

/// Octets of frames that this host sends on an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SentOctets {
    /// As the interface counted them: at first when the tap was opened, later since then.
    pub(crate) by_interface: u64,
    /// As the tap saw them.
    pub(crate) at_tap: u64,
}

impl SentOctets {
    /// Octets that an interface counts without a tap's seeing them, such as pads.
    const SLACK: u64 = 4_096;

    /// Counts from now on; none if the interface does not state its count.
    fn begin(interface: &str) -> Option<Self> {
        Some(Self { by_interface: counted(interface)?, at_tap: 0 })
    }

    /// Counts up to now.
    fn end(self, interface: &str) -> Option<Self> {
        let by_interface = counted(interface)?.saturating_sub(self.by_interface);
        Some(Self { by_interface, ..self })
    }

    /// True if programs send past the taps: the tap saw less than half of the octets.
    const fn are_missing(self) -> bool {
        self.by_interface / 2 > self.at_tap.saturating_add(Self::SLACK)
    }
}

/// Octets that an interface sent since it exists.
fn counted(interface: &str) -> Option<u64> {
    let file = Path::new("/sys/class/net").join(interface).join("statistics/tx_bytes");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

pub(crate) struct Helper {
    child: Child,
    capture: Capture,
    /// Longest wait of a read.
    patience: Arc<AtomicU64>,
    is_stopped: bool,
    /// The interface's name, and whether it went down.
    interface: String,
    is_down: bool,
}

/// Path of the helper, next to this program.
pub(crate) fn helper() -> PathBuf {
    host::program().with_file_name(HELPER)
}

impl Listener {
    /// Listens, through the helper where this process may not and the helper is there.
    pub(crate) fn open(wanted: &Wanted<'_>) -> Result<Self, Failure> {
        let helper = helper();
        let is_there = helper.is_file();
        if wanted.by_helper {
            return match is_there {
                true => Helper::open(&helper, wanted).map(Box::new).map(Self::Helper),
                false => Err(Failure::failed(format!("{} does not exist", helper.display()))),
            };
        }
        let day = Correlation::read();
        match open_tap(wanted) {
            Ok((tap, stamps)) => Ok(Self::Own(Box::new(Own {
                interface: wanted.interface.to_owned(),
                sent: (wanted.filter.is_all() && tap.interface().kind != Kind::Loopback)
                    .then(|| SentOctets::begin(wanted.interface))
                    .flatten(),
                tap,
                stamps,
                day,
                times: wanted.times,
                rest: None,
                is_down: false,
            }))),
            Err(error @ PortError::NotPermitted { .. })
                if is_there && wanted.stamps != Some(Stamps::Hardware) =>
            {
                match Helper::open(&helper, wanted) {
                    Ok(helper) => Ok(Self::Helper(Box::new(helper))),
                    Err(failure) if failure.is_permission() => {
                        Err(cannot_open(wanted.interface, &error, Some(&helper)))
                    }
                    Err(failure) => Err(failure),
                }
            }
            Err(error) => Err(cannot_open(wanted.interface, &error, None)),
        }
    }

    /// By whom and by which clock, for a line on the terminal.
    pub(crate) const fn through(&self) -> &'static str {
        match self {
            Self::Own(own) => match own.stamps {
                Stamps::Kernel => " with stamps of the kernel",
                Stamps::Hardware => " with stamps of its own clock",
            },
            Self::Helper(_) => " through tidewire-tap, with stamps of the kernel",
        }
    }

    /// Clock that stamps the frames.
    pub(crate) const fn stamp_clock(&self) -> StampClock {
        match self {
            Self::Own(own) => match own.stamps {
                Stamps::Kernel => StampClock::Kernel,
                Stamps::Hardware => StampClock::Interface,
            },
            Self::Helper(_) => StampClock::Kernel,
        }
    }

    /// The next frame, its time since the Unix epoch; waits for one until `until`. Nothing means that
    /// none came, or, of one that was stopped, that none will.
    pub(crate) fn receive(&mut self, until: Instant) -> Result<Option<Record<'_>>, Failure> {
        match self {
            Self::Own(own) => own.receive(until),
            Self::Helper(helper) => helper.receive(until),
        }
    }

    /// Stops after the frames that arrived before now.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Own(own) => {
                own.rest = Some(own.tap.waiting().unwrap_or(0));
                own.sent = own.sent.and_then(|sent| sent.end(&own.interface));
            }
            Self::Helper(helper) => {
                helper.is_stopped = true;
                drop(helper.child.stdin.take());
            }
        }
    }

    /// Octets that this host sent up to the stop, if most of them passed the tap unseen.
    pub(crate) fn unseen(&self) -> Option<SentOctets> {
        match self {
            Self::Own(own) if own.rest.is_some() => own.sent.filter(|sent| sent.are_missing()),
            _ => None,
        }
    }

    /// Number of frames that arrived and were not read yet, if known.
    pub(crate) fn waiting(&mut self) -> u64 {
        match self {
            Self::Own(own) => own.tap.waiting().unwrap_or(0),
            Self::Helper(_) => 0,
        }
    }

    /// Counters so far; none if they are not available.
    pub(crate) fn statistics(&mut self) -> Statistics {
        match self {
            Self::Own(own) => own.tap.statistics().map_or_else(
                |_| Statistics::default(),
                |counted| Statistics {
                    accepted: Some(counted.received + counted.dropped),
                    dropped_by_system: Some(counted.dropped),
                    ring_full: Some(counted.frozen),
                    ..Statistics::default()
                },
            ),
            Self::Helper(helper) => helper
                .capture
                .interfaces()
                .first()
                .map(|first| first.statistics)
                .unwrap_or_default(),
        }
    }

    /// The interface as a capture of it describes it, with what was counted so far.
    pub(crate) fn described(&mut self, name: &str) -> wire::capture::Interface {
        wire::capture::Interface {
            link: Link::Ethernet,
            name: name.to_owned(),
            snap_octets: SNAP_OCTETS as u32,
            fcs_octets: 0,
            resolution: Resolution::NANO,
            offset_seconds: 0,
            leaves_out_data: false,
            statistics: self.statistics(),
        }
    }

    /// Share of the kernel's ring that waits to be read, from 0 to 1; none where the helper reads it.
    pub(crate) fn ring_fill(&self) -> Option<f64> {
        match self {
            Self::Own(own) => own.tap.fill().map(Fill::share),
            Self::Helper(_) => None,
        }
    }

    /// Frames the kernel dropped so far.
    pub(crate) fn dropped(&mut self) -> Option<u64> {
        self.statistics().dropped()
    }
}

impl Own {
    fn receive(&mut self, until: Instant) -> Result<Option<Record<'_>>, Failure> {
        match &mut self.rest {
            Some(0) => return Ok(None),
            Some(rest) => *rest -= 1,
            None => {}
        }
        let Self { interface, tap, day, times, is_down, sent, .. } = self;
        let stamped = |frame: &Sighting<'_>| {
            frame.wall_nanos.filter(|_| *times == Times::Stamps).map(Instant::from_nanos)
        };
        // The socket stays bound: the kernel reports once that the interface is down, and passes frames on
        // again when it is up.
        let sighting = match tap.receive(until) {
            Ok(Some(sighting)) => {
                *is_down = false;
                sighting
            }
            Ok(None) if *is_down => return gone(interface),
            Ok(None) => return Ok(None),
            Err(PortError::Down(name)) if !permission::is_gone(&name) => {
                *is_down = true;
                say_down(&name);
                return Ok(None);
            }
            Err(error) => return Err(permission::failure(&error)),
        };
        let frame = sighting;
        if let Some(sent) = sent.as_mut().filter(|_| frame.outgoing) {
            sent.at_tap += frame.original_octets as u64;
        }
        Ok(Some(Record {
            at: stamped(&frame).unwrap_or_else(|| day.to_wall(frame.at)),
            link: Link::Ethernet,
            octets: frame.octets,
            original_octets: frame.original_octets,
            interface: 0,
        }))
    }
}

fn say_down(interface: &str) {
    output::say(format_args!("warning: interface {interface} is down; waiting until it is up"));
}

/// Looks at an interface for a helper that can do nothing but listen: it reports once that the interface went down. A failure
/// where it is there no more.
fn look_after<'a>(interface: &str, is_down: &mut bool) -> Result<Option<Record<'a>>, Failure> {
    match Interface::named(interface) {
        Ok(found) => {
            if !found.is_up && !*is_down {
                say_down(interface);
            }
            *is_down = !found.is_up;
            Ok(None)
        }
        Err(_) => gone(interface),
    }
}

/// A failure where the interface is there no more; nothing otherwise.
fn gone<'a>(interface: &str) -> Result<Option<Record<'a>>, Failure> {
    if permission::is_gone(interface) {
        return Err(permission::failure(&PortError::Down(interface.to_owned())));
    }
    Ok(None)
}

impl Helper {
    fn open(program: &Path, wanted: &Wanted<'_>) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .arg(wanted.interface)
            .args(["--keep-data", "--until-end-of-input", "--snap"])
            .arg(wanted.snap_octets.to_string())
            .args(["--filter", &wanted.filter.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(program, &error))?;
        let out = child.stdout.take().expect("standard output is a pipe");
        let patience = Arc::new(AtomicU64::new(u64::MAX / 2));
        match Capture::open(Pipe::patient(out, Arc::clone(&patience))) {
            Ok(capture) => {
                let interface = wanted.interface.to_owned();
                let (is_stopped, is_down) = (false, false);
                Ok(Self { child, capture, patience, is_stopped, interface, is_down })
            }
            // It ended before it wrote anything, and reports the reason.
            Err(error) => Err(why_ended(&mut child, program, &error)),
        }
    }

    fn receive(&mut self, until: Instant) -> Result<Option<Record<'_>>, Failure> {
        let span = if self.is_stopped { LAST } else { until.since(clock::now()) };
        self.patience.store(nanos(span), Ordering::Relaxed);
        match self.capture.next() {
            Ok(None) if !self.is_stopped => {
                let program = Path::new(HELPER);
                Err(why_ended(&mut self.child, program, &"its output ended"))
            }
            Ok(record) => Ok(record),
            Err(CaptureError::Unreadable { kind: std::io::ErrorKind::WouldBlock, .. }) => {
                look_after(&self.interface, &mut self.is_down)
            }
            Err(error) => Err(Failure::failed(format!("{HELPER}: {error}"))),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends when its input does, or when its reader closes the pipe.
        self.patience.store(0, Ordering::Relaxed);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Failure of a helper that cannot be started; that of a package is for members of a group.
fn not_started(program: &Path, error: &io::Error) -> Failure {
    match permission::group_of(program) {
        Some(group) => {
            let message = format!("only members of the group {group} may start {HELPER}");
            Failure::permission(message).with_fix(permission::give_to_helper(program))
        }
        None => Failure::failed(format!("cannot start {}: {error}", program.display())),
    }
}

/// Failure that the helper reports at its end.
fn why_ended(child: &mut Child, program: &Path, what: &dyn core::fmt::Display) -> Failure {
    drop(child.stdin.take());
    let mut said = String::new();
    if let Some(mut from) = child.stderr.take() {
        let _ = from.read_to_string(&mut said);
    }
    let code = child.wait().ok().and_then(|status| status.code());
    let line = said.lines().next().unwrap_or_default();
    let line = line.strip_prefix("tidewire-tap: ").unwrap_or(line);
    let what = if line.is_empty() { what.to_string() } else { line.to_owned() };
    let what = format!("{HELPER}: {what}");
    if code == Some(NOT_PERMITTED) {
        return Failure::permission(what).with_fix(permission::give(program));
    }
    Failure::failed(what)
}

/// Opens a tap on an interface that captures each frame once; the clock of its stamps.
fn open_tap(wanted: &Wanted<'_>) -> Result<(Tap, Stamps), PortError> {
    let found = Interface::named(wanted.interface)?;
    // A loopback shows every frame twice: as it goes and as it comes.
    let is_loopback = found.kind == Kind::Loopback;
    let stamps = match wanted.stamps {
        Some(stamps) => stamps,
        None => match found.hardware_stamps() {
            HardwareStamps::By(_) => Stamps::Hardware,
            _ => Stamps::Kernel,
        },
    };
    let open = |stamps| tap(wanted, stamps, is_loopback).map(|tap| (tap, stamps));
    match open(stamps) {
        Err(error @ PortError::HardwareClock { .. }) if wanted.stamps.is_none() => {
            output::say(format_args!("{error}; the kernel's stamps are used"));
            open(Stamps::Kernel)
        }
        opened => opened,
    }
}

fn tap(wanted: &Wanted<'_>, stamps: Stamps, is_loopback: bool) -> Result<Tap, PortError> {
    Tap::open(&TapParams {
        interface: wanted.interface.to_owned(),
        namespace: None,
        snap_octets: wanted.snap_octets,
        promiscuous: true,
        outgoing: !is_loopback,
        buffer_octets: BUFFER_OCTETS,
        collection: Collection::Ring(stamps),
        filter: wanted.filter.clone(),
        wait: Wait::Block,
    })
}

/// As for every port, and the way that takes no permission.
fn cannot_open(interface: &str, error: &PortError, helper: Option<&Path>) -> Failure {
    let failure = permission::failure(error);
    if let PortError::NotPermitted { .. } = error {
        let interface = permission::quoted(interface);
        let give = permission::give(&host::program());
        let helper = helper.map(permission::give_to_helper).map_or_else(String::new, |give| {
            format!("\n  or, for tidewire-tap, which can only listen:\n       {give}")
        });
        return failure.with_fix(format!(
            "{give}{helper}\n  or, without a privilege for tidewire:\n       \
             sudo tcpdump -i {interface} -U -w - | tidewire watch -r -"
        ));
    }
    failure
}

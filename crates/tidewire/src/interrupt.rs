//! Ctrl-C: the first stops the work and keeps what there is, the second ends the process.

use anyhow::Context;
use core::time::Duration;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Longest wait before the next check for an interrupt.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(100);

/// Exit code after a second interrupt.
const ABORTED: i32 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
/// True if the signal handler is installed.
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Files that are being opened: a FIFO that no process writes to blocks its opening.
static OPENING: AtomicUsize = AtomicUsize::new(0);

/// Opens a file for reading. An interrupt meanwhile ends the process, because nothing was begun.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    waiting(path, || File::open(path))
}

/// Reads a small file whole, as [`open`] opens it.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    waiting(path, || fs::read_to_string(path))
}

/// Opens a file for writing, from its beginning, as [`open`] opens one for reading.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    waiting(path, || File::create(path))
}

/// Does what a FIFO with this name blocks until another process opens it. An interrupt meanwhile, or before it, ends
/// the process.
fn waiting<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    if !fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) {
        return act();
    }
    OPENING.fetch_add(1, Ordering::SeqCst);
    if requested() {
        std::process::exit(ABORTED);
    }
    let done = act();
    OPENING.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Has a write beyond the limit of file sizes fail as one to a full disk does, and not end the process
/// (SIGXFSZ).
pub(crate) fn report_size_limit() -> io::Result<()> {
    let unread = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, unread).map(drop)
}

/// Takes over SIGINT, SIGTERM and SIGHUP; the flag they set. Those that the process was started to
/// ignore, as nohup does, stay ignored. `first` runs at the first signal, and `second` at the second
/// before the process ends.
pub(crate) fn install_with(first: fn(), second: fn()) -> anyhow::Result<&'static AtomicBool> {
    if INSTALLED.swap(true, Ordering::Relaxed) {
        anyhow::bail!("cannot listen for interrupts twice");
    }
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored.has(*signal));
    let mut signals = Signals::new(wanted).context("cannot listen for interrupts")?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for _ in signals.forever() {
                if STOP.swap(true, Ordering::SeqCst) || OPENING.load(Ordering::SeqCst) > 0 {
                    second();
                    std::process::exit(ABORTED);
                }
                first();
            }
        })
        .context("cannot listen for interrupts")?;
    Ok(&STOP)
}

/// Stops the work as a first interrupt does.
pub(crate) fn request() {
    STOP.store(true, Ordering::SeqCst);
}

/// True after an interrupt.
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Signals that this process was started to ignore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ignored(u64);

impl Ignored {
    /// Reads the mask of `/proc/self/status`: bit n - 1 stands for signal n (proc(5)).
    fn read(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        Self(mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0))
    }

    fn has(self, signal: i32) -> bool {
        u32::try_from(signal - 1).is_ok_and(|bit| self.0.checked_shr(bit).unwrap_or(0) & 1 == 1)
    }
}

fn ignored() -> Ignored {
    Ignored::read(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_reads_as_proc_writes_it() {
        // SIGHUP is 1 and SIGPIPE 13.
        let ignored = Ignored::read("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n");
        assert!(ignored.has(SIGHUP) && ignored.has(13));
        assert!(!ignored.has(SIGINT) && !ignored.has(SIGTERM) && !ignored.has(0));
    }
}

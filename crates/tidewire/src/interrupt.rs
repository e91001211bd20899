//! Ctrl-C: the first stops the work and keeps what there is, the second ends the process.

use crate::output;
use anyhow::Context;
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a wait lasts at the most before somebody looks whether it is to end.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(100);

static STOP: AtomicBool = AtomicBool::new(false);

/// Takes over SIGINT, SIGTERM and SIGHUP; the flag they set.
pub(crate) fn install() -> anyhow::Result<&'static AtomicBool> {
    install_with(|| output::say_at_once("\nstopping; once more to abort"), || {})
}

/// As [`install`], with what is to be done at the first, and what at the second before the process
/// ends.
pub(crate) fn install_with(first: fn(), second: fn()) -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            second();
            std::process::exit(130);
        }
        first();
    })
    .context("cannot listen for interrupts")?;
    Ok(&STOP)
}

/// Whether somebody wants it to end.
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

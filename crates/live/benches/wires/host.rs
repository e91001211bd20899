//! Host setup for benchmarks: processors, real-time scheduling, addresses for UDP.
#![expect(unsafe_code, reason = "affinity and scheduling exist only in libc")]

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Priority of real-time threads, in the middle of the range.
const PRIORITY: i32 = 50;

/// Number of requests for real-time scheduling that were granted, and that were refused.
pub(crate) static GRANTED: AtomicU64 = AtomicU64::new(0);
pub(crate) static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Binds this thread to a processor, and requests real-time scheduling.
pub(crate) fn pin(processor: usize) {
    // SAFETY: an all-zero set is a valid one, and the call reads no more than its size.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the structure outlives the call, which concerns this thread alone.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    let counter = if status == 0 { &GRANTED } else { &REFUSED };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Assigns the stations' addresses, and 10.0.0.1 and 10.0.0.2, to the two ends of the wire.
pub(crate) fn give_addresses(names: &[String; 2], interface: &str) {
    for (of, name) in names.iter().enumerate() {
        let (mac, ip) = (crate::station(of).to_string(), format!("10.0.0.{}/24", of + 1));
        let link = ["link", "set", interface, "address", &mac];
        for arguments in [link, ["addr", "add", &ip, "dev", interface]] {
            let status = Command::new("ip").args(["-n", name]).args(arguments).status();
            assert!(status.is_ok_and(|status| status.success()), "cannot set an address");
        }
    }
}

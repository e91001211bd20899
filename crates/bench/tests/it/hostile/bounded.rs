//! Memory that a run takes, counted allocation by allocation.

/// The most that a hostile peer may have a session take.
const MOST_OCTETS: u64 = 64 << 20;

/// Runs `body`.
///
/// # Panics
/// Where it took more memory at a time than a peer may bring about.
pub(crate) fn bounded<T>(body: impl FnOnce() -> T) -> T {
    let mut outcome = None;
    let counted = allocation_counter::measure(|| outcome = Some(body()));
    assert!(counted.bytes_max <= MOST_OCTETS, "{} octets at a time", counted.bytes_max);
    outcome.expect("the body was run")
}

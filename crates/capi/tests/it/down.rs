//! Port that goes down: the calls' outcomes, and recovery when it is up again.
#![expect(unsafe_code, reason = "the calls take C's pointers")]

use crate::namespace::{INTERFACE, Namespaces};
use std::ffi::{CStr, CString};
use tidewire::{
    LLCaddress, LLCcount, LLCcounts, LLCerror, LLCfailure, LLCoff, LLCon, LLCopen, LLCoutcome,
    LLCpoll, LLCreason, LLCstate, LLCstatus, LLCxmit,
};

const SOCKET: i32 = 4;

/// Broadcasts an octet; returns the state and the reason afterwards.
fn transmit() -> (LLCstate, LLCreason) {
    let to = LLCaddress { socket: 4, station: [0xFF; 6] };
    let (mut state, mut reason) = (LLCstate::LlcPending, LLCreason::LlcNoFailure);
    // SAFETY: every pointer is to a value on this stack, for the call alone.
    unsafe {
        assert_eq!(
            LLCxmit(SOCKET, &raw const to, b"x".as_ptr().cast(), 1),
            LLCoutcome::LlcAccepted
        );
        assert_eq!(LLCstatus(SOCKET, b'x' as _, &raw mut state), LLCoutcome::LlcAccepted);
        assert_eq!(LLCfailure(SOCKET, b'x' as _, &raw mut reason), LLCoutcome::LlcAccepted);
    }
    (state, reason)
}

#[test]
fn a_wire_that_goes_down_is_reported_and_counted_and_recovers() {
    let Some(namespaces) = Namespaces::make() else { return };
    namespaces.up();
    let port = format!("ethernet {INTERFACE} namespace={}", namespaces.names[0]);
    let port = CString::new(port).unwrap();
    // SAFETY: the text lives for the call.
    assert_eq!(unsafe { LLCon(1, port.as_ptr()) }, LLCoutcome::LlcAccepted);
    assert_eq!(LLCopen(SOCKET), LLCoutcome::LlcAccepted);
    assert_eq!(transmit(), (LLCstate::LlcIdle, LLCreason::LlcNoFailure));
    assert_eq!(LLCpoll(0), LLCoutcome::LlcAccepted);

    namespaces.down();
    assert_eq!(transmit(), (LLCstate::LlcFailed, LLCreason::LlcNotTransmitted));
    let mut counts = LLCcounts::default();
    // SAFETY: the counts are a value on this stack.
    assert_eq!(unsafe { LLCcount(&raw mut counts) }, LLCoutcome::LlcAccepted);
    assert_eq!((counts.frames_sent, counts.frames_not_sent), (1, 1));
    assert!(counts.network_down >= 1, "{counts:?}");
    // SAFETY: the text lasts until the next call.
    let complaint = unsafe { CStr::from_ptr(LLCerror()) };
    assert_eq!(complaint.to_str(), Ok("interface wire0 is down"));

    namespaces.up();
    while LLCpoll(1) == LLCoutcome::LlcNoNetwork {}
    assert_eq!(transmit(), (LLCstate::LlcIdle, LLCreason::LlcNoFailure));
    assert_eq!(LLCoff(), LLCoutcome::LlcAccepted);
}

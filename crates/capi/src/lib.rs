//! Messaging service for C: the calls of TR-88-08 behind `tidewire.h`.
//!
//! Each call finds the station of its thread, does its work in safe code, and returns the outcome.
//! Panics do not leave it. [`types`] has the types for C, [`station`] the implementation, `buffer`
//! C's memory, and `port` the text form of ports. Not included: more than one operation pending on
//! a side of a socket; extensions of the paper beyond the calls below are for programs in Rust.
#![expect(unsafe_code, reason = "C calls these functions, and passes pointers")]

mod buffer;
mod port;
mod station;
mod types;

pub use types::{
    LLC_LONGEST_MESSAGE, LLC_MOST_SOCKETS, LLC_TICKS_PER_SECOND, LLCaddress, LLCcounts,
    LLCindication, LLCoutcome, LLCreason, LLCstate,
};

use LLCoutcome::{
    LlcAccepted, LlcInternalError, LlcInvalidArgument, LlcInvalidSocket, LlcNoNetwork,
    LlcPacketTooLarge, LlcSocketBusy, LlcTooManySockets,
};
use buffer::Buffer;
use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::fmt::Display;
use core::time::Duration;
use stack::messaging::{Options, Priority, Side};
use station::{Indications, Station};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wire::time::Instant;

thread_local! {
    static STATION: RefCell<Option<Station>> = const { RefCell::new(None) };
    static COMPLAINT: RefCell<CString> = RefCell::default();
    static IS_INDICATING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a call; a panic becomes an outcome.
fn guarded(call: impl FnOnce() -> LLCoutcome) -> LLCoutcome {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(LlcInternalError)
}

/// Runs a call about this thread's station and one of its sockets.
fn with_socket(sock: c_int, call: impl FnOnce(&mut Station, u8) -> LLCoutcome) -> LLCoutcome {
    guarded(|| match u8::try_from(sock) {
        Ok(socket) => with_station(|station| call(station, socket)).unwrap_or(LlcInvalidSocket),
        Err(_) => LlcInvalidSocket,
    })
}

/// Runs `call` with this thread's station; `None` if the station is off, or the thread is ending.
fn with_station<T>(call: impl FnOnce(&mut Station) -> T) -> Option<T> {
    let call = |slot: &RefCell<Option<Station>>| slot.borrow_mut().as_mut().map(call);
    STATION.try_with(call).ok().flatten()
}

/// Stores the text for LLCerror.
fn complain(complaint: &dyn Display) -> LLCoutcome {
    let text = CString::new(complaint.to_string()).unwrap_or_default();
    // At the thread's end the text can no longer be read.
    let _ = COMPLAINT.try_with(|slot| slot.replace(text));
    LlcNoNetwork
}

fn side(letter: c_char) -> Result<Side, LLCoutcome> {
    Side::of_letter(char::from(letter.to_ne_bytes()[0])).map_err(LLCoutcome::from)
}

fn ticks(ticks: u32) -> Option<Duration> {
    (ticks > 0).then(|| Duration::from_millis(u64::from(ticks)))
}

// ---- the paper's nine ---------------------------------------------------------------------------

/// Turns this thread's station on. It may open `socks` sockets, from 0 to LLC_MOST_SOCKETS.
///
/// `port` names its access to the LAN: a kind, the kind's argument, and words in any order.
///
///     "in-process station=02:00:00:00:00:01"      the threads of this process
///     "udp 127.0.0.1:5001 station=02:00:00:00:00:01 peer=02:00:00:00:00:02@127.0.0.1:5002"
///         processes, without privileges; "peer" may be repeated, "learn" admits every sender,
///         "any-host" allows addresses of other hosts
///     "ethernet eth0"                             802.3 frames; needs CAP_NET_RAW
///         "station=" for an address other than the interface's, "group=" (may be repeated),
///         "namespace=" for a network namespace made by ip-netns
///
/// With "spin", LLCpoll polls on the last two kinds: lower latency, but it occupies a processor.
///
/// # Safety
/// `port` must be null or a zero-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCon(socks: c_int, port: *const c_char) -> LLCoutcome {
    guarded(|| {
        // SAFETY: guaranteed by the caller.
        let Some(port) = (unsafe { buffer::text(port) }) else { return LlcInvalidArgument };
        let Ok(sockets) = usize::try_from(socks) else { return LlcInvalidArgument };
        if socks > LLC_MOST_SOCKETS {
            return LlcTooManySockets;
        }
        if with_station(|_| ()).is_some() {
            return LlcSocketBusy;
        }
        match Station::new(sockets, port) {
            Ok(station) => {
                let keep = |slot: &RefCell<Option<Station>>| slot.replace(Some(station));
                STATION.try_with(keep).map_or(LlcInternalError, |_| LlcAccepted)
            }
            Err(error) => complain(&error),
        }
    })
}

/// Turns this thread's station off: resets and closes every socket, and closes the port. Buffers
/// belong to the program again, and are no longer written. Pending operations cause no indication.
/// Harmless if the station is off.
#[unsafe(no_mangle)]
pub extern "C" fn LLCoff() -> LLCoutcome {
    guarded(|| {
        let station = STATION.try_with(RefCell::take).ok().flatten();
        match station.map(Station::off) {
            None | Some(Ok(())) => LlcAccepted,
            // The station is off nevertheless.
            Some(Err(error)) => {
                complain(&error);
                LlcAccepted
            }
        }
    })
}

/// Opens a socket: an even number from 2 to 254. Initially it has no indications, no timeouts,
/// priority 0, no CRC, no acknowledgement, and one transmission per message.
#[unsafe(no_mangle)]
pub extern "C" fn LLCopen(sock: c_int) -> LLCoutcome {
    with_socket(sock, Station::open)
}

/// Closes a socket without pending operations. Indications not yet called are dropped.
#[unsafe(no_mangle)]
pub extern "C" fn LLCclose(sock: c_int) -> LLCoutcome {
    with_socket(sock, Station::close)
}

/// Sets the options of a socket's operations from the next one on.
///
/// `xindication` and `rindication`, unless null, are called inside LLCpoll when a transmission or
/// reception is over, with `context`. `xticks` and `rticks`: maximum ticks for an operation; 0 for
/// no limit. `priority`: 0 (lowest) to 7; higher ones are served first, strictly. `crc`, if not 0,
/// appends CRC-16/CCITT to each message and requires it in received ones: both ends set it, or
/// neither. `ack`, if not 0, requests an acknowledgement from the receiver. `retry`: maximum number
/// of transmissions of a message; 0 counts as 1, and without an acknowledgement the limit is 8.
///
/// # Safety
/// The functions must be callable with `context` in this thread until the socket is closed, or
/// until other functions are set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCoption(
    sock: c_int,
    xindication: LLCindication,
    rindication: LLCindication,
    xticks: u32,
    rticks: u32,
    priority: c_int,
    crc: c_int,
    ack: c_int,
    retry: u32,
    context: *mut c_void,
) -> LLCoutcome {
    with_socket(sock, |station, socket| {
        let Some(priority) = u8::try_from(priority).ok().and_then(Priority::new) else {
            return if station.is_open(socket) { LlcInvalidArgument } else { LlcInvalidSocket };
        };
        let options = Options {
            transmit_time: ticks(xticks),
            receive_time: ticks(rticks),
            priority,
            crc: crc != 0,
            acknowledged: ack != 0,
            transmissions: retry.max(1),
            ..Options::plain()
        };
        let indications = Indications { transmitted: xindication, received: rindication, context };
        station.option(socket, options, indications)
    })
}

/// Transmits the `isize` octets at `ip` from socket `sock` to the address at `nap`. The message is
/// copied: the program may reuse `ip` at once. LLCstatus reports the outcome.
///
/// # Safety
/// `nap` must be null or readable; `ip` must be readable for `isize` octets, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCxmit(
    sock: c_int,
    nap: *const LLCaddress,
    ip: *const c_void,
    isize: usize,
) -> LLCoutcome {
    with_socket(sock, |station, socket| {
        if !station.is_open(socket) {
            return LlcInvalidSocket;
        }
        // Checked before the octets are read, to reject absurd sizes.
        if isize > LLC_LONGEST_MESSAGE {
            return LlcPacketTooLarge;
        }
        // SAFETY: guaranteed by the caller; `isize` is small.
        let (to, data) = unsafe { (buffer::value(nap), buffer::octets(ip, isize)) };
        let (Some(to), Some(data)) = (to, data) else { return LlcInvalidArgument };
        let (outcome, sent) = station.transmit(socket, to.into(), data);
        if let Err(error) = sent {
            // The message was accepted, and failed; its state shows that.
            complain(&error);
        }
        outcome
    })
}

/// Enables the reception of one message of at most `isize` octets at socket `sock`. After a
/// successful reception the message is at `ip`, its sender at `nap` and its length in octets at
/// `osize`, unless these are null.
///
/// # Safety
/// Until the reception is over or reset, or the station is off, this thread's calls may write to
/// the three pointers, and nothing else may use them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCrecv(
    sock: c_int,
    nap: *mut LLCaddress,
    ip: *mut c_void,
    isize: usize,
    osize: *mut usize,
) -> LLCoutcome {
    with_socket(sock, |station, socket| {
        if !station.is_open(socket) {
            return LlcInvalidSocket;
        }
        // SAFETY: guaranteed by the caller.
        match unsafe { Buffer::lent(ip, isize, nap, osize) } {
            Some(buffer) => station.receive(socket, isize, buffer),
            None => LlcInvalidArgument,
        }
    })
}

/// Cancels the pending operation on a side of a socket: 'x' or 'r'. A message that was already sent
/// may still be delivered. The buffer of a reception belongs to the program again.
#[unsafe(no_mangle)]
pub extern "C" fn LLCreset(sock: c_int, ch: c_char) -> LLCoutcome {
    with_socket(sock, |station, socket| match side(ch) {
        Ok(side) => station.reset(socket, side),
        Err(outcome) if station.is_open(socket) => outcome,
        Err(_) => LlcInvalidSocket,
    })
}

/// Processes network traffic without waiting, then writes the state of a side of a socket to `sp`.
///
/// # Safety
/// `sp` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCstatus(sock: c_int, ch: c_char, sp: *mut LLCstate) -> LLCoutcome {
    with_socket(sock, |station, socket| {
        let side = match side(ch) {
            Ok(side) => side,
            Err(outcome) if station.is_open(socket) => return outcome,
            Err(_) => return LlcInvalidSocket,
        };
        if let Err(error) = station.round(Instant::ZERO) {
            complain(&error);
        }
        match station.state(socket, side) {
            // SAFETY: guaranteed by the caller.
            Ok(state) if unsafe { buffer::put(sp, state.into()) } => LlcAccepted,
            Ok(_) => LlcInvalidArgument,
            Err(outcome) => outcome,
        }
    })
}

// ---- beyond the paper ---------------------------------------------------------------------------

/// Processes network traffic until an operation of any socket ends that was pending at the end of
/// the last LLCpoll, or until `ticks` have passed; with 0 ticks it does not wait. Then calls the
/// indications of operations that are over. (In the paper interrupts do both.)
///
/// LLC_NO_NETWORK: the network was down meanwhile, or failed; operation continues when it is up
/// again.
#[unsafe(no_mangle)]
pub extern "C" fn LLCpoll(ticks: u32) -> LLCoutcome {
    guarded(|| {
        if IS_INDICATING.get() {
            return LlcSocketBusy;
        }
        let outcome = match with_station(|station| station.poll(ticks)) {
            None => return LlcInvalidSocket,
            Some(Ok(())) => LlcAccepted,
            Some(Err(error)) => complain(&error),
        };
        IS_INDICATING.set(true);
        indicate();
        IS_INDICATING.set(false);
        outcome
    })
}

/// Calls the pending indications; those that they cause must wait.
fn indicate() {
    let mut left = with_station(|station| station.owed()).unwrap_or(0);
    while left > 0 {
        // The station is released before each call, because the function may make calls itself.
        let Some((taken, call)) = with_station(|station| station.next_call(left)) else { return };
        left -= taken;
        if let Some(call) = call {
            // SAFETY: the function and its context were passed to LLCoption for this.
            unsafe { (call.function)(c_int::from(call.socket), call.state, call.context) };
        }
    }
}

/// Writes the reason for the failure of the last operation on a side of a socket to `reason`.
///
/// # Safety
/// `reason` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCfailure(sock: c_int, ch: c_char, reason: *mut LLCreason) -> LLCoutcome {
    with_socket(sock, |station, socket| {
        if !station.is_open(socket) {
            return LlcInvalidSocket;
        }
        let side = match side(ch) {
            Ok(side) => side,
            Err(outcome) => return outcome,
        };
        let failure = station.messenger().sockets.failure(socket, side);
        // SAFETY: guaranteed by the caller.
        if unsafe { buffer::put(reason, failure.into()) } {
            LlcAccepted
        } else {
            LlcInvalidArgument
        }
    })
}

/// Writes the station's counters to `counts`. LLC_INVALID_SOCKET if the station is off.
///
/// # Safety
/// `counts` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCcount(counts: *mut LLCcounts) -> LLCoutcome {
    guarded(|| match with_station(|station| station.counts()) {
        None => LlcInvalidSocket,
        // SAFETY: guaranteed by the caller.
        Some(now) if unsafe { buffer::put(counts, now) } => LlcAccepted,
        Some(_) => LlcInvalidArgument,
    })
}

/// Writes the six octets of this thread's station address to `station`. LLC_INVALID_SOCKET if the
/// station is off.
///
/// # Safety
/// `station` must be null or writable for six octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCself(station: *mut u8) -> LLCoutcome {
    guarded(|| match with_station(|station| station.addr().0) {
        None => LlcInvalidSocket,
        // SAFETY: guaranteed by the caller.
        Some(address) if unsafe { buffer::put(station.cast(), address) } => LlcAccepted,
        Some(_) => LlcInvalidArgument,
    })
}

/// Text of this thread's last error about its port, valid until the next call; empty if there was
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn LLCerror() -> *const c_char {
    let text = COMPLAINT.try_with(|slot| slot.borrow().as_ptr());
    text.unwrap_or(c"".as_ptr())
}

/// Text of an outcome, in the paper's words if it has them. The text is valid forever. An unknown
/// number has a text of its own.
#[unsafe(no_mangle)]
pub extern "C" fn LLCtext(outcome: c_int) -> *const c_char {
    let text: &'static CStr = match outcome {
        0 => c"operation accepted",
        1 => c"invalid socket",
        2 => c"duplicate socket",
        3 => c"too many sockets",
        4 => c"socket busy",
        5 => c"packet too large",
        6 => c"transmit/receive argument neither x nor r",
        7 => c"invalid argument",
        8 => c"no network",
        9 => c"internal error",
        _ => c"no such outcome",
    };
    text.as_ptr()
}

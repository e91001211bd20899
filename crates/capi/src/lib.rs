//! The messaging service for C: the calls of TR-88-08 behind `tidewire.h`.
//!
//! Each call finds the station of its thread, does its work in safe code, and says what came of it.
//! No panic leaves it. [`types`] has what C sees, [`station`] the work, `buffer` C's memory, and
//! `port` what a port is called. Left out: more than one operation pending on a side of a socket;
//! what goes beyond the paper is for programs in Rust.
#![expect(unsafe_code, reason = "C calls these functions, and gives them pointers")]

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

/// Runs something about this thread's station; `None` where it is off, or the thread at its end.
fn with_station<T>(call: impl FnOnce(&mut Station) -> T) -> Option<T> {
    let call = |slot: &RefCell<Option<Station>>| slot.borrow_mut().as_mut().map(call);
    STATION.try_with(call).ok().flatten()
}

/// Keeps what LLCerror says.
fn complain(complaint: &dyn Display) -> LLCoutcome {
    let text = CString::new(complaint.to_string()).unwrap_or_default();
    // At the thread's end there is nobody to read it.
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
/// `port` is how it reaches the LAN: a kind, what the kind needs, and words in any order.
///
///     "in-process station=02:00:00:00:00:01"      the threads of this process
///     "udp 127.0.0.1:5001 station=02:00:00:00:00:01 peer=02:00:00:00:00:02@127.0.0.1:5002"
///         processes, without privileges; "peer" as often as wanted, "learn" takes in whoever
///         sends, "any-host" allows addresses of other hosts
///     "ethernet eth0"                             802.3 frames; needs CAP_NET_RAW
///         "station=" for an address other than the interface's, "group=" as often as wanted,
///         "namespace=" for a network namespace that ip-netns has made
///
/// "spin" lets LLCpoll of the last two wait busily: sooner awake, for a whole processor.
///
/// # Safety
/// `port` is null or a text that ends with a zero octet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCon(socks: c_int, port: *const c_char) -> LLCoutcome {
    guarded(|| {
        // SAFETY: the caller's.
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

/// Turns this thread's station off: resets and closes every socket, and the port. Buffers are the
/// program's again, and what they hold is not changed any more. No indication is called for what was
/// pending. Does no harm where it is off.
#[unsafe(no_mangle)]
pub extern "C" fn LLCoff() -> LLCoutcome {
    guarded(|| {
        let station = STATION.try_with(RefCell::take).ok().flatten();
        match station.map(Station::off) {
            None | Some(Ok(())) => LlcAccepted,
            // It is off all the same.
            Some(Err(error)) => {
                complain(&error);
                LlcAccepted
            }
        }
    })
}

/// Opens a socket: an even number from 2 to 254. It has no indications, no timeouts, priority 0, no
/// CRC, no acknowledgement, and sends once.
#[unsafe(no_mangle)]
pub extern "C" fn LLCopen(sock: c_int) -> LLCoutcome {
    with_socket(sock, Station::open)
}

/// Closes a socket on which nothing is pending. Indications not yet called never are.
#[unsafe(no_mangle)]
pub extern "C" fn LLCclose(sock: c_int) -> LLCoutcome {
    with_socket(sock, Station::close)
}

/// Sets what a socket's operations are like from the next one on.
///
/// `xindication` and `rindication`, where not null, are called inside LLCpoll when a transmission or
/// reception is over, with `context`. `xticks` and `rticks`: the ticks an operation may take; 0 is
/// for ever. `priority`: 0 (lowest) to 7; higher ones are served first, strictly. `crc`, where not
/// 0, ends each message with CRC-16/CCITT and asks for it in what arrives: both ends set it, or
/// neither. `ack`, where not 0, asks the receiver for an acknowledgement. `retry`: how often a
/// message is sent at the most; 0 counts as 1, and where no acknowledgement comes, 8 is the most.
///
/// # Safety
/// The functions can be called with `context` in this thread until the socket is closed, or other
/// ones are set.
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
/// copied: the program may use `ip` again at once. LLCstatus says what became of it.
///
/// # Safety
/// `nap` is null or may be read; `ip` may be read for `isize` octets, or is null.
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
        // Before the octets are looked at, so that no absurd number of them is.
        if isize > LLC_LONGEST_MESSAGE {
            return LlcPacketTooLarge;
        }
        // SAFETY: the caller's; `isize` is small.
        let (to, data) = unsafe { (buffer::value(nap), buffer::octets(ip, isize)) };
        let (Some(to), Some(data)) = (to, data) else { return LlcInvalidArgument };
        let (outcome, sent) = station.transmit(socket, to.into(), data);
        if let Err(error) = sent {
            // The message was accepted, and failed: its state says so.
            complain(&error);
        }
        outcome
    })
}

/// Enables the reception of one message of at most `isize` octets at socket `sock`. When it is over,
/// and went well, the message is at `ip`, its sender at `nap` and its octets at `osize`, where these
/// are not null.
///
/// # Safety
/// Until the reception is over or reset, or the station off, the three may be written by this
/// thread's calls, and are used by nothing else.
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
        // SAFETY: the caller's.
        match unsafe { Buffer::lent(ip, isize, nap, osize) } {
            Some(buffer) => station.receive(socket, isize, buffer),
            None => LlcInvalidArgument,
        }
    })
}

/// Takes back what is pending on a side of a socket: 'x' or 'r'. A message that was sent already may
/// be delivered all the same. A reception's buffer is the program's again.
#[unsafe(no_mangle)]
pub extern "C" fn LLCreset(sock: c_int, ch: c_char) -> LLCoutcome {
    with_socket(sock, |station, socket| match side(ch) {
        Ok(side) => station.reset(socket, side),
        Err(outcome) if station.is_open(socket) => outcome,
        Err(_) => LlcInvalidSocket,
    })
}

/// Lets the network move without waiting, then puts the state of a side of a socket at `sp`.
///
/// # Safety
/// `sp` is null or may be written.
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
            // SAFETY: the caller's.
            Ok(state) if unsafe { buffer::put(sp, state.into()) } => LlcAccepted,
            Ok(_) => LlcInvalidArgument,
            Err(outcome) => outcome,
        }
    })
}

// ---- beyond the paper ---------------------------------------------------------------------------

/// Moves the network until an operation of any socket is over that was not over at the end of the
/// last LLCpoll, or `ticks` have passed; with 0 ticks it does not wait. Then calls the indications of
/// operations that are over. (In the paper interrupts do both.)
///
/// LLC_NO_NETWORK: the network was down meanwhile, or failed; all goes on when it is up again.
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

/// Calls the indications that are owed now; those that they bring about have to wait.
fn indicate() {
    let mut left = with_station(|station| station.owed()).unwrap_or(0);
    while left > 0 {
        // The station is let go before each call, since the function may make calls of its own.
        let Some((taken, call)) = with_station(|station| station.next_call(left)) else { return };
        left -= taken;
        if let Some(call) = call {
            // SAFETY: LLCoption was given the function and its context for this.
            unsafe { (call.function)(c_int::from(call.socket), call.state, call.context) };
        }
    }
}

/// Puts at `reason` why the last operation on a side of a socket failed.
///
/// # Safety
/// `reason` is null or may be written.
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
        // SAFETY: the caller's.
        if unsafe { buffer::put(reason, failure.into()) } {
            LlcAccepted
        } else {
            LlcInvalidArgument
        }
    })
}

/// Puts at `counts` how often things happened. LLC_INVALID_SOCKET where the station is off.
///
/// # Safety
/// `counts` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCcount(counts: *mut LLCcounts) -> LLCoutcome {
    guarded(|| match with_station(|station| station.counts()) {
        None => LlcInvalidSocket,
        // SAFETY: the caller's.
        Some(now) if unsafe { buffer::put(counts, now) } => LlcAccepted,
        Some(_) => LlcInvalidArgument,
    })
}

/// Puts the six octets of this thread's station's address at `station`. LLC_INVALID_SOCKET where it
/// is off.
///
/// # Safety
/// `station` is null or may be written for six octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LLCself(station: *mut u8) -> LLCoutcome {
    guarded(|| match with_station(|station| station.addr().0) {
        None => LlcInvalidSocket,
        // SAFETY: the caller's.
        Some(address) if unsafe { buffer::put(station.cast(), address) } => LlcAccepted,
        Some(_) => LlcInvalidArgument,
    })
}

/// What this thread's last complaint about its port was: a text that lasts until the next call; an
/// empty one where there was none.
#[unsafe(no_mangle)]
pub extern "C" fn LLCerror() -> *const c_char {
    let text = COMPLAINT.try_with(|slot| slot.borrow().as_ptr());
    text.unwrap_or(c"".as_ptr())
}

/// An outcome in words: the paper's, where it has them. The text lasts for ever. A number that is no
/// outcome has words of its own.
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

//! Configuration in TR-88-08, compared with the program: sockets, priorities, addresses, the ring,
//! the monitor.
//!
//! Not modelled: the paper's calls by name; its two hardware addresses of one octet.

use crate::published::value::Value;
use crate::published::{Monitor, Unavailable};
use sim::medium::token_ring;
use stack::messaging::{self, Address, Priority, SOCKETS};
use wire::crc16::CHECK_OCTETS;
use wire::filter::Filter;

/// Header of the library for C.
const HEADER: &str = include_str!("../../../capi/tidewire.h");

fn sockets() -> impl Iterator<Item = u8> {
    (0..=u8::MAX).filter(|number| SOCKETS.contains(number) && messaging::is_socket(*number))
}

pub(super) fn socket_lowest() -> Value {
    Value::exact(sockets().min().map_or(f64::NAN, f64::from))
}

pub(super) fn socket_highest() -> Value {
    Value::exact(sockets().max().map_or(f64::NAN, f64::from))
}

pub(super) fn socket_count() -> Value {
    Value::exact(sockets().count() as f64)
}

pub(super) fn priority_lowest() -> Value {
    Value::exact(f64::from(Priority::LOWEST.number()))
}

pub(super) fn priority_highest() -> Value {
    Value::exact(f64::from(Priority::HIGHEST.number()))
}

pub(super) fn priority_levels() -> Value {
    Value::exact((0..=u8::MAX).filter_map(Priority::new).count() as f64)
}

pub(super) fn address_octets() -> Value {
    Value::exact(size_of::<Address>() as f64)
}

pub(super) fn address_bits() -> Value {
    Value::exact(size_of::<Address>() as f64 * 8.0)
}

pub(super) fn crc_bits() -> Value {
    Value::exact(CHECK_OCTETS as f64 * 8.0)
}

/// Rate of the prototype's ring as simulated, in Mbit/s.
pub(super) fn ring_rate() -> Value {
    Value::exact(ring().rate.bits_per_second() as f64 / 1e6)
}

pub(super) fn ring_longest() -> Value {
    Value::exact(ring().maximum_data_octets as f64)
}

fn ring() -> token_ring::Params {
    token_ring::Params::pronet_10(2, 3.0)
}

/// Beginning of the declaration of a call in the header of the library for C.
const DECLARATION: &str = "\nenum LLCoutcome LLC";

/// Number of calls that the paper lists; the header declares tidewire's own calls after them.
pub(super) fn primitives() -> Value {
    let papers = HEADER.split(&format!("{DECLARATION}poll(")).next().unwrap_or_default();
    Value::exact(papers.matches(DECLARATION).count() as f64)
}

/// 1 if the monitor's default filter matches all frames.
pub(super) fn match_all() -> Value {
    Value::exact(f64::from(u8::from(Filter::all().is_all())))
}

/// Property of the monitor.
pub(super) fn monitor(
    monitor: Option<Monitor>,
    figure: fn(&Monitor) -> f64,
) -> Result<Value, Unavailable> {
    let unknown = || Unavailable("no monitor is part of this build".to_owned());
    monitor.as_ref().map(figure).map(Value::exact).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_the_even_numbers_from_2_to_254() {
        let is = [socket_lowest(), socket_highest(), socket_count()].map(|found| found.value);
        assert_eq!(is, [2.0, 254.0, 127.0]);
    }

    #[test]
    fn calls_of_the_library_for_c_are_counted() {
        assert!(HEADER.contains(&format!("{DECLARATION}poll(")), "where the paper's calls end");
        assert_eq!(primitives().value, 9.0);
    }

    #[test]
    fn an_address_is_a_station_and_a_socket() {
        // 6 octets of IEEE 802 and one LSAP.
        assert_eq!((address_octets().value, address_bits().value), (7.0, 56.0));
    }
}

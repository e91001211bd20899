//! Ends of a stream.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::Ipv6Addr;
use wire::addr::Mac;

/// Sender or receiver of a stream: a station of a LAN, or a host of an internet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Station {
    /// By its MAC address.
    Lan(Mac),
    /// By its IP address; IPv4 addresses are in their IPv4-mapped form.
    Internet(Ipv6Addr),
}

impl Hash for Station {
    /// Hashes one word for a MAC address, two for an IP address.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Lan(Mac([a, b, c, d, e, g])) => {
                state.write_u64(u64::from_be_bytes([0, 0, *a, *b, *c, *d, *e, *g]));
            }
            Self::Internet(address) => state.write_u128(address.to_bits()),
        }
    }
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lan(mac) => mac.fmt(f),
            Self::Internet(address) => match address.to_ipv4_mapped() {
                Some(address) => address.fmt(f),
                None => address.fmt(f),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn a_station_prints_as_its_address_does() {
        let mapped = Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped();
        let all = [Station::Lan(Mac::local(7)), Station::Internet(mapped)];
        assert_eq!(all.map(|it| it.to_string()), ["02:00:00:00:00:07", "192.0.2.7"]);
        assert_eq!(Station::Internet(Ipv6Addr::LOCALHOST).to_string(), "::1");
    }
}

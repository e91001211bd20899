//! Addresses: of a station (MAC), of a service access point (SAP), of a network entity (NSAP), and
//! of an end of a TCP connection (socket).

use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;

/// A 48-bit station address, in the order of the octets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Broadcast address: all stations.
    pub const BROADCAST: Self = Self([0xFF; 6]);

    /// Locally administered individual address that contains the number of the station.
    #[must_use]
    pub const fn local(station: u32) -> Self {
        let [a, b, c, d] = station.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }

    /// Returns true for a group address (I/G bit).
    #[must_use]
    pub const fn is_group(self) -> bool {
        let Self([first, ..]) = self;
        first & 0x01 != 0
    }
}

const fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' - 10 + value }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Records have several for each connection, and the formatter takes several times as long.
        let mut text = [b':'; 17];
        for (digits, octet) in text.chunks_mut(3).zip(self.0) {
            if let [high, low, ..] = digits {
                (*high, *low) = (hex_digit(octet >> 4), hex_digit(octet & 0xF));
            }
        }
        f.write_str(core::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error: a text is not an address of the requested kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAnAddress {
    /// Description of the expected form.
    pub expected: &'static str,
}

impl fmt::Display for NotAnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an address: expected {}", self.expected)
    }
}

impl core::error::Error for NotAnAddress {}

impl FromStr for Mac {
    type Err = NotAnAddress;

    /// Reads six hexadecimal octets with `:` or `-` between them.
    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let complaint = NotAnAddress { expected: "a station address such as 02:00:00:00:00:01" };
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|p| (1..=2).contains(&p.len())).ok_or(complaint)?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| complaint)?;
        }
        if parts.next().is_some() { Err(complaint) } else { Ok(Self(octets)) }
    }
}

/// Link service access point (LSAP) as it appears in DSAP or SSAP. The I/G or C/R bit is not
/// interpreted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sap(pub u8);

impl Sap {
    /// Null SAP: the station itself.
    pub const NULL: Self = Self(0x00);
    /// ISO network layer protocols (CLNP, its inactive subset, ES-IS, IS-IS).
    pub const ISO_NETWORK: Self = Self(0xFE);
    /// SNAP.
    pub const SNAP: Self = Self(0xAA);
    /// Global DSAP: every SAP of a station.
    pub const GLOBAL: Self = Self(0xFF);

    /// Returns true for a group of SAPs (I/G bit of a DSAP).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0 & 0x01 != 0
    }
}

impl fmt::Display for Sap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}", self.0)
    }
}

impl fmt::Debug for Sap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Network service access point address: up to 20 octets, of which the last selects the user.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nsap {
    length: u8,
    octets: [u8; 20],
}

impl Nsap {
    /// Creates an NSAP from its octets; `None` for more than 20.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut nsap = Self { length: u8::try_from(octets.len()).ok()?, octets: [0; 20] };
        nsap.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(nsap)
    }

    /// NSAP of the transport entity of a LAN station: AFI 49 (local, binary), area 0001, the MAC
    /// address as system identifier, selector 01.
    #[must_use]
    pub const fn of_station(Mac([a, b, c, d, e, f]): Mac) -> Self {
        let ten = [0x49, 0x00, 0x01, a, b, c, d, e, f, 0x01];
        let mut octets = [0; 20];
        octets.split_at_mut(ten.len()).0.copy_from_slice(&ten);
        Self { length: 10, octets }
    }

    /// Octets of the address.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl fmt::Display for Nsap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.length == 0 {
            return f.write_str("-");
        }
        self.octets().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Nsap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// End of a TCP connection (RFC 9293: a socket): an internet address and a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Socket {
    /// Address; an IPv4 address in its mapped form (RFC 4291 2.5.5.2).
    pub address: Ipv6Addr,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address.to_ipv4_mapped() {
            Some(address) => write!(f, "{address}:{}", self.port),
            None => write!(f, "[{}]:{}", self.address, self.port),
        }
    }
}

/// Mapping of addresses. Each method maps one address in place; equal addresses become equal.
pub trait Names {
    /// Maps an IPv4 or IPv6 address.
    fn internet(&self, address: &mut [u8]);
    /// Maps a MAC address.
    fn station(&self, address: &mut [u8]);
    /// Maps an NSAP.
    fn network(&self, address: &mut [u8]);
    /// Maps a transport selector.
    fn selector(&self, selector: &mut [u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_address_reads_as_it_prints() {
        let mac: Mac = "02-00-5e-10-00-FF".parse().unwrap();
        assert_eq!(mac.to_string(), "02:00:5e:10:00:ff");
        assert!(Mac::BROADCAST.is_group() && !mac.is_group());
        for text in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:xyz", "1:2:3:4:5:"]
        {
            assert!(text.parse::<Mac>().is_err(), "{text:?} was taken for an address");
        }
    }

    #[test]
    fn an_nsap_has_at_most_twenty_octets() {
        assert_eq!(
            Nsap::new(&[0x47, 0x00, 0x05]).map(|n| n.to_string()).as_deref(),
            Some("470005")
        );
        assert_eq!(Nsap::new(&[0; 21]), None);
    }

    #[test]
    fn a_station_has_an_nsap_of_its_own() {
        let station = Mac([2, 0, 0x5E, 0x10, 0, 1]);
        assert_eq!(Nsap::of_station(station).to_string(), "49000102005e10000101");
    }

    #[test]
    fn a_socket_prints_as_its_family_does() {
        let mapped = core::net::Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
        assert_eq!(Socket { address: mapped, port: 102 }.to_string(), "10.0.0.1:102");
        let socket = Socket { address: Ipv6Addr::LOCALHOST, port: 102 };
        assert_eq!(socket.to_string(), "[::1]:102");
    }
}

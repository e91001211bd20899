//! Names of the ends of connections, and of the ways in which these end.

use crate::Text;
use compact_str::format_compact;
use core::net::Ipv4Addr;
use meter::Address;
use meter::observation::Ending;

/// Formats an end of a connection: its address, and its port where it has one.
pub fn end_name(address: Address, port: u16) -> Text {
    match (address, port) {
        (Address::Internet(internet), _) => match internet.to_ipv4_mapped() {
            Some(internet) => ipv4_end(internet, port),
            None if port == 0 => format_compact!("{address}"),
            None => format_compact!("[{address}]:{port}"),
        },
        (_, 0) => format_compact!("{address}"),
        _ => format_compact!("{address}:{port}"),
    }
}

/// Formats an end over IPv4 without the formatter, which takes longer: records have several for each connection and
/// interval.
fn ipv4_end(address: Ipv4Addr, port: u16) -> Text {
    let (mut name, mut length) = ([0; "255.255.255.255:65535".len()], 0);
    for octet in address.octets() {
        let Digits { text, length: more } = &DIGITS[usize::from(octet)];
        if let Some(room) = name.get_mut(length..length + text.len()) {
            room.copy_from_slice(text);
        }
        length += more;
    }
    // The last dot is a colon, or is left out.
    length -= 1;
    if port != 0 {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(port).as_bytes();
        name[length] = b':';
        length += 1;
        if let Some(room) = name.get_mut(length..length + digits.len()) {
            room.copy_from_slice(digits);
        }
        length += digits.len();
    }
    let name = name.get(..length).unwrap_or_default();
    core::str::from_utf8(name).unwrap_or_default().into()
}

/// Decimal digits of an octet and a dot.
#[derive(Clone, Copy)]
struct Digits {
    text: [u8; 4],
    length: usize,
}

/// Digits of each octet.
static DIGITS: [Digits; 256] = {
    let mut all = [Digits { text: [b'.'; 4], length: 0 }; 256];
    let mut octet = 0;
    while octet < 256 {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let mut place = if octet >= 100 {
            0
        } else if octet >= 10 {
            1
        } else {
            2
        };
        while place < 3 {
            let Digits { text, length } = &mut all[octet];
            text[*length] = b'0' + digits[place] as u8;
            *length += 1;
            place += 1;
        }
        all[octet].length += 1;
        octet += 1;
    }
    all
};

/// Formats the two ends of a connection.
pub fn ends_name(connection: &meter::Connection) -> String {
    let [from, to] = connection.ends.map(|(address, port)| end_name(address, port));
    format!("{from}>{to}")
}

/// Returns the kind of ending in a word.
pub const fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Graceful => "graceful",
        Ending::Abrupt => "abrupt",
        Ending::Erroneous => "erroneous",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_its_address_and_its_port() {
        let of = |text: &str, port| {
            let address = text.parse::<core::net::IpAddr>().unwrap();
            let address = match address {
                core::net::IpAddr::V4(address) => address.to_ipv6_mapped(),
                core::net::IpAddr::V6(address) => address,
            };
            end_name(Address::Internet(address), port)
        };
        assert_eq!(of("10.0.255.7", 102), "10.0.255.7:102");
        assert_eq!(of("255.255.255.255", 65_535), "255.255.255.255:65535");
        assert_eq!(of("0.9.99.100", 1), "0.9.99.100:1");
        for octet in 0..=255_u8 {
            let address = Ipv4Addr::new(octet, 1, 255 - octet, octet);
            assert_eq!(ipv4_end(address, 7), format!("{address}:7"));
            assert_eq!(ipv4_end(address, 0), address.to_string());
        }
        assert_eq!(of("10.0.255.7", 0), "10.0.255.7");
        assert_eq!(of("fd00::1", 102), "[fd00::1]:102");
    }
}

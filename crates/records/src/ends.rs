//! Names of the ends of connections, and of the ways in which these end.

use core::net::Ipv4Addr;
use meter::Address;
use meter::observation::Ending;

/// Formats an end of a connection: its address, and its port where it has one.
pub fn end_name(address: Address, port: u16) -> String {
    match (address, port) {
        (Address::Internet(internet), _) => match internet.to_ipv4_mapped() {
            Some(internet) => ipv4_end(internet, port),
            None if port == 0 => address.to_string(),
            None => format!("[{address}]:{port}"),
        },
        (_, 0) => address.to_string(),
        _ => format!("{address}:{port}"),
    }
}

/// Formats an end over IPv4. Records have several for each connection and interval, and the formatter
/// takes four times as long.
fn ipv4_end(address: Ipv4Addr, port: u16) -> String {
    let (mut name, mut digits) =
        (String::with_capacity("255.255.255.255:65535".len()), itoa::Buffer::new());
    for octet in address.octets() {
        name.push_str(digits.format(octet));
        name.push('.');
    }
    name.pop();
    if port != 0 {
        name.push(':');
        name.push_str(digits.format(port));
    }
    name
}

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
        assert_eq!(of("10.0.255.7", 0), "10.0.255.7");
        assert_eq!(of("fd00::1", 102), "[fd00::1]:102");
    }
}

//! Prints every layer of a frame given in hexadecimal, or of a sample frame.
//!
//! ```text
//! cargo run -p tidewire-wire --example dissect_a_frame -- 020000000001 020000000002 0004 fefe0300
//! ```

use wire::dissect::{Link, dissect};

/// Class 4 data over the inactive network layer, LLC and 802.3.
const HELLO: &str = "020000000001 020000000002 000e fefe03 00 04f002028068656c6c6f";

fn main() {
    let given = std::env::args().skip(1).collect::<String>();
    let text = if given.is_empty() { HELLO } else { &given };
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != ':')
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    let Some(digits) = digits.filter(|digits| digits.len() % 2 == 0) else {
        eprintln!("error: expected octets in hexadecimal, found: {text}");
        return;
    };
    let octets: Vec<u8> = digits.as_chunks::<2>().0.iter().map(|[h, l]| h << 4 | l).collect();
    println!("{}", dissect(Link::Ethernet, &octets));
}

//! Keys of pseudonymous addresses: from a file, or drawn.

use crate::anonymize::{Key, SECRET_OCTETS};
use crate::exit::Failure;
use crate::interrupt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Creates a key from a file with 64 hexadecimal digits, or from a random secret that is never
/// stored.
///
/// # Errors
/// Fails if the file cannot be read or has other contents.
pub(crate) fn open(path: Option<&Path>) -> Result<Key, Failure> {
    let mut secret = [0; SECRET_OCTETS];
    let Some(path) = path else {
        let drawn = File::open("/dev/urandom").and_then(|mut it| it.read_exact(&mut secret));
        drawn.map_err(|error| Failure::failed(format!("cannot draw a key: {error}")))?;
        return Ok(Key::new(secret));
    };
    let name = path.display();
    let text = interrupt::read_to_string(path)
        .map_err(|error| Failure::failed(format!("cannot read {name}: {error}")))?;
    let digits: Option<Vec<u8>> =
        text.trim().chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * SECRET_OCTETS).ok_or_else(|| {
        Failure::usage(format!("{name} holds no key: expected 64 hexadecimal digits"))
            .with_fix("openssl rand -hex 32 > FILE")
    })?;
    for (octet, pair) in secret.iter_mut().zip(digits.chunks(2)) {
        *octet = pair.iter().fold(0, |octet, digit| octet << 4 | digit);
    }
    Ok(Key::new(secret))
}

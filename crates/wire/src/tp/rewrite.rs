//! Headers of TPDUs under other names: selectors mapped, parameters with possible user data cleared.

use super::{Kind, Raw, seal, tpdus};
use crate::addr::Names;
use crate::checksum::Fletcher;

/// Calling and called transport selector (ISO 8073 13.3.4).
const SELECTORS: [u8; 2] = [0xC1, 0xC2];
/// The checksum (ISO 8073 13.2.3.1).
const CHECKSUM: u8 = 0xC3;
/// Other parameters that hold only numbers: sizes, versions, times, options, credit.
const NUMBERS: [u8; 13] =
    [0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8B, 0x8C, 0xC0, 0xC4, 0xC6, 0xC7, 0xF0];

/// Appends the headers of TPDUs to the kept part, up to the first user data.
pub(crate) fn rewrite(names: &dyn Names, nsdu: &[u8], kept: &mut Vec<u8>) {
    for raw in tpdus(nsdu) {
        let Ok(raw) = raw else { return };
        let start = kept.len();
        kept.extend(raw.header());
        let Some(header) = kept.get_mut(start..) else { return };
        match raw.kind {
            Kind::Cr | Kind::Cc | Kind::Dr => renew(names, &raw, header, 7),
            Kind::Er => renew(names, &raw, header, 5),
            Kind::Dt | Kind::Ed | Kind::Ak | Kind::Ea | Kind::Rj | Kind::Dc => {}
        }
        if !raw.data().is_empty() {
            return;
        }
    }
}

/// Maps and clears parameters in the header of a TPDU, and keeps its checksum valid or invalid as
/// it was.
fn renew(names: &dyn Names, raw: &Raw<'_>, header: &mut [u8], offset: usize) {
    let Some(checksum) = parameters(names, header, offset) else { return };
    let is_good = |header: &[u8]| {
        let mut sums = Fletcher::of(header);
        sums.add(raw.data());
        sums.is_good()
    };
    if is_good(raw.header()) {
        header.iter_mut().skip(checksum).take(2).for_each(|octet| *octet = 0);
        seal(header, checksum, raw.data());
    } else if is_good(header)
        && let Some(octet) = header.get_mut(checksum)
    {
        *octet ^= 1;
    }
}

/// Maps selectors, and clears possible user data, in the variable part that begins at `offset`.
/// Returns the offset of the checksum, if there is one: the last of several counts.
fn parameters(names: &dyn Names, header: &mut [u8], offset: usize) -> Option<usize> {
    let (mut place, mut checksum) = (offset, None);
    while let Some([code, length, behind @ ..]) = header.get_mut(place..) {
        // A length beyond the header: the meter reports it as malformed, and the octets there are
        // cleared.
        let octets = usize::from(*length).min(behind.len());
        let (value, _) = behind.split_at_mut(octets);
        if SELECTORS.contains(code) {
            names.selector(value);
        } else if *code == CHECKSUM {
            checksum = (octets == 2).then_some(place + 2);
        } else if !NUMBERS.contains(code) {
            value.fill(0);
        }
        place += 2 + octets;
    }
    checksum
}

//! TCP options in pseudonymised headers: only those that hold no address and no user data are kept.
//!
//! Kept are the maximum segment size, window scale, SACK and SACK permitted, and timestamps (RFC 9293
//! 3.2, RFC 7323, RFC 2018): numbers of the connection itself. All others become no-operation, because
//! they may hold addresses (Multipath TCP, RFC 8684), keys (TCP-AO, RFC 5925; Fast Open, RFC 7413) or
//! anything (experiments, RFC 6994).

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Maximum segment size, window scale, SACK permitted, SACK, timestamps.
const KEPT: [u8; 5] = [2, 3, 4, 5, 8];

/// Replaces options that are not known to be harmless. The octets after the end of the list become
/// zero; a truncated list is replaced from the truncation on.
pub(super) fn clear(options: &mut [u8]) {
    let mut rest = options;
    loop {
        let taken = match &*rest {
            [] => return,
            [END, ..] => return rest.fill(END),
            [NO_OPERATION, ..] => 1,
            [_, length, ..] if *length >= 2 && usize::from(*length) <= rest.len() => {
                usize::from(*length)
            }
            _ => return rest.fill(NO_OPERATION),
        };
        let (option, behind) = rest.split_at_mut(taken);
        if option.first().is_some_and(|kind| !KEPT.contains(kind)) {
            option.fill(NO_OPERATION);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[u8], after: &[u8]) {
        let mut options = before.to_vec();
        clear(&mut options);
        assert_eq!(options, after);
    }

    #[test]
    fn numbers_of_the_connection_stay() {
        let syn = [2, 4, 5, 0xB4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        check(&syn, &syn);
        check(&[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9], &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9]);
    }

    #[test]
    fn addresses_keys_and_experiments_become_no_operation() {
        // ADD_ADDR of Multipath TCP with 192.0.2.7; an experiment; a Fast Open cookie.
        check(&[30, 8, 0x30, 1, 192, 0, 2, 7], &[1; 8]);
        check(&[2, 4, 5, 0xB4, 254, 4, 0xAB, 0xCD], &[2, 4, 5, 0xB4, 1, 1, 1, 1]);
        check(&[34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1], &[1; 12]);
    }

    #[test]
    fn what_stands_behind_the_end_or_breaks_off_goes() {
        check(&[2, 4, 5, 0xB4, 0, 192, 0, 2], &[2, 4, 5, 0xB4, 0, 0, 0, 0]);
        check(&[2, 40, 192, 0], &[1; 4]);
        check(&[8, 1, 192, 0], &[1; 4]);
        check(&[1, 1, 1, 30], &[1; 4]);
    }
}

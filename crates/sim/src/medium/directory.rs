//! Directory of destination addresses: the stations that an address designates.
//!
//! Not modelled: group membership (a group address designates every other station), promiscuous
//! stations, and addresses that change during a run.

use wire::addr::Mac;

/// Addresses of the stations on a medium.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    /// Pairs of address (as a number) and station, sorted by both.
    sorted: Vec<(u64, usize)>,
}

impl Directory {
    /// Creates the directory of stations with these addresses.
    pub(super) fn new(addresses: &[Mac]) -> Self {
        let mut sorted: Vec<_> =
            addresses.iter().enumerate().map(|(station, mac)| (number(*mac), station)).collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// Stations to which a frame from `source` to `destination` is addressed.
    pub(super) fn recipients(
        &self,
        source: usize,
        destination: Mac,
    ) -> impl DoubleEndedIterator<Item = usize> {
        let among = if destination.is_group() {
            &self.sorted[..]
        } else {
            let destination = number(destination);
            let from = self.sorted.partition_point(|(mac, _)| *mac < destination);
            let count = self.sorted[from..].iter().take_while(|e| e.0 == destination).count();
            &self.sorted[from..from + count]
        };
        among.iter().map(|(_, station)| *station).filter(move |station| *station != source)
    }

    /// A name for each station that does not depend on the other stations' number or order: its
    /// address, and, from the second station of the same address on, that station's ordinal.
    pub(super) fn names(addresses: &[Mac]) -> impl Iterator<Item = String> {
        addresses.iter().enumerate().map(|(station, mac)| {
            let before = addresses[..station].iter().filter(|other| *other == mac).count();
            if before == 0 { mac.to_string() } else { format!("{mac}#{before}") }
        })
    }
}

/// Address as a number, which compares faster than its octets.
fn number(Mac([a, b, c, d, e, f]): Mac) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_its_stations_and_a_group_all_others() {
        let twin = Mac::local(7);
        let addresses = [twin, Mac::local(1), twin];
        let directory = Directory::new(&addresses);
        let to = |destination| directory.recipients(1, destination).collect::<Vec<_>>();
        assert_eq!(to(twin), [0, 2]);
        assert_eq!(to(Mac::local(1)), [0_usize; 0], "a station does not receive its own frames");
        assert_eq!(to(Mac::local(9)), [0_usize; 0]);
        let mut all = to(Mac::BROADCAST);
        all.sort_unstable();
        assert_eq!(all, [0, 2]);
        let names: Vec<_> = Directory::names(&addresses).collect();
        assert_eq!(names, ["02:00:00:00:00:07", "02:00:00:00:00:01", "02:00:00:00:00:07#1"]);
    }
}

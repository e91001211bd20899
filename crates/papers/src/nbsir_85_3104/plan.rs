//! Plan of the transfers: 225 connections between hosts, with the volumes of the paper's Table 4.
//!
//! Table 4 has the volumes, without the hosts. Tables 6 and 7 have ratios of seven hosts in two of
//! the intervals: [`GROUPS`] holds whole numbers with these ratios. The rest of an interval is
//! distributed evenly. So the plan is one of many that fit, constructed and not measured.
//!
//! Not modelled: processing times of the hosts, the distribution of sizes around their mean, and
//! the reasons for retransmissions.

use super::volumes::{VOLUMES, Volumes};

/// Host of the demonstration: A to I.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Host(pub(super) char);

impl Host {
    /// Number of the host, counted from 1.
    pub(super) const fn number(self) -> u32 {
        self.0 as u32 - 'A' as u32 + 1
    }
}

/// Transfers between two hosts, or the share of one of them. In arrays, the first value is the
/// caller's, which sends the file, the second that of the called host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transfers {
    /// Caller, which sends the file.
    pub(super) from: Host,
    /// Called host.
    pub(super) to: Host,
    /// Number of connections.
    pub(super) connections: u64,
    /// Original DTs.
    pub(super) dts: [u64; 2],
    /// DTs of the caller that are sent twice.
    pub(super) repeated_dts: u64,
    /// Original AKs in addition to one for each DT and the third of the handshake: those that
    /// reopen a window.
    pub(super) further_aks: [u64; 2],
    /// AKs without new information.
    pub(super) repeated_aks: [u64; 2],
    /// CRs that are retransmitted.
    pub(super) repeated_crs: u64,
}

impl Transfers {
    /// Transfers between these hosts, without retransmitted CRs.
    const fn between(from: char, to: char, connections: u64) -> Self {
        Self {
            from: Host(from),
            to: Host(to),
            connections,
            dts: [0; 2],
            repeated_dts: 0,
            further_aks: [0; 2],
            repeated_aks: [0; 2],
            repeated_crs: 0,
        }
    }

    /// Share of one connection, counted from 0.
    fn one(&self, place: u64) -> Self {
        let share = |total| share(total, self.connections, place);
        Self {
            connections: 1,
            dts: self.dts.map(share),
            repeated_dts: share(self.repeated_dts),
            further_aks: self.further_aks.map(share),
            repeated_aks: self.repeated_aks.map(share),
            repeated_crs: share(self.repeated_crs),
            ..*self
        }
    }
}

/// Share of the element at `place` of a total that `count` elements share evenly.
pub(super) const fn share(total: u64, count: u64, place: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    total * (place + 1) / count - total * place / count
}

/// Transfers with the ratios of Table 6 (interval 2) and of Table 7 (interval 4).
///
/// A host's R_OA and R_RA are of what it sent, its R_OM of what it sent and received: F could not
/// have .03 and .33 otherwise. A caller's original AKs are its connections, the DTs it received and
/// the further AKs; a called host's are the DTs it received and the further AKs.
///
/// | host | R_OM | R_OA | R_RA |
/// |---|---|---|---|
/// | A | 506 / 1,543 | 480 / (12 + 26 + 17) | 38 / (38 + 55) |
/// | F | as A | 26 / (480 + 370) | 17 / (17 + 850) |
/// | E | 440 / 1,115 | 270 / (12 + 170 + 118) | 9 / (9 + 300) |
/// | I | 365 / 907 | 225 / (10 + 140 + 100) | 8 / (8 + 250) |
/// | G | 805 / 2,022 | 310 / (270 + 3 + 225 + 2) | 0 |
/// | C | 1,027 / 3,169 | 519 / (2 + 508 + 515) | 31 / (31 + 1,025) |
/// | D | as C | 508 / (519 + 519) | 39 / (39 + 1,038) |
pub(super) const GROUPS: [(usize, Transfers); 4] = [
    (
        2,
        Transfers {
            dts: [480, 26],
            repeated_dts: 24,
            further_aks: [17, 370],
            repeated_aks: [38, 17],
            ..Transfers::between('A', 'F', 12)
        },
    ),
    (
        2,
        Transfers {
            dts: [270, 170],
            repeated_dts: 40,
            further_aks: [118, 3],
            repeated_aks: [9, 0],
            ..Transfers::between('E', 'G', 12)
        },
    ),
    (
        2,
        Transfers {
            dts: [225, 140],
            repeated_dts: 13,
            further_aks: [100, 2],
            repeated_aks: [8, 0],
            ..Transfers::between('I', 'G', 10)
        },
    ),
    (
        4,
        Transfers {
            dts: [519, 508],
            further_aks: [515, 519],
            repeated_aks: [31, 39],
            ..Transfers::between('C', 'D', 2)
        },
    ),
];

/// Pairs of hosts for the rest of an interval, in turn: never the hosts of its groups.
const fn pairs(interval: usize) -> &'static [(char, char)] {
    match interval {
        2 => &[('B', 'H'), ('C', 'D')],
        _ => &[('A', 'F'), ('E', 'G'), ('I', 'G'), ('B', 'H'), ('C', 'D')],
    }
}

/// Connections of an interval, in the order in which they begin.
pub(super) fn connections(interval: usize) -> Vec<Transfers> {
    let Some(volumes) = VOLUMES.get(interval) else { return Vec::new() };
    let groups = GROUPS.iter().filter(|(of, _)| *of == interval).map(|(_, transfers)| transfers);
    let mut all: Vec<Transfers> = groups
        .clone()
        .flat_map(|group| (0..group.connections).map(move |place| group.one(place)))
        .collect();
    let rest = groups.fold(Rest::of(volumes), Rest::less);
    all.extend((0..rest.connections).map(|place| rest.one(place, interval)));
    // The hosts alternate.
    let count = all.len() as u64;
    all.sort_by_key(|transfers| transfers.from);
    let mut turns: Vec<(usize, Transfers)> = Vec::with_capacity(all.len());
    for transfers in all {
        let turn = turns.iter().filter(|(_, known)| known.from == transfers.from).count();
        turns.push((turn, transfers));
    }
    turns.sort_by_key(|(turn, transfers)| (*turn, transfers.from));
    let repeated = |place: usize| share(volumes.repeated_crs(), count, place as u64);
    let in_turn = turns.into_iter().map(|(_, transfers)| transfers).enumerate();
    in_turn.map(|(place, t)| Transfers { repeated_crs: repeated(place), ..t }).collect()
}

/// Rest of an interval.
#[derive(Clone, Copy, Debug)]
struct Rest {
    connections: u64,
    dts: u64,
    repeated_dts: u64,
    further_aks: u64,
    repeated_aks: u64,
}

impl Rest {
    const fn of(volumes: &Volumes) -> Self {
        Self {
            connections: volumes.connections,
            dts: volumes.original_dts(),
            repeated_dts: volumes.repeated_dts,
            further_aks: volumes.further_aks(),
            repeated_aks: volumes.repeated_aks,
        }
    }

    /// Rest without these transfers.
    fn less(self, transfers: &Transfers) -> Self {
        Self {
            connections: self.connections - transfers.connections,
            dts: self.dts - transfers.dts.iter().sum::<u64>(),
            repeated_dts: self.repeated_dts - transfers.repeated_dts,
            further_aks: self.further_aks - transfers.further_aks.iter().sum::<u64>(),
            repeated_aks: self.repeated_aks - transfers.repeated_aks.iter().sum::<u64>(),
        }
    }

    /// One connection of the rest: every fourth DT is the called host's, which answers commands.
    /// Three quarters of the retransmitted AKs are the caller's, because window timers expire where
    /// no DT arrives.
    fn one(&self, place: u64, interval: usize) -> Transfers {
        let share = |total| share(total, self.connections, place);
        let pairs = pairs(interval);
        let (from, to) = pairs[place as usize % pairs.len()];
        let (dts, further, repeated) =
            (share(self.dts), share(self.further_aks), share(self.repeated_aks));
        let back = dts / 4;
        let of_caller = (further * back).checked_div(dts).unwrap_or(0);
        Transfers {
            dts: [dts - back, back],
            repeated_dts: share(self.repeated_dts),
            further_aks: [of_caller, further - of_caller],
            repeated_aks: [repeated - repeated / 4, repeated / 4],
            ..Transfers::between(from, to, 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_has_the_volumes_of_every_interval() {
        for (interval, volumes) in VOLUMES.iter().enumerate() {
            let plan = connections(interval);
            let sum = |count: fn(&Transfers) -> u64| plan.iter().map(count).sum::<u64>();
            assert_eq!(plan.len() as u64, volumes.connections, "interval {interval}");
            assert_eq!(sum(|t| t.dts[0] + t.dts[1]), volumes.original_dts());
            assert_eq!(sum(|t| t.repeated_dts), volumes.repeated_dts);
            assert_eq!(sum(|t| t.further_aks[0] + t.further_aks[1]), volumes.further_aks());
            assert_eq!(sum(|t| t.repeated_aks[0] + t.repeated_aks[1]), volumes.repeated_aks);
            assert_eq!(sum(|t| t.repeated_crs), volumes.repeated_crs());
        }
    }

    #[test]
    fn no_dt_has_more_than_three_aks() {
        // One that closes, one that opens, and one that opens it wider.
        for transfers in (0..8).flat_map(connections) {
            let [there, back] = transfers.dts;
            let [caller, called] = transfers.further_aks;
            assert!(called <= 2 * there && caller <= 2 * back, "{transfers:?}");
            assert!(transfers.repeated_dts <= there && there > 0, "{transfers:?}");
        }
    }

    #[test]
    fn shares_add_up_and_differ_by_one_at_most() {
        let shares: Vec<u64> = (0..7).map(|place| share(24, 7, place)).collect();
        assert_eq!(shares.iter().sum::<u64>(), 24);
        assert!(shares.iter().all(|share| [3, 4].contains(share)), "{shares:?}");
        assert_eq!(share(5, 0, 0), 0);
    }
}

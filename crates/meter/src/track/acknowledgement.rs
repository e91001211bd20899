//! Original and retransmitted AKs of one direction (NBSIR 85-3104, section IV).
//!
//! An AK is original if it acknowledges new data, grants new credit or reduces credit granted
//! before; any other AK is a retransmission. The paper counts an AK that only confirms flow control
//! among the retransmissions, so a new subsequence number or a confirmation alone makes no AK
//! original.
//!
//! Bias: an AK that was overtaken by a later one with the same number and no subsequence number
//! looks like a change of credit. The first AK of a connection found under way counts as original,
//! and as acknowledging.

use crate::observation::Role;
use wire::tp::Format;

/// Last acknowledgement and credit that a side sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// YR-TU-NR.
    pub(super) next: u32,
    /// CDT.
    pub(super) credit: u16,
    /// Subsequence number, which orders the AKs with this number; zero if the parameter is absent.
    subsequence: u16,
}

impl Grant {
    /// No AK yet: a number that no format has, so that no flag takes more room.
    const NONE: Self = Self { next: u32::MAX, credit: 0, subsequence: 0 };

    const fn is_none(self) -> bool {
        self.next == Self::NONE.next
    }
}

/// AKs of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AcknowledgementOrder(Grant);

impl AcknowledgementOrder {
    /// Direction whose CR or CC granted this credit.
    pub(super) fn from_the_start(credit: u8) -> Self {
        Self(Grant { next: 0, credit: u16::from(credit), subsequence: 0 })
    }

    /// Direction found under way.
    pub(super) const fn under_way() -> Self {
        Self(Grant::NONE)
    }

    /// Last grant; none before the first.
    pub(super) fn grant(&self) -> Option<Grant> {
        Some(self.0).filter(|grant| !grant.is_none())
    }

    /// True if a DT with this number lies beyond the credit granted last.
    #[inline]
    pub(super) fn is_beyond(&self, format: Format, number: u32) -> bool {
        let known = self.0;
        let ahead = number.wrapping_sub(known.next) & (format.modulus() - 1);
        ahead >= u32::from(known.credit) && ahead < format.modulus() / 2 && !known.is_none()
    }

    /// Processes an AK and returns its role.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        format: Format,
        next: u32,
        credit: u16,
        subsequence: u16,
        confirms: bool,
    ) -> Role {
        let says_nothing_new = if confirms { Role::Confirming } else { Role::KeepingAlive };
        let grant = Grant { next, credit, subsequence };
        let known = &mut self.0;
        if known.is_none() {
            *known = grant;
            return Role::Acknowledging;
        }
        let ahead = next.wrapping_sub(known.next) & (format.modulus() - 1);
        if ahead >= format.modulus() / 2 || (ahead == 0 && subsequence < known.subsequence) {
            return says_nothing_new;
        }
        let before = core::mem::replace(known, grant);
        match ahead {
            0 if credit == before.credit => says_nothing_new,
            0 => Role::Crediting,
            _ => Role::Acknowledging,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(aks: &[(u32, u16, u16)], retransmitted: &[bool]) {
        let mut order = AcknowledgementOrder::from_the_start(1);
        let found: Vec<bool> = aks
            .iter()
            .map(|(next, credit, sub)| order.arrive(Format::Normal, *next, *credit, *sub, false))
            .map(|role| matches!(role, Role::KeepingAlive | Role::Confirming))
            .collect();
        assert_eq!(found, retransmitted);
    }

    #[test]
    fn an_ak_is_original_if_it_acknowledges_grants_or_reduces() {
        // The CR granted 1; taut flow control then closes and opens the window for each DT.
        check(&[(1, 0, 0), (1, 1, 1), (2, 0, 0), (2, 1, 1)], &[false; 4]);
        check(&[(0, 1, 0), (0, 1, 0)], &[true, true]);
        check(
            &[(1, 8, 0), (1, 8, 0), (1, 9, 0), (1, 2, 1), (1, 2, 1)],
            &[false, true, false, false, true],
        );
    }

    #[test]
    fn an_overtaken_ak_is_a_retransmission_and_changes_nothing() {
        check(&[(3, 4, 0), (2, 4, 0), (3, 4, 0)], &[false, true, true]);
        check(&[(3, 4, 0), (3, 0, 1), (3, 4, 0), (3, 0, 1)], &[false, false, true, true]);
    }

    #[test]
    fn acknowledgements_wrap_with_their_numbers() {
        let aks: Vec<(u32, u16, u16)> = (1..400).map(|n| (n % 128, 1, 0)).collect();
        check(&aks, &vec![false; 399]);
    }

    #[test]
    fn each_ak_has_one_of_four_roles() {
        let mut order = AcknowledgementOrder::from_the_start(1);
        let mut role = |next, credit, (sub, confirms)| {
            order.arrive(Format::Normal, next, credit, sub, confirms)
        };
        assert_eq!(role(1, 0, (0, false)), Role::Acknowledging);
        assert_eq!(role(1, 4, (1, false)), Role::Crediting);
        assert_eq!(role(1, 4, (1, true)), Role::Confirming);
        assert_eq!(role(1, 4, (1, false)), Role::KeepingAlive);
        // An AK that both acknowledges and confirms counts as acknowledging.
        assert_eq!(role(2, 4, (0, true)), Role::Acknowledging);
    }

    #[test]
    fn a_dt_is_beyond_the_credit_from_its_upper_edge_on() {
        let mut order = AcknowledgementOrder::from_the_start(2);
        let beyond = |order: &AcknowledgementOrder, number| order.is_beyond(Format::Normal, number);
        assert_eq!([0, 1, 2, 63].map(|n| beyond(&order, n)), [false, false, true, true]);
        order.arrive(Format::Normal, 126, 4, 0, false);
        // 126, 127, 0 and 1 are granted; 125 lies behind.
        assert_eq!([125, 126, 1, 2].map(|n| beyond(&order, n)), [false, false, false, true]);
        assert!(!beyond(&AcknowledgementOrder::under_way(), 5));
    }
}

//! Protocols that others carry: one row per protocol, for every reader of frames.
//!
//! LLC service access points are in [`Sap`](crate::addr::Sap); protocols above IP carry their number
//! in their own file.

/// Protocol that an EtherType stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// IP, version 4 or 6: each version has an EtherType, and the packet states it too.
    Internet,
    /// Label stack of MPLS, then a packet that its first octet identifies.
    Mpls,
}

/// EtherTypes of each protocol: IPv4 and IPv6; unicast and multicast labels (RFC 3032, RFC 5332).
pub(crate) const TYPES: [(Next, [u16; 2]); 2] =
    [(Next::Internet, [0x0800, 0x86DD]), (Next::Mpls, [0x8847, 0x8848])];

impl Next {
    /// Protocol of an EtherType, if it is read.
    #[inline]
    pub(crate) fn of_type(number: u16) -> Option<Self> {
        TYPES.into_iter().find(|(_, numbers)| numbers.contains(&number)).map(|(next, _)| next)
    }

    /// Protocol behind a label stack, by its first half octet (RFC 4928 3), if it is read.
    #[inline]
    pub(crate) fn of_labelled(octets: &[u8]) -> Option<Self> {
        matches!(octets.first().map(|first| first >> 4), Some(4 | 6)).then_some(Self::Internet)
    }

    /// EtherTypes of this protocol.
    pub(crate) const fn types(self) -> [u16; 2] {
        let [(_, internet), (_, mpls)] = TYPES;
        match self {
            Self::Internet => internet,
            Self::Mpls => mpls,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_leads_to_its_protocol() {
        for (next, numbers) in TYPES {
            assert_eq!(next.types(), numbers);
            assert!(numbers.iter().all(|number| Next::of_type(*number) == Some(next)));
        }
        assert_eq!(Next::of_type(0x0806), None);
        assert_eq!(
            [&[0x45][..], &[0x60], &[0x81], &[]].map(Next::of_labelled)[..2],
            [Some(Next::Internet); 2]
        );
        assert_eq!(Next::of_labelled(&[0x81]).or(Next::of_labelled(&[])), None);
    }
}

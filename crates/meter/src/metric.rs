//! The thirteen metrics of NBSIR 85-3104, section IV, under the paper's symbols.
//!
//! Each is a quotient of two measures, or of a measure and the measured time. If the denominator is
//! zero, a metric has no value, which is not the same as zero.

use crate::measure::{Measures, Transport};
use core::time::Duration;
use wire::units::BitRate;

/// Input of the metrics.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// Measures of the interval.
    pub measures: &'a Measures,
    /// Length of the interval (M).
    pub length: Duration,
    /// Capacity of the channel (R).
    pub channel: BitRate,
}

/// Counts in the quotients.
#[derive(Clone, Copy)]
struct Terms<'a> {
    transport: &'a Transport,
    npdu_octets: u64,
    lpdu_octets: u64,
    length: Duration,
    channel: BitRate,
}

impl<'a> From<&Basis<'a>> for Terms<'a> {
    fn from(basis: &Basis<'a>) -> Self {
        let Measures { traffic, network, link, .. } = basis.measures;
        Self {
            transport: &traffic.transport,
            npdu_octets: network.octets,
            lpdu_octets: link.octets,
            length: basis.length,
            channel: basis.channel,
        }
    }
}

/// Definition of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The paper's symbol.
    pub symbol: &'static str,
    /// Name.
    pub name: &'static str,
    /// Unit; `1` for a dimensionless ratio.
    pub unit: &'static str,
    /// Number of its equation in the paper.
    pub equation: u8,
    /// Page of the equation in the paper; two where the text of the paper does not show the break.
    pub page: &'static str,
    /// Equation, in names of the measures.
    pub formula: &'static str,
    /// Limits of its interpretation.
    pub cannot_tell: &'static str,
    quotient: fn(&Terms<'_>) -> (f64, f64),
}

/// A metric and its value.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Definition.
    pub definition: &'static Definition,
    /// Value; none if the denominator is zero.
    pub value: Option<f64>,
}

/// Module that computes the metrics.
pub const MODULE: &str = module_path!();

impl Definition {
    /// Equation and page of the paper that defines it.
    #[must_use]
    pub fn source(&self) -> String {
        format!("NBSIR 85-3104, equation {}, {}", self.equation, self.page)
    }

    /// Value of this metric; none if the denominator is zero, or if the tap cannot see the layer of
    /// the metric.
    #[must_use]
    pub fn value(&self, basis: &Basis<'_>) -> Option<f64> {
        if self.is_unseen(basis) {
            return None;
        }
        self.of(&basis.into())
    }

    fn of(&self, terms: &Terms<'_>) -> Option<f64> {
        let (dividend, divisor) = (self.quotient)(terms);
        (divisor > 0.0).then(|| dividend / divisor)
    }

    /// True if the metric needs measures of a layer that the tap cannot see.
    fn is_unseen(&self, basis: &Basis<'_>) -> bool {
        let Measures { link, network, .. } = basis.measures;
        match self.symbol {
            "T_L" | "E_N" => network.unseen > 0,
            "U_C" | "C_E" => link.unseen > 0,
            "E_L" => link.unseen > 0 || network.unseen > 0,
            _ => false,
        }
    }
}

/// All metrics of these measures, in the order of [`METRICS`].
#[must_use]
pub fn metrics(basis: &Basis<'_>) -> [Metric; 13] {
    core::array::from_fn(|place| {
        let definition = &METRICS[place];
        Metric { definition, value: definition.value(basis) }
    })
}

/// Metrics of a host, or of a side of a connection, that relate its TPDUs to each other: E_T, R_OM,
/// R_OA, R_RD, R_RA and S_D of what it sent, except R_OM, which covers what it sent and received,
/// as in the paper's Tables 6 and 7. The remaining metrics are those of the channel.
#[must_use]
pub fn ratios(sent: &Transport, received: &Transport) -> [Metric; 6] {
    let mut both = *sent;
    both.add(received);
    let of = |transport| Terms {
        transport,
        npdu_octets: 0,
        lpdu_octets: 0,
        length: Duration::ZERO,
        channel: BitRate::mbps(10),
    };
    let (own, both) = (of(sent), of(&both));
    RATIO_PLACES.map(|place| {
        let definition = &METRICS[place];
        let terms = if definition.symbol == "R_OM" { &both } else { &own };
        Metric { definition, value: definition.of(terms) }
    })
}

/// Places of these metrics in [`METRICS`].
const RATIO_PLACES: [usize; 6] = [6, 8, 9, 10, 11, 12];

/// Metrics that [`ratios`] returns.
pub const RATIOS: [&str; 6] = ["E_T", "R_OM", "R_OA", "R_RD", "R_RA", "S_D"];

/// Converts a count for a formula; exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "a count beyond 2^53 octets would take years")]
const fn float(count: u64) -> f64 {
    count as f64
}

fn information_octets(terms: &Terms<'_>) -> f64 {
    float(terms.transport.all().information_octets)
}

fn tpdu_octets(terms: &Terms<'_>) -> f64 {
    float(terms.transport.all().total_octets())
}

const fn npdu_octets(terms: &Terms<'_>) -> f64 {
    float(terms.npdu_octets)
}

const fn lpdu_octets(terms: &Terms<'_>) -> f64 {
    float(terms.lpdu_octets)
}

const fn original_dts(terms: &Terms<'_>) -> f64 {
    float(terms.transport.data_and_acknowledgements()[0].originals())
}

fn capacity_bits(terms: &Terms<'_>) -> f64 {
    terms.length.as_secs_f64() * float(terms.channel.bits_per_second())
}

/// Metrics in the order of the paper's Table 5.
pub static METRICS: [Definition; 13] = [
    Definition {
        symbol: "T_L",
        name: "link information throughput",
        unit: "bit/s",
        equation: 1,
        page: "page 18",
        formula: "8 x npdu_octets / seconds",
        cannot_tell: "how fast the link could go: it counts what was offered, not what was \
                      possible",
        quotient: |terms| (8.0 * npdu_octets(terms), terms.length.as_secs_f64()),
    },
    Definition {
        symbol: "T_T",
        name: "transport information throughput",
        unit: "bit/s",
        equation: 2,
        page: "page 20",
        formula: "8 x tpdu_information_octets / seconds",
        cannot_tell: "whether the data was delivered: data sent once and lost counts too",
        quotient: |terms| (8.0 * information_octets(terms), terms.length.as_secs_f64()),
    },
    Definition {
        symbol: "U_C",
        name: "channel utilisation",
        unit: "1",
        equation: 3,
        page: "page 20",
        formula: "8 x lpdu_octets / (seconds x channel rate)",
        cannot_tell: "how long the medium was busy: preamble, pad, FCS, gaps, collisions and \
                      frames that are no LPDUs are left out",
        quotient: |terms| (8.0 * lpdu_octets(terms), capacity_bits(terms)),
    },
    Definition {
        symbol: "E_C",
        name: "channel efficiency",
        unit: "1",
        equation: 4,
        page: "pages 21 to 22",
        formula: "8 x tpdu_information_octets / (seconds x channel rate)",
        cannot_tell: "whether a low value comes from an idle network or from a wasteful one",
        quotient: |terms| (8.0 * information_octets(terms), capacity_bits(terms)),
    },
    Definition {
        symbol: "E_L",
        name: "link protocol efficiency",
        unit: "1",
        equation: 5,
        page: "pages 21 to 22",
        formula: "npdu_octets / lpdu_octets",
        cannot_tell: "anything beyond the mean length of frames while the link header is fixed",
        quotient: |terms| (npdu_octets(terms), lpdu_octets(terms)),
    },
    Definition {
        symbol: "E_N",
        name: "network protocol efficiency",
        unit: "1",
        equation: 6,
        page: "pages 21 to 22",
        formula: "tpdu_total_octets / npdu_octets",
        cannot_tell: "why octets are missing above: NPDUs that carry no TPDUs, segments and TPDUs \
                      that are discarded lower it as headers do",
        quotient: |terms| (tpdu_octets(terms), npdu_octets(terms)),
    },
    Definition {
        symbol: "E_T",
        name: "transport protocol efficiency",
        unit: "1",
        equation: 7,
        page: "pages 21 to 22",
        formula: "tpdu_information_octets / tpdu_total_octets",
        cannot_tell: "headers, acknowledgements and retransmissions apart",
        quotient: |terms| (information_octets(terms), tpdu_octets(terms)),
    },
    Definition {
        symbol: "C_E",
        name: "combined protocol efficiency",
        unit: "1",
        equation: 9,
        page: "page 23",
        formula: "tpdu_information_octets / lpdu_octets",
        cannot_tell: "which layer is to blame; E_L, E_N and E_T, whose product it is, do",
        quotient: |terms| (information_octets(terms), lpdu_octets(terms)),
    },
    Definition {
        symbol: "R_OM",
        name: "original DTs to all TPDUs",
        unit: "1",
        equation: 14,
        page: "page 25",
        formula: "(dt_tpdus - dt_retransmissions) / tpdus",
        cannot_tell: "the cost of expedited data: an ED counts as one of all TPDUs, never as \
                      data; nor what a TPDU costs its host",
        quotient: |terms| (original_dts(terms), float(terms.transport.all().tpdus)),
    },
    Definition {
        symbol: "R_OA",
        name: "original DTs to original AKs",
        unit: "1",
        equation: 13,
        page: "pages 23 to 24",
        formula: "(dt_tpdus - dt_retransmissions) / (ak_tpdus - ak_retransmissions)",
        cannot_tell: "withheld acknowledgements from taut flow control: over many hosts the two \
                      cancel each other",
        quotient: |terms| {
            let [_, ak] = terms.transport.data_and_acknowledgements();
            (original_dts(terms), float(ak.originals()))
        },
    },
    Definition {
        symbol: "R_RD",
        name: "retransmitted DTs to all DTs",
        unit: "1",
        equation: 15,
        page: "page 25",
        formula: "dt_retransmissions / dt_tpdus",
        cannot_tell: "loss: a DT lost before this point is not seen twice, one sent again too \
                      early is; and many small DTs hide that large ones are lost",
        quotient: |terms| {
            let [dt, _] = terms.transport.data_and_acknowledgements();
            (float(dt.retransmissions), float(dt.tpdus))
        },
    },
    Definition {
        symbol: "R_RA",
        name: "retransmitted AKs to all AKs",
        unit: "1",
        equation: 16,
        page: "page 26",
        formula: "ak_retransmissions / ak_tpdus",
        cannot_tell: "the four uses of AKs apart: window timers of idle connections raise it as \
                      confirmations do",
        quotient: |terms| {
            let [_, ak] = terms.transport.data_and_acknowledgements();
            (float(ak.retransmissions), float(ak.tpdus))
        },
    },
    Definition {
        symbol: "S_D",
        name: "mean data field of an original DT",
        unit: "octet",
        equation: 17,
        page: "page 26",
        formula: "tpdu_information_octets / (dt_tpdus - dt_retransmissions)",
        cannot_tell: "the spread of sizes; and data in CR, CC, DR and ED counts above the line \
                      only",
        quotient: |terms| (information_octets(terms), original_dts(terms)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Measure;

    #[test]
    fn a_layer_that_the_tap_cannot_see_has_no_metrics() {
        let mut measures = Measures::default();
        (measures.link.unseen, measures.network.unseen) = (1, 1);
        let (length, channel) = (Duration::from_secs(1), BitRate::mbps(10));
        let found = metrics(&Basis { measures: &measures, length, channel });
        let of = |symbol| found.iter().find(|metric| metric.definition.symbol == symbol).unwrap();
        assert_eq!(["T_L", "U_C"].map(|symbol| of(symbol).value), [None; 2]);
        assert_eq!(["T_T", "E_C"].map(|symbol| of(symbol).value), [Some(0.0); 2]);
        assert!([Measure::Lpdus, Measure::NpduOctets].into_iter().all(|of| measures.is_unseen(of)));
        assert!(!measures.is_unseen(Measure::Tpdus));
    }

    #[test]
    fn ratios_are_the_metrics_with_their_symbols() {
        let none = Transport::default();
        assert_eq!(ratios(&none, &none).map(|metric| metric.definition.symbol), RATIOS);
    }

    #[test]
    fn a_quotient_by_nothing_has_no_value() {
        let (measures, channel) = (Measures::default(), BitRate::mbps(10));
        let silent = Basis { measures: &measures, length: Duration::from_secs(1), channel };
        let valued: Vec<&str> = metrics(&silent)
            .iter()
            .filter(|metric| metric.value.is_some())
            .map(|metric| metric.definition.symbol)
            .collect();
        assert_eq!(valued, ["T_L", "T_T", "U_C", "E_C"], "these are zero, the ratios are nothing");
        let never = Basis { length: Duration::ZERO, ..silent };
        assert!(metrics(&never).iter().all(|metric| metric.value.is_none()));
    }
}

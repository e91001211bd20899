//! The medium of a scenario, and its effect on the size of frames.

use super::quantity::{Length, Rate, Size, Span};
use super::{LLC_OCTETS, MAC_OCTETS, MOST_DATA_OCTETS, SHORTEST_FRAME_OCTETS};
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::switched::{self, Buffer, Link, StationLink, Switch, Trunk};
use sim::medium::token_bus;
use sim::medium::token_ring::{self, Release};
use sim::medium::{framing, plca};
use stack::profile::Framing;
use wire::mac::HEADER_OCTETS;
use wire::units::BitRate;

/// Octets of an 802.1Q tag.
const TAG_OCTETS: u64 = 4;
/// The longest frame with a tag, FCS not counted.
const MOST_TAGGED_OCTETS: usize = 1_518;
/// The most switches in a row.
pub(super) const MOST_SWITCHES: usize = 100;

/// The medium that carries the frames.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub enum Medium {
    /// Every station sends without waiting for another.
    Ideal {
        /// The bit rate of each station.
        rate: Rate,
        /// From any station to any other; none if not given.
        #[schemars(with = "Option<Span>")]
        delay: Span,
    },
    /// Half-duplex ISO 8802-3 on one bus.
    CsmaCd {
        /// The bit rate of the bus.
        rate: Rate,
        /// The length of the bus.
        length: Length,
    },
    /// A token ring of IEEE 802.5.
    TokenRing {
        /// The bit rate: 4 or 16 Mbit/s in the standard.
        rate: Rate,
        /// The length of cable all the way round.
        length: Length,
        /// True if the token follows the last frame at once; if not given, it waits until the
        /// sender's own header has come round.
        #[schemars(with = "Option<bool>")]
        early_release: bool,
    },
    /// A token bus of IEEE 802.4.
    TokenBus {
        /// The bit rate: 1, 5 or 10 Mbit/s in the standard.
        rate: Rate,
        /// The length of the bus.
        length: Length,
        /// The distance of the head end of a broadband bus from the start of the cable; if not
        /// given, the bus is a carrierband bus, which has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        head_end: Option<Length>,
        /// The delay with which the head end repeats a signal; none if not given.
        #[serde(skip_serializing_if = "Span::is_zero")]
        #[schemars(with = "Option<Span>")]
        head_end_delay: Span,
        /// From the last bit of a token that a station receives to the first bit that it sends; 32
        /// bit times if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        station_delay: Option<Span>,
        /// The time for which a station with the token may begin frames, of class 6 if there are
        /// classes; 10 ms if not given.
        #[schemars(with = "Option<Span>")]
        holding_time: Span,
        /// The target rotation times of the lower classes; all frames are of class 6 if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        classes: Option<Classes>,
        /// The windows in which others may enter the ring; stations open none if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        maintenance: Option<Maintenance>,
        /// Acknowledges acknowledged messages at once (request with response); if not given, each
        /// acknowledgement waits for its station's token.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_with_response: Option<RequestWithResponse>,
    },
    /// A 10BASE-T1S multidrop segment of IEEE 802.3cg, at 10 Mbit/s.
    T1s {
        /// The length of the segment.
        length: Length,
        /// True if stations take turns (PLCA), as they do if not given; else they contend, as in
        /// CSMA/CD. The other keys set the details of the turns.
        #[schemars(with = "Option<bool>")]
        plca: bool,
        /// The number of frames that a station may send in its turn after the first; none if not
        /// given.
        #[schemars(with = "Option<u64>")]
        max_burst: u64,
        /// The time that a station waits for a further frame of a burst, in bit times; 128 if not
        /// given.
        #[schemars(with = "Option<u64>")]
        burst_timer: u64,
        /// The length of a turn that is not taken, in bit times; 32 if not given.
        #[schemars(with = "Option<u64>")]
        to_timer: u64,
    },
    /// Full-duplex Ethernet with switches in a row.
    Switched {
        /// The bit rate of each station's link.
        rate: Rate,
        /// The length of each station's link.
        length: Length,
        /// The number of switches; one if not given. The stations are spread over them in their
        /// order.
        #[schemars(with = "Option<u64>")]
        switches: u64,
        /// The bit rate of the links between switches; that of the stations' links if not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        trunk_rate: Option<Rate>,
        /// The processing time of a switch for a frame received in full; none if not given.
        #[schemars(with = "Option<Span>")]
        latency: Span,
        /// The buffer of each port of a switch, in octets of frames; 64 KiB if not given.
        #[schemars(with = "Option<Size>")]
        buffer: Size,
    },
    /// A Proteon ProNET-10 token ring, at 10 Mbit/s.
    #[serde(rename = "pronet-10")]
    ProNet10 {
        /// The length of cable all the way round.
        length: Length,
    },
}

/// The target rotation times of a token bus: a class may begin frames only until this time after it
/// was last served.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Classes {
    /// Target of priorities 5 and 4.
    pub class_4: Span,
    /// Target of priorities 3 and 2.
    pub class_2: Span,
    /// Target of priorities 1 and 0.
    pub class_0: Span,
}

/// The conditions on which a station of a token bus opens a window for others to enter the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Maintenance {
    /// Once in this many tokens (max_inter_solicit_count).
    pub every: u64,
    /// Only if less than this has passed since the station last had the token.
    pub target: Span,
}

/// The answer to an acknowledged message while its sender still has the token, on a token bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct RequestWithResponse {
    /// The most times that the MAC repeats a request that is not answered (max_retry): from 0 to 7.
    pub retries: u64,
}

/// Kind of a medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MediumKind {
    /// An ideal wire.
    Ideal,
    /// ISO 8802-3 with collisions.
    CsmaCd,
    /// IEEE 802.5.
    TokenRing,
    /// IEEE 802.4.
    TokenBus,
    /// 10BASE-T1S.
    T1s,
    /// Full-duplex links and switches.
    Switched,
    /// ProNET-10.
    ProNet10,
}

impl MediumKind {
    /// All of them, with their names in scenarios and profiles.
    pub const WORDS: [(&str, Self); 7] = [
        ("ideal", Self::Ideal),
        ("csma-cd", Self::CsmaCd),
        ("token-ring", Self::TokenRing),
        ("token-bus", Self::TokenBus),
        ("t1s", Self::T1s),
        ("switched", Self::Switched),
        ("pronet-10", Self::ProNet10),
    ];

    /// Its name in scenarios and profiles.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

impl Medium {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> MediumKind {
        match self {
            Self::Ideal { .. } => MediumKind::Ideal,
            Self::CsmaCd { .. } => MediumKind::CsmaCd,
            Self::TokenRing { .. } => MediumKind::TokenRing,
            Self::TokenBus { .. } => MediumKind::TokenBus,
            Self::T1s { .. } => MediumKind::T1s,
            Self::Switched { .. } => MediumKind::Switched,
            Self::ProNet10 { .. } => MediumKind::ProNet10,
        }
    }

    /// Its bit rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        match self {
            Self::Ideal { rate, .. }
            | Self::CsmaCd { rate, .. }
            | Self::TokenRing { rate, .. }
            | Self::TokenBus { rate, .. }
            | Self::Switched { rate, .. } => *rate,
            Self::T1s { .. } | Self::ProNet10 { .. } => Rate(BitRate::mbps(10)),
        }
    }

    /// The position of station `index` of `stations` if the scenario gives none, in metres: evenly
    /// along a bus, the first and last at its ends, or evenly around a ring.
    #[must_use]
    pub fn spread(&self, index: usize, stations: usize) -> f64 {
        let (length, gaps) = match self {
            Self::Ideal { .. } | Self::Switched { .. } => return 0.0,
            Self::CsmaCd { length, .. }
            | Self::T1s { length, .. }
            | Self::TokenBus { length, .. } => (length, stations.saturating_sub(1)),
            Self::TokenRing { length, .. } | Self::ProNet10 { length } => (length, stations),
        };
        length.metres() * index as f64 / gaps.max(1) as f64
    }

    /// The length of the medium and its name; none if stations have no positions.
    #[must_use]
    pub const fn length(&self) -> Option<(Length, &'static str)> {
        match self {
            Self::Ideal { .. } | Self::Switched { .. } => None,
            Self::CsmaCd { length, .. } | Self::TokenBus { length, .. } => Some((*length, "bus")),
            Self::T1s { length, .. } => Some((*length, "segment")),
            Self::TokenRing { length, .. } | Self::ProNet10 { length } => Some((*length, "ring")),
        }
    }

    /// True if its stations share the rate.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        match self {
            Self::Ideal { .. } | Self::Switched { .. } => false,
            Self::CsmaCd { .. }
            | Self::T1s { .. }
            | Self::TokenRing { .. }
            | Self::TokenBus { .. }
            | Self::ProNet10 { .. } => true,
        }
    }

    /// A ring with stations at these places, in metres; none for other media.
    #[must_use]
    pub fn ring(&self, positions_metres: Vec<f64>) -> Option<token_ring::Params> {
        let (params, length) = match self {
            Self::Ideal { .. }
            | Self::CsmaCd { .. }
            | Self::T1s { .. }
            | Self::Switched { .. }
            | Self::TokenBus { .. } => return None,
            Self::TokenRing { rate, length, early_release } => {
                let release = if *early_release { Release::Early } else { Release::OwnHeader };
                let params = token_ring::Params::ieee_802_5(rate.0, 0, 0.0);
                let priority_of = token_ring::access_control;
                (token_ring::Params { release, priority_of, ..params }, length)
            }
            Self::ProNet10 { length } => (token_ring::Params::pronet_10(0, 0.0), length),
        };
        let length_metres = length.metres();
        Some(token_ring::Params { positions_metres, length_metres, ..params })
    }

    /// A token bus with stations at these places, in metres; none for other media.
    #[must_use]
    pub fn bus(&self, positions_metres: Vec<f64>) -> Option<token_bus::Params> {
        let Self::TokenBus {
            rate,
            length: _,
            head_end,
            head_end_delay,
            station_delay,
            holding_time,
            classes,
            maintenance,
            request_with_response,
        } = *self
        else {
            return None;
        };
        let params = token_bus::Params::carrierband(rate.0, 0, 0.0);
        let holding_time = holding_time.0;
        Some(token_bus::Params {
            positions_metres,
            head_end: head_end.map(|position| token_bus::HeadEnd {
                position_metres: position.metres(),
                delay: head_end_delay.0,
            }),
            station_delay: station_delay.map_or(params.station_delay, |span| span.0),
            service: match classes {
                None => token_bus::Service::HoldingTime(holding_time),
                Some(Classes { class_4, class_2, class_0 }) => token_bus::Service::Classes {
                    holding_time,
                    target_rotation_times: [class_4.0, class_2.0, class_0.0],
                },
            },
            priority_of: token_bus::frame_control,
            maintenance: maintenance.map(|Maintenance { every, target }| token_bus::Maintenance {
                tokens_between_windows: u32::try_from(every).unwrap_or(u32::MAX),
                target_rotation_time: target.0,
            }),
            request_with_response: request_with_response
                .map(|it| u32::try_from(it.retries).unwrap_or(u32::MAX)),
            ..params
        })
    }

    /// A segment on which stations at these places, in metres, take turns; none for other media.
    #[must_use]
    pub fn turns(&self, positions_metres: Vec<f64>) -> Option<plca::Params> {
        let Self::T1s { plca: true, max_burst, burst_timer, to_timer, .. } = *self else {
            return None;
        };
        Some(plca::Params {
            maximum_burst: max_burst,
            burst_bits: burst_timer,
            opportunity_bits: to_timer,
            node_count: positions_metres.len() as u64,
            positions_metres,
            ..plca::Params::spread(0, 0.0)
        })
    }

    /// A row of switches with `stations` stations; none for other media.
    #[must_use]
    pub fn network(&self, stations: usize) -> Option<switched::Params> {
        let Self::Switched { rate, length, switches, trunk_rate, latency, buffer } = *self else {
            return None;
        };
        let count = usize::try_from(switches).unwrap_or(usize::MAX).min(MOST_SWITCHES);
        let link = |rate: Rate| Link { rate: rate.0, metres: length.metres() };
        let switch = Switch { latency: latency.0, buffer: Buffer::Octets(buffer.octets()) };
        let home = |station| station * count / stations.max(1);
        let params = switched::Params::star(0, link(rate));
        Some(switched::Params {
            stations: (0..stations)
                .map(|station| StationLink { switch: home(station), link: link(rate) })
                .collect(),
            switches: vec![switch; count],
            trunks: (1..count)
                .map(|next| Trunk {
                    ends: [next - 1, next],
                    link: link(trunk_rate.unwrap_or(rate)),
                })
                .collect(),
            framing: framing::Framing { maximum_octets: MOST_TAGGED_OCTETS, ..params.framing },
            priority_of: switched::tag_priority,
            ..params
        })
    }

    /// Bits of the frame that carries `data_octets` octets of data, LLC header included: from
    /// destination address to FCS, padding included, or on a ring or a token bus the whole frame.
    #[must_use]
    pub fn frame_bits(&self, data_octets: u64) -> u64 {
        if let Some(bus) = self.bus(Vec::new()) {
            return bus.frame_bits(usize::try_from(data_octets).unwrap_or(usize::MAX));
        }
        match self.ring(Vec::new()) {
            None => {
                let around = MAC_OCTETS + self.tag_octets();
                data_octets.saturating_add(around).max(SHORTEST_FRAME_OCTETS).saturating_mul(8)
            }
            Some(ring) => {
                let octets = usize::try_from(data_octets).unwrap_or(usize::MAX);
                ring.format.frame_bits(octets.saturating_add(HEADER_OCTETS))
            }
        }
    }

    /// Octets of the tag that a frame has on it.
    const fn tag_octets(&self) -> u64 {
        if matches!(self.framing(), Framing::Ieee8021Q) { TAG_OCTETS } else { 0 }
    }

    /// The frame format of its stations.
    #[must_use]
    pub const fn framing(&self) -> Framing {
        match self {
            Self::Ideal { .. } | Self::CsmaCd { .. } | Self::T1s { .. } => Framing::Ieee8023,
            Self::Switched { .. } => Framing::Ieee8021Q,
            Self::TokenRing { .. } => Framing::Ieee8025,
            Self::TokenBus { request_with_response: Some(_), .. } => Framing::Ieee8024Responding,
            Self::TokenBus { request_with_response: None, .. } => Framing::Ieee8024,
            Self::ProNet10 { .. } => Framing::WholeFrame,
        }
    }

    /// The most octets of data in a frame, LLC header included: the limit of 802.3 or 802.4, or on
    /// a ring that of the token holding time and of the interface's buffer.
    #[must_use]
    pub fn most_data_octets(&self) -> u64 {
        if let Some(bus) = self.bus(Vec::new()) {
            return bus.maximum_data_octets as u64;
        }
        let Some(ring) = self.ring(Vec::new()) else { return MOST_DATA_OCTETS };
        let bits = ring.token_holding_time.as_nanos() * u128::from(ring.rate.bits_per_second())
            / 1_000_000_000;
        let held = u64::try_from(bits).unwrap_or(u64::MAX).saturating_sub(ring.format.around_bits);
        (held / 8).min(ring.maximum_data_octets as u64)
    }

    /// The most octets of an LSDU.
    #[must_use]
    pub fn most_lsdu_octets(&self) -> u64 {
        self.most_data_octets().saturating_sub(LLC_OCTETS)
    }
}

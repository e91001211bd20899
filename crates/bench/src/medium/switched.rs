//! Full-duplex Ethernet with switches in a row.

use super::{Kind, MediumKind, Model, Shape, Site, refusal};
use crate::scenario::fields::Fields;
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate, Size, Span};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::framing;
use sim::medium::switched::{self, Buffer, Link, Params, StationLink, Switch, Trunk};
use stack::profile::Framing;

/// The longest frame with a tag, FCS not counted.
const MOST_TAGGED_OCTETS: usize = 1_518;
/// The most switches in a row.
const MOST_SWITCHES: u64 = 100;
/// Default buffer of a port.
const PORT_BUFFER: Size = Size(65_536);

/// Keys of a switched network.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Switched {
    /// The bit rate of each station's link.
    pub rate: Rate,
    /// The length of each station's link.
    pub length: Length,
    /// The number of switches; one if not given. The stations are spread over them in their
    /// order.
    #[schemars(with = "Option<u64>")]
    pub switches: u64,
    /// The bit rate of the links between switches; that of the stations' links if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trunk_rate: Option<Rate>,
    /// The processing time of a switch for a frame received in full; none if not given.
    #[schemars(with = "Option<Span>")]
    pub latency: Span,
    /// The buffer of each port of a switch, in octets of frames; 64 KiB if not given.
    #[schemars(with = "Option<Size>")]
    pub buffer: Size,
}

impl Kind for Switched {
    const KIND: MediumKind = MediumKind::Switched;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let rate = fields.required("rate", problems);
        let length = fields.required("length", problems);
        let switches = fields.optional("switches", problems).unwrap_or(1);
        let trunk_rate = fields.optional("trunk-rate", problems);
        let latency = fields.optional("latency", problems).unwrap_or(Span(Duration::ZERO));
        let buffer = fields.optional("buffer", problems).unwrap_or(PORT_BUFFER);
        Some(Self { rate: rate?, length: length?, switches, trunk_rate, latency, buffer })
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn shape(&self) -> Shape {
        Shape::Separate
    }

    fn framing(&self) -> Framing {
        Framing::Ieee8021Q
    }

    /// A row of switches, over which the stations are spread.
    fn model(&self, site: Site) -> Model {
        let stations = site.positions_metres.len();
        let switches = self.switches.min(MOST_SWITCHES) as usize;
        let link = |rate: Rate| Link { rate: rate.0, metres: self.length.metres() };
        let switch =
            Switch { latency: self.latency.0, buffer: Buffer::Octets(self.buffer.octets()) };
        let trunk = link(self.trunk_rate.unwrap_or(self.rate));
        let params = Params::star(0, link(self.rate));
        Model::Switched(Params {
            stations: (0..stations)
                .map(|station| StationLink {
                    switch: station * switches / stations.max(1),
                    link: link(self.rate),
                })
                .collect(),
            switches: vec![switch; switches],
            trunks: (1..switches)
                .map(|next| Trunk { ends: [next - 1, next], link: trunk })
                .collect(),
            framing: framing::Framing { maximum_octets: MOST_TAGGED_OCTETS, ..params.framing },
            priority_of: switched::tag_priority,
            ..params
        })
    }

    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        if !(1..=MOST_SWITCHES).contains(&self.switches) {
            let message = format!("from 1 to {MOST_SWITCHES} switches are in a row");
            problems.push(Problem::error("medium.switches", message));
            return;
        }
        let two = Site { positions_metres: vec![0.0; 2], ..site.clone() };
        problems.extend(refusal(self.model(two)));
    }
}

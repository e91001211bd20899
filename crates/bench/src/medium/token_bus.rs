//! A token bus of IEEE 802.4.

use super::{Kind, MediumKind, Model, Shape, Site, refusal};
use crate::scenario::fields::{Fields, Placed, Read};
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate, Span};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::token_bus::{self, HeadEnd, Params, Service};
use stack::profile::Framing;
use wire::units::BitRate;

/// The rates of IEEE 802.4.
const RATES: [BitRate; 3] = [BitRate::mbps(1), BitRate::mbps(5), BitRate::mbps(10)];
/// Default time for which a station with the token may begin frames.
const HOLDING_TIME: Span = Span(Duration::from_millis(10));

/// Keys of a token bus.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct TokenBus {
    /// The bit rate: 1, 5 or 10 Mbit/s in the standard.
    pub rate: Rate,
    /// The length of the bus.
    pub length: Length,
    /// The distance of the head end of a broadband bus from the start of the cable; if not
    /// given, the bus is a carrierband bus, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_end: Option<Length>,
    /// The delay with which the head end repeats a signal; none if not given.
    #[serde(skip_serializing_if = "Span::is_zero")]
    #[schemars(with = "Option<Span>")]
    pub head_end_delay: Span,
    /// From the last bit of a token that a station receives to the first bit that it sends; 32
    /// bit times if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub station_delay: Option<Span>,
    /// The time for which a station with the token may begin frames, of class 6 if there are
    /// classes; 10 ms if not given.
    #[schemars(with = "Option<Span>")]
    pub holding_time: Span,
    /// The target rotation times of the lower classes; all frames are of class 6 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Classes>,
    /// The windows in which others may enter the ring; stations open none if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    /// Acknowledges acknowledged messages at once (request with response); if not given, each
    /// acknowledgement waits for its station's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_with_response: Option<RequestWithResponse>,
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

impl TokenBus {
    /// A carrierband bus with the defaults of all other keys.
    #[must_use]
    pub const fn new(rate: Rate, length: Length) -> Self {
        Self {
            rate,
            length,
            head_end: None,
            head_end_delay: Span(Duration::ZERO),
            station_delay: None,
            holding_time: HOLDING_TIME,
            classes: None,
            maintenance: None,
            request_with_response: None,
        }
    }
}

impl Read for Classes {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let class_4 = fields.required("class-4", problems);
        let class_2 = fields.required("class-2", problems);
        let class_0 = fields.required("class-0", problems);
        fields.finish(problems);
        Some(Self { class_4: class_4?, class_2: class_2?, class_0: class_0? })
    }
}

impl Read for Maintenance {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let every = fields.required("every", problems);
        let target = fields.required("target", problems);
        fields.finish(problems);
        Some(Self { every: every?, target: target? })
    }
}

impl Read for RequestWithResponse {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let retries = fields.required("retries", problems);
        fields.finish(problems);
        Some(Self { retries: retries? })
    }
}

impl Kind for TokenBus {
    const KIND: MediumKind = MediumKind::TokenBus;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let rate = fields.required("rate", problems);
        let length = fields.required("length", problems);
        let head_end = fields.optional("head-end", problems);
        let head_end_delay = fields.optional("head-end-delay", problems);
        let station_delay = fields.optional("station-delay", problems);
        let holding_time = fields.optional("holding-time", problems);
        let classes = fields.optional("classes", problems);
        let maintenance = fields.optional("maintenance", problems);
        let request_with_response = fields.optional("request-with-response", problems);
        if head_end.is_none() && fields.has("head-end-delay") {
            let place = fields.span_of("head-end-delay");
            let message = "a bus without a head end has no `head-end-delay`";
            problems.push(Problem::error(place, message));
        }
        let default = Self::new(rate?, length?);
        Some(Self {
            head_end,
            head_end_delay: head_end_delay.unwrap_or(default.head_end_delay),
            station_delay,
            holding_time: holding_time.unwrap_or(default.holding_time),
            classes,
            maintenance,
            request_with_response,
            ..default
        })
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn shape(&self) -> Shape {
        Shape::Line(self.length, "bus")
    }

    fn framing(&self) -> Framing {
        match self.request_with_response {
            Some(_) => Framing::Ieee8024Responding,
            None => Framing::Ieee8024,
        }
    }

    fn model(&self, site: Site) -> Model {
        let params = Params::carrierband(self.rate.0, 0, 0.0);
        let holding_time = self.holding_time.0;
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Model::TokenBus(Params {
            positions_metres: site.positions_metres,
            changes: site.changes,
            head_end: self.head_end.map(|position| HeadEnd {
                position_metres: position.metres(),
                delay: self.head_end_delay.0,
            }),
            station_delay: self.station_delay.map_or(params.station_delay, |span| span.0),
            service: match self.classes {
                None => Service::HoldingTime(holding_time),
                Some(Classes { class_4, class_2, class_0 }) => Service::Classes {
                    holding_time,
                    target_rotation_times: [class_4.0, class_2.0, class_0.0],
                },
            },
            priority_of: token_bus::frame_control,
            maintenance: self.maintenance.map(|Maintenance { every, target }| {
                token_bus::Maintenance {
                    tokens_between_windows: count(every),
                    target_rotation_time: target.0,
                }
            }),
            request_with_response: self.request_with_response.map(|it| count(it.retries)),
            ..params
        })
    }

    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        problems.extend(refusal(self.model(site.ends(self.length.metres()))));
        if let Some(head_end) = self.head_end.filter(|it| it.metres() > self.length.metres()) {
            let message = format!("at {head_end}, but the bus is only {} long", self.length);
            problems.push(Problem::error("medium.head-end", message));
        }
        if !RATES.contains(&self.rate.0) {
            let message = format!("IEEE 802.4 has no bus of {}", self.rate);
            let problem = Problem::warning("medium.rate", message);
            problems.push(problem.help("its rates are 1 Mbit/s, 5 Mbit/s and 10 Mbit/s"));
        }
    }
}

//! One run of NBS-1986 as a scenario: experiment, network, load, and a choice for each question
//! that the paper leaves open.
//!
//! Left open by the paper, and so a part of [`World`]: the reading of the profile, the definition
//! of a load, the number of stations that generate it, the window, and the time of medium access on
//! the token bus. Also left open, but without effect: the length of the cable (50 m to 1,850 m) and
//! T1 (100 ms or 1 s).
//!
//! A run begins with an empty network and an open connection. It has one extra trial: the first is
//! not counted, because it would meet the acknowledgement of the connection's opening.

use crate::published::Unavailable;
use bench::medium::{CsmaCd, Medium, TokenBus};
use bench::profile::Profile;
use bench::scenario::{
    Acknowledge, Background, Flow, Group, Length, Pattern, Point, Rate, Scenario, Service, Share,
    Size, Span, Start, Stop, Study, Transport, Warmup,
};
use core::time::Duration;
use wire::units::BitRate;

/// Trials of one run.
pub(super) const TRIALS: u64 = 500;
/// Period of reports and requests.
pub(super) const PERIOD: Duration = Duration::from_millis(20);
/// Octets of a status report, and of a response.
pub(super) const LONG: u64 = 200;
/// Octets of a request.
pub(super) const SHORT: u64 = 20;
/// Octets of data in a frame of the background.
pub(super) const BACKGROUND: u64 = 200;
/// Greatest load, and step between loads, in percent.
pub(super) const MOST_LOAD: u64 = 70;
const LOAD_STEP: u64 = 5;
/// Stations of the network (RFC 1008, 3.4.3.2).
pub(super) const STATIONS: u64 = 12;
/// Length of the CSMA/CD cable in metres; 50 m and 1,850 m move no cross-over by a point.
const CABLE_METRES: u64 = 500;
/// T1: RFC 1008 (8.3.1.1) says that 100 ms worked well in the simulations.
const T1: Duration = Duration::from_millis(100);
/// Propagation delay between two stations of the token bus (RFC 1008, 3.4.3.2: 8 ns, read as us).
pub(super) const PROPAGATION: Duration = Duration::from_micros(8);
/// Time of the opening of the connection: the background has settled by then.
const START: Duration = Duration::from_millis(100);
/// Time at which it is open without load, and the first trial due; the second is due at least 10 ms
/// later.
const OPEN: Duration = Duration::from_millis(110);
/// Limit of a run: thirteen times its normal length.
const LONGEST_SECONDS: u64 = 130;

/// All loads, in percent.
pub(super) fn loads() -> impl DoubleEndedIterator<Item = u64> + Clone {
    (0..=MOST_LOAD / LOAD_STEP).map(|step| step * LOAD_STEP)
}

/// Traffic of a pair of stations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Experiment {
    /// Status report every 20 ms.
    Status,
    /// Request every 20 ms.
    ConstantRate,
    /// Request as soon as the previous one is answered.
    MaximumRate,
}

impl Experiment {
    /// All experiments, in the order of the paper.
    pub(super) const ALL: [Self; 3] = [Self::Status, Self::ConstantRate, Self::MaximumRate];
}

/// Network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Net {
    /// IEEE 802.3.
    CsmaCd,
    /// IEEE 802.4.
    TokenBus,
}

impl Net {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::CsmaCd, Self::TokenBus];
}

/// Definition of a load in percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Counted {
    /// Bits of the background's frames, as everywhere in tidewire: on CSMA/CD from destination
    /// address to FCS, on a token bus with preamble and delimiters.
    Frames,
    /// Bits of its messages only.
    Messages,
}

/// Choices for the questions that the paper leaves open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct World {
    /// Index of the reading of the profile.
    pub(super) model: usize,
    /// Definition of a load.
    pub(super) counted: Counted,
    /// Number of stations that generate the load.
    pub(super) background: u64,
    /// True if the medium access of the token bus takes the time in the profile.
    pub(super) has_access: bool,
    /// Number of TPDUs that may be outstanding.
    pub(super) window: u64,
}

impl World {
    /// Choices for the figures as drawn.
    pub(super) const DRAWN: Self = Self {
        model: 0,
        counted: Counted::Frames,
        background: STATIONS - 2,
        has_access: true,
        window: 15,
    };
}

/// One cell of a figure, in one world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Cell {
    pub(super) world: World,
    pub(super) experiment: Experiment,
    pub(super) net: Net,
    pub(super) load_percent: u64,
}

impl Cell {
    /// Run of this cell with this profile and number of trials.
    pub(super) fn point(
        &self,
        profile: &Profile,
        trials: u64,
        seed: u64,
    ) -> Result<Point, Unavailable> {
        let scenario = self.scenario(profile, trials, seed)?;
        let study = Study::of(&scenario, "the experiment")
            .map_err(|error| Unavailable(format!("{self:?}: {error}")))?;
        study.points.into_iter().next().ok_or_else(|| Unavailable("no run".to_owned()))
    }

    fn scenario(&self, profile: &Profile, trials: u64, seed: u64) -> Result<Scenario, Unavailable> {
        let World { background, window, .. } = self.world;
        let (period, reply) = (Span(PERIOD), Size(LONG));
        let (size, pattern) = match self.experiment {
            Experiment::Status => (LONG, Pattern::Cyclic { period }),
            Experiment::ConstantRate => (SHORT, Pattern::ConstantRateRequest { period, reply }),
            Experiment::MaximumRate => (SHORT, Pattern::MaximumRateRequest { reply }),
        };
        let ends = ["station-1", "station-2"].map(str::to_owned);
        let trial = Flow::new("trials".to_owned(), ends, Service::Class4, pattern, Size(size));
        let stop = Stop {
            after: Span(Duration::from_secs(LONGEST_SECONDS)),
            warmup: Warmup::Fixed(Span(OPEN)),
            messages: None,
        };
        Ok(Scenario {
            seed,
            replications: 1,
            stations: Some(Group {
                count: 2,
                prefix: "station".to_owned(),
                profile: None,
                architecture: None,
                model: None,
                ied: None,
            }),
            transport: Transport {
                extended: false,
                checksum: false,
                acknowledge: Acknowledge::Each,
                t1: Span(T1),
                window,
                ..Transport::lan()
            },
            flows: vec![Flow {
                messages: Some(trials + 1),
                start: Start::At(Span(START)),
                ..trial
            }],
            background: Some(Background {
                load: Share::of_percent(self.frame_load_percent()),
                stations: background,
                size: Size(BACKGROUND),
            }),
            ..Scenario::new("NBS-1986".to_owned(), self.medium(profile)?, stop)
        })
    }

    fn medium(&self, profile: &Profile) -> Result<Medium, Unavailable> {
        let rate = Rate(BitRate::mbps(10));
        Ok(match self.net {
            Net::CsmaCd => {
                let length = Length::of_metres(CABLE_METRES);
                Medium::CsmaCd(CsmaCd { rate, length })
            }
            Net::TokenBus => Medium::TokenBus(TokenBus {
                head_end: Some(Length::of_metres(0)),
                head_end_delay: Span(PROPAGATION),
                station_delay: Some(Span(station_delay(profile)?)),
                ..TokenBus::new(rate, Length::of_metres(0))
            }),
        })
    }

    /// Load in percent as a scenario defines it: by frames.
    fn frame_load_percent(&self) -> f64 {
        let frame_octets = match self.net {
            // Addresses, length and FCS.
            Net::CsmaCd => BACKGROUND + 18,
            // Preamble 3, delimiters 2, FC, addresses 12, FCS 4 at 10 Mbit/s.
            Net::TokenBus => BACKGROUND + 22,
        };
        let counted = match self.world.counted {
            Counted::Frames => frame_octets,
            Counted::Messages => BACKGROUND,
        };
        self.load_percent as f64 * frame_octets as f64 / counted as f64
    }
}

/// Time from the last bit of a received token to the first bit sent by the station: the pass in the
/// profile minus the token's 176 bits and the propagation delay.
fn station_delay(profile: &Profile) -> Result<Duration, Unavailable> {
    let token = Duration::from_nanos(17_600);
    let pass = token_pass(profile)?;
    pass.checked_sub(token + PROPAGATION)
        .ok_or_else(|| Unavailable("the token is passed on before it is there".to_owned()))
}

/// Time of passing the token from one station to the next.
fn token_pass(profile: &Profile) -> Result<Duration, Unavailable> {
    let input = profile.input("token-pass").ok_or_else(|| {
        Unavailable(format!("the profile {} does not say how the token is passed", profile.name))
    })?;
    Ok(Duration::from_nanos((input.value * 1e6).round() as u64))
}

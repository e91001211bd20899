//! Comparison of datagrams and virtual circuits: the experiments of TR-88-04.
//!
//! A [`Trial`] asks one question about one service with one setting: the delay of a message when
//! nothing else is under way, or the octets that arrive per second when messages follow each other
//! at once. A trial becomes a scenario, which is simulated on modelled machines or run on a real
//! port. The result is read from the run's sample in the same way for both.
//!
//! Not modelled: the clocks of two machines. Without a common clock, a delay is half of a round
//! trip with a reply of the same size ([`Way::RoundTrip`]).

pub mod curves;
pub mod map_curves;
pub mod rounds;

use crate::published::Unavailable;
use crate::published::value::Value;
use bench::medium::{Ideal, Medium, TokenBus};
use bench::sample::Sample;
use bench::scenario::{
    self, Acknowledge, Eot, Flow, Group, Length, Pattern, Point, Rate, Scenario, Size, Span, Start,
    Stop, Study, Transport, Warmup,
};
use core::time::Duration;
use wire::units::BitRate;

/// Octets of the smallest message: a complete stamp, with its lag.
pub const LEAST: usize = 20;
/// User data of a TPDU of 1,024 octets, as the paper's transport segmented it.
pub const INFORMATION: usize = 962;
/// Longest datagram.
pub const MOST_DATAGRAM: usize = 1_024;
/// Octets of a DT header without checksum, in the normal format and in the extended one (ISO 8073
/// 13.7.3).
const DT_HEADERS: [usize; 2] = [5, 8];
/// Largest TPDU.
pub const TPDU: usize = 1_024;
/// Large message: eight TPDUs.
pub const LARGE: usize = 8 * INFORMATION;
/// Largest window of the normal format, and the paper's default.
pub const MOST_WINDOW: u64 = 15;
/// First retransmission time in the paper.
pub const FIRST_T1: Duration = Duration::from_millis(100);
/// Limit of messages of a throughput trial: for short messages, fewer octets are sufficient.
const MOST_MESSAGES: u64 = 500;
/// Limit of a throughput trial in seconds: T1 may be so short that little but duplicates gets through.
const LONGEST_SECONDS: u64 = 15;
/// Limit in seconds if a volume is set, which takes longer on slow networks.
const LONGEST_VOLUME_SECONDS: u64 = 60;
/// W: so long that its acknowledgements do not coincide with the messages of a delay trial. With 2
/// s, eight pauses, every eighth message would.
const WINDOW_TIME: Duration = Duration::from_secs(25);
/// Pause between the messages of a live delay trial.
const LIVE_PAUSE: Duration = Duration::from_millis(5);
/// A_L of a present-day LAN.
const LAN_ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(10);
/// Confidence of an interval of observed delays.
const LEVEL: f64 = 0.95;

/// Data transfer service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Service {
    /// Datagrams: LLC type 1.
    Datalink,
    /// Virtual circuits: class 4 transport.
    Transport,
    /// CASE with EOT on each message: stop-and-wait.
    CaseEach,
    /// CASE with EOT on the last message alone: pipelining.
    CaseLast,
}

impl Service {
    /// Name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datalink => "datalink",
            Self::Transport => "transport",
            Self::CaseEach => "case-each",
            Self::CaseLast => "case-last",
        }
    }
}

/// Question of a trial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Question {
    /// One-way delay, with pauses between messages.
    Delay,
    /// Octets per second, without pauses.
    Throughput,
}

/// One question with one setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Trial {
    /// Service.
    pub service: Service,
    /// Question.
    pub question: Question,
    /// Octets of each message.
    pub octets: usize,
    /// T1 of transport.
    pub t1: Duration,
    /// Window of transport.
    pub window: u64,
    /// Connections, or flows of datagrams, that share the work.
    pub circuits: u64,
    /// DTs that one AK acknowledges; never more than the window.
    pub acknowledge_every: u64,
}

impl Trial {
    /// Question with the paper's default setting.
    #[must_use]
    pub const fn new(service: Service, question: Question, octets: usize) -> Self {
        Self {
            service,
            question,
            octets,
            t1: FIRST_T1,
            window: MOST_WINDOW,
            circuits: 1,
            acknowledge_every: 2,
        }
    }
}

/// Method of observing a delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From sender to receiver, with one clock.
    OneWay,
    /// Half of a round trip.
    RoundTrip,
}

/// Conditions and extent of trials.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// Medium, as a scenario's inline table.
    pub medium: Medium,
    /// Messages of a delay trial.
    pub messages: u64,
    /// Pause between messages: long enough for queues to empty.
    pub pause: Duration,
    /// Octets of a simulated throughput trial, in at most 500 messages.
    pub octets: usize,
    /// Limit of a throughput trial in seconds.
    pub longest_seconds: u64,
    /// A_L: longest time for which a receiver withholds an AK.
    pub acknowledgement_delay: Duration,
    /// User data of a TPDU, if the paper's transport divided messages that one TPDU could hold.
    pub information: Option<usize>,
    /// Policy for acknowledging DTs.
    pub acknowledge: Acknowledge,
    /// Method of observing delays.
    pub way: Way,
    /// True if TPDU-NRs have 31 bits. With 7 bits at most 113 TPDUs can be sent within the half
    /// second of an NSDU's lifetime, which limits a present-day LAN but not the paper's machines.
    pub extended: bool,
    /// Seed.
    pub seed: u64,
}

/// Bus of the paper: 3 m of cable and a head end, at 10 Mbit/s.
pub const TOKEN_BUS: Medium = Medium::TokenBus(TokenBus {
    head_end: Some(Length::of_metres(0)),
    ..TokenBus::new(Rate(BitRate::mbps(10)), Length::of_metres(3))
});
/// Medium of a scenario on a real port.
pub const WIRE: Medium =
    Medium::Ideal(Ideal { rate: Rate(BitRate::mbps(1_000)), delay: Span(Duration::ZERO) });

impl Setup {
    /// Setup for the modelled machines.
    #[must_use]
    pub const fn simulated(messages: u64, octets: usize, seed: u64) -> Self {
        // No multiple of the token rotation, so that the token is at a different place for each
        // message.
        let pause = Duration::from_nanos(250_007_300);
        Self {
            medium: TOKEN_BUS,
            messages,
            pause,
            octets,
            longest_seconds: LONGEST_SECONDS,
            acknowledgement_delay: LAN_ACKNOWLEDGEMENT_DELAY,
            information: Some(INFORMATION),
            acknowledge: Acknowledge::Withhold,
            way: Way::OneWay,
            extended: false,
            seed,
        }
    }

    /// Setup for a real port, where [`rounds`] sets the number of messages of a throughput trial;
    /// with a set volume it may take a minute instead of 15 s.
    #[must_use]
    pub const fn live(messages: u64, has_volume: bool, seed: u64) -> Self {
        Self {
            medium: WIRE,
            messages,
            pause: LIVE_PAUSE,
            octets: 0,
            longest_seconds: if has_volume { LONGEST_VOLUME_SECONDS } else { LONGEST_SECONDS },
            acknowledgement_delay: LAN_ACKNOWLEDGEMENT_DELAY,
            information: Some(INFORMATION),
            acknowledge: Acknowledge::Withhold,
            way: Way::RoundTrip,
            extended: true,
            seed,
        }
    }

    /// The same as TR-88-17 describes class 4: whole TPDUs, and each of them acknowledged.
    #[must_use]
    pub fn of_map(self) -> Self {
        Self { information: None, acknowledge: Acknowledge::Each, ..self }
    }

    /// Run of a trial.
    ///
    /// # Errors
    /// Returns the reason if the run cannot be made.
    pub fn point(&self, trial: &Trial) -> Result<Point, Unavailable> {
        let messages = match trial.question {
            Question::Delay => self.messages,
            Question::Throughput => {
                (self.octets.div_ceil(trial.octets).max(1) as u64).min(MOST_MESSAGES)
            }
        };
        self.point_of(trial, messages)
    }

    /// Run of a trial with this number of messages, over all circuits.
    ///
    /// # Errors
    /// Returns the reason if the run cannot be made.
    pub fn point_of(&self, trial: &Trial, messages: u64) -> Result<Point, Unavailable> {
        let study = Study::of(&self.scenario(trial, messages), "the experiment")
            .map_err(|error| Unavailable(format!("{trial:?}: {error}")))?;
        study.points.into_iter().next().ok_or_else(|| Unavailable("no run".to_owned()))
    }

    fn scenario(&self, trial: &Trial, messages: u64) -> Scenario {
        // After opening a connection, the front end is still busy at the first message.
        let pauses = self.pause.as_secs_f64() * messages as f64;
        let (seconds, warmup) = match trial.question {
            Question::Delay => {
                (self.longest_seconds + pauses as u64, Warmup::Fixed(Span(self.pause * 4 / 5)))
            }
            Question::Throughput => (self.longest_seconds, Warmup::None),
        };
        let stop = Stop { after: Span(Duration::from_secs(seconds)), warmup, messages: None };
        let eot = match trial.service {
            Service::CaseEach => Some(Eot::Each),
            Service::CaseLast => Some(Eot::Last),
            Service::Datalink | Service::Transport => None,
        };
        let flow = |circuit: u64| Flow {
            messages: Some(messages.div_ceil(trial.circuits)),
            start: Start::Together,
            eot,
            ..Flow::new(
                format!("circuit-{circuit}"),
                ["station-1", "station-2"].map(str::to_owned),
                match trial.service {
                    Service::Datalink => scenario::Service::Datagram,
                    Service::Transport => scenario::Service::Class4,
                    Service::CaseEach | Service::CaseLast => scenario::Service::Case,
                },
                self.pattern(trial),
                Size(trial.octets as u64),
            )
        };
        Scenario {
            seed: self.seed,
            replications: 1,
            stations: Some(Group {
                count: 2,
                prefix: "station".to_owned(),
                profile: None,
                architecture: None,
                model: None,
                ied: None,
            }),
            transport: self.transport(trial),
            flows: (1..=trial.circuits).map(flow).collect(),
            ..Scenario::new("data transfer".to_owned(), self.medium.clone(), stop)
        }
    }

    fn transport(&self, trial: &Trial) -> Transport {
        let nsdu = |information| information + DT_HEADERS[usize::from(self.extended)];
        Transport {
            tpdu: Size(TPDU as u64),
            nsdu: self.information.map(|information| Size(nsdu(information) as u64)),
            extended: self.extended,
            checksum: false,
            window: trial.window,
            acknowledge: self.acknowledge,
            acknowledge_every: trial.acknowledge_every.clamp(1, trial.window.max(1)),
            acknowledgement_delay: Span(self.acknowledgement_delay),
            t1: Span(trial.t1),
            n: 1_000,
            w: Span(WINDOW_TIME),
            ..Transport::lan()
        }
    }

    fn pattern(&self, trial: &Trial) -> Pattern {
        let (period, reply) = (Span(self.pause), Size(trial.octets as u64));
        match (trial.question, self.way) {
            (Question::Throughput, _) => Pattern::Bulk { total: None },
            (Question::Delay, Way::OneWay) => Pattern::Cyclic { period },
            (Question::Delay, Way::RoundTrip) => Pattern::ConstantRateRequest { period, reply },
        }
    }

    /// Result of a trial's run: milliseconds, or thousands of octets per second. A simulated delay
    /// is a mean; a live one is half of the median round trip, which is robust against pauses of
    /// the host.
    ///
    /// # Errors
    /// Returns an error if no message arrived.
    pub fn read(&self, trial: &Trial, sample: &Sample) -> Result<Value, Unavailable> {
        let found = match (trial.question, self.way) {
            // If T1 is too short for anything to arrive, zero is the result.
            (Question::Throughput, _) => Some(throughput(sample).unwrap_or(Value::exact(0.0))),
            (Question::Delay, Way::OneWay) => mean(sample),
            (Question::Delay, Way::RoundTrip) => half_median(sample),
        };
        found.ok_or_else(|| Unavailable(format!("no message of {} octets arrived", trial.octets)))
    }
}

/// Mean delay of the first flow in milliseconds, with its interval by Student's t.
fn mean(sample: &Sample) -> Option<Value> {
    let spans = &sample.flows.first()?.delay;
    let (value, observations) = (spans.mean_ns? / 1e6, spans.count);
    let half = spans.standard_deviation_ns.filter(|_| observations > 1).map_or(0.0, |sd| {
        let quantile = stats::interval::t_quantile(LEVEL, (observations - 1) as f64);
        quantile * sd / 1e6 / (observations as f64).sqrt()
    });
    Some(Value { value, low: value - half, high: value + half, observations })
}

/// Half of the median response time of the first flow in milliseconds. Quantiles are the upper ends
/// of their classes, which have three digits: the median is at most a thousandth lower.
fn half_median(sample: &Sample) -> Option<Value> {
    let spans = &sample.flows.first()?.response;
    let value = spans.p50_ns? as f64 / 2e6;
    Some(Value { value, low: value * 0.999, high: value, observations: spans.count })
}

/// Seconds from the first message of a throughput trial to the last arrival; 0 if none arrived.
fn seconds(sample: &Sample) -> f64 {
    let of = |flow: &bench::sample::FlowSample| {
        Some(flow.delivered_octets as f64 * 8.0 / flow.throughput_bits_per_second?)
    };
    sample.flows.iter().filter_map(of).fold(0.0, f64::max)
}

/// Thousands of user octets per second that arrived, over all circuits and the time of the slowest.
fn throughput(sample: &Sample) -> Option<Value> {
    let arrived = sample.flows.iter().filter(|flow| flow.throughput_bits_per_second.is_some());
    let (octets, messages) = arrived.fold((0, 0), |(octets, messages), flow| {
        (octets + flow.delivered_octets, messages + flow.delivered)
    });
    let seconds = seconds(sample);
    let value = octets as f64 / 1e3 / seconds;
    (seconds > 0.0).then(|| Value { observations: messages, ..Value::exact(value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::run::run;
    use bench::scenarios;

    #[test]
    fn every_trial_is_a_scenario_that_runs_without_a_warning() {
        for way in
            [Setup::simulated(3, 20_000, 1), Setup { octets: 20_000, ..Setup::live(3, false, 1) }]
        {
            for service in [Service::Datalink, Service::Transport] {
                for question in [Question::Delay, Question::Throughput] {
                    let trial = Trial {
                        circuits: if question == Question::Delay { 1 } else { 3 },
                        ..Trial::new(service, question, 500)
                    };
                    let study = Study::of(&way.scenario(&trial, 6), "a").unwrap();
                    assert_eq!(study.warnings, []);
                    let sample = run(&study.points[0], "", 0).unwrap();
                    assert!(way.read(&trial, &sample).unwrap().value > 0.0, "{trial:?}");
                }
            }
        }
    }

    #[test]
    fn built_in_scenarios_are_the_trials_of_tr_88_04() {
        for (name, question, messages) in [
            ("tr-88-04-delay", Question::Delay, 50),
            ("tr-88-04-throughput", Question::Throughput, 500),
        ] {
            let built_in = scenarios::get(name).unwrap();
            let study = scenario::load(built_in.text, name).unwrap();
            assert_eq!(study.points.len(), 12);
            for Point { scenario: found, .. } in study.points {
                let flow = &found.flows[0];
                let service = match flow.service {
                    scenario::Service::Datagram => Service::Datalink,
                    _ => Service::Transport,
                };
                let trial = Trial::new(service, question, flow.size.0 as usize);
                let made = Setup::simulated(messages, 0, 1).scenario(&trial, messages);
                // A figure adds the machine later, and makes its own sweep.
                let (title, stations) = (made.title.clone(), made.stations.clone());
                let (vary, machines) = (made.vary.clone(), made.machines.clone());
                assert_eq!(
                    Scenario { title, stations, vary, machines, ..found },
                    made,
                    "{trial:?}"
                );
            }
        }
    }

    #[test]
    fn an_ideal_datagram_takes_its_bits_and_a_tpdu_has_962_octets() {
        // (3 + 1,000 + 22) octets of 0.8 us, and up to 41.6 us until the token is there.
        let setup = Setup::simulated(50, 100_000, 1);
        let trial = Trial::new(Service::Datalink, Question::Delay, 1_000);
        let sample = run(&setup.point(&trial).unwrap(), "", 0).unwrap();
        let delay = setup.read(&trial, &sample).unwrap();
        assert!((0.820..0.862).contains(&delay.value), "{delay:?}");
        let frames = |octets| {
            let trial = Trial::new(Service::Transport, Question::Delay, octets);
            let sample = run(&setup.point(&trial).unwrap(), "", 0).unwrap();
            sample.counts["medium.sent"]
        };
        // One DT more for each of 50 messages; an AK is sent after two DTs or after a while.
        let (one, two) = (frames(INFORMATION), frames(INFORMATION + 1));
        assert!((50..=51).contains(&(two - one)), "{one} {two}");
    }
}

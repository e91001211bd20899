//! Datagrams and virtual circuits beside each other: the experiments of TR-88-04.
//!
//! A [`Trial`] asks one question of one service at one setting: how long a message takes when nothing
//! else is under way, or how many octets arrive per second when messages follow each other at once. It
//! becomes a scenario, which is simulated on modelled machines or carried out on a real port; what came
//! out is read off the run's sample, and nothing here tells the two apart.
//!
//! Not modelled: the clocks of two machines. Where they are not one, a delay is half of a round trip
//! with an answer of the same size ([`Way::RoundTrip`]).

pub mod curves;
pub mod rounds;

use crate::reproduce::NotHere;
use crate::reproduce::found::Found;
use crate::sample::Sample;
use crate::scenario::{self, Point};
use core::time::Duration;

/// Octets of the smallest message: a whole stamp, with its lag.
pub const LEAST: usize = 20;
/// User data of a TPDU of 1,024 octets, as the paper's transport cut it.
pub const INFORMATION: usize = 962;
/// The longest datagram.
pub const MOST_DATAGRAM: usize = 1_024;
/// Octets of a DT header without checksum, in the normal format and in the extended one (ISO 8073
/// 13.7.3).
const DT_HEADERS: [usize; 2] = [5, 8];
/// The largest TPDU.
pub const TPDU: usize = 1_024;
/// A large message: eight TPDUs.
pub const LARGE: usize = 8 * INFORMATION;
/// The largest window of the normal format, and the paper's default.
pub const MOST_WINDOW: u64 = 15;
/// The retransmission time with which the paper begins.
pub const FIRST_T1: Duration = Duration::from_millis(100);
/// Messages of a throughput trial at the most: of short ones, fewer octets say the same.
const MOST_MESSAGES: u64 = 500;
/// Limit of a throughput trial in seconds: T1 may be so short that little but duplicates gets through.
const LONGEST_SECONDS: u64 = 15;
/// The same where a volume is demanded, which takes longer on slow networks.
const LONGEST_VOLUME_SECONDS: u64 = 60;
/// W: so long that its acknowledgements stay away from the messages of a delay trial. With 2 s, eight
/// pauses, each eighth message would meet one.
const WINDOW_TIME: Duration = Duration::from_secs(25);
/// From one message of a live delay trial to the next.
const LIVE_PAUSE: Duration = Duration::from_millis(5);
/// A_L of a LAN of today.
const LAN_ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(10);
/// How sure an interval of observed delays is.
const LEVEL: f64 = 0.95;

/// A data transfer service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Service {
    /// Datagrams: LLC type 1.
    Datalink,
    /// Virtual circuits: class 4 transport.
    Transport,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Question {
    /// One-way delay, with pauses between messages.
    Delay,
    /// Octets per second, without pauses.
    Throughput,
}

/// One question at one setting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Trial {
    /// Of which service.
    pub service: Service,
    /// What is asked.
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
    /// A question at the paper's default setting.
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

/// How a delay is observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From sender to receiver: both have one clock.
    OneWay,
    /// Half of a round trip.
    RoundTrip,
}

/// How, and how much of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The medium, as a scenario's inline table.
    pub medium: &'static str,
    /// Messages of a delay trial.
    pub messages: u64,
    /// From one of them to the next: long enough for queues to empty.
    pub pause: Duration,
    /// Octets of a simulated throughput trial, in 500 messages at the most.
    pub octets: usize,
    /// Limit of a throughput trial in seconds.
    pub longest_seconds: u64,
    /// A_L: longest time for which a receiver holds an AK back.
    pub acknowledgement_delay: Duration,
    /// How delays are observed.
    pub way: Way,
    /// Whether TPDUs have numbers of 31 bits. With 7 bits at most 113 go in the half second for which
    /// an NSDU may live, which a LAN of today would feel and the paper's machines do not.
    pub extended: bool,
    /// The seed.
    pub seed: u64,
}

/// The bus of the paper: 3 m of cable and a head end, at 10 Mbit/s.
pub const TOKEN_BUS: &str = r#"{ kind = "token-bus", rate = "10 Mbit/s", length = "3 m",
  head-end = "0 m" }"#;
/// What stands for the medium where there is a real one.
pub const WIRE: &str = r#"{ kind = "ideal", rate = "1 Gbit/s" }"#;

impl Setup {
    /// On the modelled machines.
    #[must_use]
    pub const fn simulated(messages: u64, octets: usize, seed: u64) -> Self {
        // No multiple of the token's round, so that it is found anywhere.
        let pause = Duration::from_nanos(250_007_300);
        Self {
            medium: TOKEN_BUS,
            messages,
            pause,
            octets,
            longest_seconds: LONGEST_SECONDS,
            acknowledgement_delay: LAN_ACKNOWLEDGEMENT_DELAY,
            way: Way::OneWay,
            extended: false,
            seed,
        }
    }

    /// On a real port, where [`rounds`] say how many messages a throughput trial has; with a demanded volume
    /// it may take a minute instead of 15 s.
    #[must_use]
    pub const fn live(messages: u64, has_volume: bool, seed: u64) -> Self {
        Self {
            medium: WIRE,
            messages,
            pause: LIVE_PAUSE,
            octets: 0,
            longest_seconds: if has_volume { LONGEST_VOLUME_SECONDS } else { LONGEST_SECONDS },
            acknowledgement_delay: LAN_ACKNOWLEDGEMENT_DELAY,
            way: Way::RoundTrip,
            extended: true,
            seed,
        }
    }

    /// The run that answers a trial.
    ///
    /// # Errors
    /// Where there cannot be such a run.
    pub fn point(&self, trial: &Trial) -> Result<Point, NotHere> {
        let messages = match trial.question {
            Question::Delay => self.messages,
            Question::Throughput => {
                (self.octets.div_ceil(trial.octets).max(1) as u64).min(MOST_MESSAGES)
            }
        };
        self.point_of(trial, messages)
    }

    /// The run that answers a trial with this number of messages, all circuits together.
    ///
    /// # Errors
    /// Where there cannot be such a run.
    pub fn point_of(&self, trial: &Trial, messages: u64) -> Result<Point, NotHere> {
        let text = self.scenario(trial, messages);
        let study = scenario::load(&text, "the experiment")
            .map_err(|error| NotHere(format!("{trial:?}: {error}")))?;
        study.points.into_iter().next().ok_or_else(|| NotHere("no run".to_owned()))
    }

    fn scenario(&self, trial: &Trial, messages: u64) -> String {
        let Trial { service, octets, t1, window, circuits, .. } = *trial;
        let every = trial.acknowledge_every.clamp(1, window.max(1));
        let extended = self.extended;
        let nsdu = INFORMATION + DT_HEADERS[usize::from(extended)];
        let w = WINDOW_TIME.as_secs();
        // The front end that has just opened a connection is still busy when the first message comes.
        let pauses = self.pause.as_secs_f64() * messages as f64;
        let (after, warmup) = match trial.question {
            Question::Delay => (
                self.longest_seconds + pauses as u64,
                format!("{} ns", self.pause.as_nanos() * 4 / 5),
            ),
            Question::Throughput => (self.longest_seconds, "none".to_owned()),
        };
        let mut text = format!(
            "version = 1\ntitle = \"data transfer\"\nseed = {}\nreplications = 1\n\
             stop = {{ after = \"{after} s\", warmup = \"{warmup}\" }}\nmedium = {}\n\
             stations = {{ count = 2 }}\n\
             [transport]\ntpdu = \"{TPDU} B\"\nnsdu = \"{nsdu} B\"\nextended = {extended}\n\
             checksum = false\nwindow = {window}\nacknowledge = \"withhold\"\n\
             acknowledge-every = {every}\nacknowledgement-delay = \"{} us\"\nt1 = \"{} us\"\nn = 1000\n\
             w = \"{w} s\"\n",
            self.seed,
            self.medium,
            self.acknowledgement_delay.as_micros(),
            t1.as_micros()
        );
        let service = match service {
            Service::Datalink => "datagram",
            Service::Transport => "class-4",
        };
        let pattern = match (trial.question, self.way) {
            (Question::Throughput, _) => "kind = \"bulk\"".to_owned(),
            (Question::Delay, Way::OneWay) => {
                format!("kind = \"cyclic\", period = \"{} ns\"", self.pause.as_nanos())
            }
            (Question::Delay, Way::RoundTrip) => format!(
                "kind = \"constant-rate-request\", period = \"{} ns\", reply = \"{octets} B\"",
                self.pause.as_nanos()
            ),
        };
        for circuit in 1..=circuits {
            text += &format!(
                "\n[[flow]]\nname = \"circuit-{circuit}\"\nfrom = \"station-1\"\n\
                 to = \"station-2\"\nservice = \"{service}\"\npattern = {{ {pattern} }}\n\
                 size = \"{octets} B\"\nstart = \"together\"\nmessages = {}\n",
                messages.div_ceil(circuits)
            );
        }
        text
    }

    /// What a trial's run says: milliseconds, or thousands of octets per second. A simulated delay is a mean,
    /// a live one half of the median round trip, which a pause of the host does not move.
    ///
    /// # Errors
    /// Where no message arrived.
    pub fn read(&self, trial: &Trial, sample: &Sample) -> Result<Found, NotHere> {
        let found = match (trial.question, self.way) {
            // Where T1 is too short for anything to get through, that is the answer.
            (Question::Throughput, _) => Some(throughput(sample).unwrap_or(Found::exact(0.0))),
            (Question::Delay, Way::OneWay) => mean(sample),
            (Question::Delay, Way::RoundTrip) => half_median(sample),
        };
        found.ok_or_else(|| NotHere(format!("no message of {} octets arrived", trial.octets)))
    }
}

/// Mean delay of the first flow in milliseconds, with its interval by Student's t.
fn mean(sample: &Sample) -> Option<Found> {
    let spans = &sample.flows.first()?.delay;
    let (value, observations) = (spans.mean_ns? / 1e6, spans.count);
    let half = spans.standard_deviation_ns.filter(|_| observations > 1).map_or(0.0, |sd| {
        let quantile = stats::interval::t_quantile(LEVEL, (observations - 1) as f64);
        quantile * sd / 1e6 / (observations as f64).sqrt()
    });
    Some(Found { value, low: value - half, high: value + half, observations })
}

/// Half of the median response time of the first flow in milliseconds. Quantiles are the upper ends of their
/// classes, which have three digits: the median lies at most a thousandth lower.
fn half_median(sample: &Sample) -> Option<Found> {
    let spans = &sample.flows.first()?.response;
    let value = spans.p50_ns? as f64 / 2e6;
    Some(Found { value, low: value * 0.999, high: value, observations: spans.count })
}

/// Seconds from the first message of a throughput trial until the last arrived; 0 where none did.
fn seconds(sample: &Sample) -> f64 {
    let of = |flow: &crate::sample::FlowSample| {
        Some(flow.delivered_octets as f64 * 8.0 / flow.throughput_bits_per_second?)
    };
    sample.flows.iter().filter_map(of).fold(0.0, f64::max)
}

/// Thousands of user octets per second that arrived, all circuits together, over the time of the one
/// that took longest.
fn throughput(sample: &Sample) -> Option<Found> {
    let arrived = sample.flows.iter().filter(|flow| flow.throughput_bits_per_second.is_some());
    let (octets, messages) = arrived.fold((0, 0), |(octets, messages), flow| {
        (octets + flow.delivered_octets, messages + flow.delivered)
    });
    let seconds = seconds(sample);
    let value = octets as f64 / 1e3 / seconds;
    (seconds > 0.0).then(|| Found { observations: messages, ..Found::exact(value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;

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
                    let study = scenario::load(&way.scenario(&trial, 6), "a").unwrap();
                    assert_eq!(study.warnings, []);
                    let sample = run(&study.points[0], "", 0).unwrap();
                    assert!(way.read(&trial, &sample).unwrap().value > 0.0, "{trial:?}");
                }
            }
        }
    }

    #[test]
    fn without_machines_a_datagram_takes_its_bits_and_a_tpdu_has_962_octets() {
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
        // One DT more for each of 50 messages; acknowledgements come after two or a while.
        let (one, two) = (frames(INFORMATION), frames(INFORMATION + 1));
        assert!((50..=51).contains(&(two - one)), "{one} {two}");
    }
}

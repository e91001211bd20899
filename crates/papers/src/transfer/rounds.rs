//! Trials on a real port, in rounds: every trial once a round, in an order drawn at random, so that drift of the
//! host does not look like an effect of a setting.
//!
//! The result of a trial is the median over rounds, with a distribution-free interval from order statistics. A
//! throughput trial sends its volume, and more if that takes less than [`SHORTEST`]: an attempt that ends too early
//! is repeated with more messages, and not counted. Not modelled: drift within a round.

use super::{Question, Setup, Trial, seconds};
use crate::published::Unavailable;
use crate::published::value::Value;
use bench::sample::Sample;
use bench::scenario::Point;
use core::time::Duration;
use stats::interval::{Interval, Median, median, median_rank, repeated_median, t_quantile};
use stats::rng::Stream;
use std::collections::BTreeMap;

/// Least number of rounds: the interval of their median covers 93.75 %.
pub const FEWEST_ROUNDS: u64 = 5;
/// Shortest trial.
pub const SHORTEST: Duration = Duration::from_millis(100);
/// Least number of messages of a delay trial: those with [`SHORTEST`] of pauses.
pub const FEWEST_MESSAGES: u64 = (SHORTEST.as_millis() / super::LIVE_PAUSE.as_millis()) as u64;
/// Limit of messages of a throughput trial: their arrivals are stored one by one.
pub const MOST_MESSAGES: u64 = 500_000;
/// Coverage that the interval of a median should have.
pub const LEVEL: f64 = 0.95;
/// Messages of the first attempt of a throughput trial.
const FIRST_MESSAGES: u64 = 64;
/// Target time of an attempt with more messages, so that few have to be repeated.
const AIM: Duration = Duration::from_millis(200);
/// Limit of the growth of messages between two attempts: a first one may be slow by chance.
const MOST_GROWTH: f64 = 64.0;
/// Limit of attempts at a trial in a round.
const ATTEMPTS: u32 = 12;

/// Extent of the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Number of rounds.
    pub rounds: u64,
    /// Messages of each delay trial.
    pub messages: u64,
    /// Octets of each throughput trial; `None` for as many as take [`SHORTEST`].
    pub volume_octets: Option<usize>,
    /// Seed of the order, and of the runs.
    pub seed: u64,
}

/// Result of one trial in one round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// Milliseconds, or thousands of octets per second.
    pub value: f64,
    /// Lower bound, by the resolution of a quantile.
    pub least: f64,
    /// Messages sent.
    pub messages: u64,
    /// True if it ended before its messages had arrived, or before [`SHORTEST`].
    pub is_cut: bool,
}

/// Function that makes a run on a medium.
pub type Run<'a, E> = dyn FnMut(&Point) -> Result<Sample, E> + 'a;

/// All trials with their readings.
#[derive(Clone, PartialEq, Debug)]
pub struct Rounds {
    /// Trials, identified by index.
    pub trials: Vec<Trial>,
    /// Indices of the trials in the order of each round.
    pub orders: Vec<Vec<usize>>,
    /// Readings of each trial, round by round.
    readings: Vec<Vec<Reading>>,
    /// Messages of each throughput trial, as known so far.
    sizes: BTreeMap<Trial, u64>,
    setup: Setup,
    plan: Plan,
}

/// Failure of a trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed<E> {
    /// It cannot be made, or has no result.
    Unavailable(Unavailable),
    /// Its run failed.
    Run(E),
}

impl<E> From<Unavailable> for Failed<E> {
    fn from(reason: Unavailable) -> Self {
        Self::Unavailable(reason)
    }
}

impl Rounds {
    /// Draws the orders; makes no run.
    #[must_use]
    pub fn new(plan: Plan, trials: Vec<Trial>) -> Self {
        let setup = Setup::live(plan.messages, plan.volume_octets.is_some(), plan.seed);
        Self::with(plan, setup, trials)
    }

    /// Draws the orders of trials with this setup; makes no run.
    #[must_use]
    pub fn with(plan: Plan, setup: Setup, trials: Vec<Trial>) -> Self {
        let mut stream = Stream::named(plan.seed, "rounds: order of trials");
        let order = |_| {
            let mut order: Vec<usize> = (0..trials.len()).collect();
            stream.shuffle(&mut order);
            order
        };
        let orders = (0..plan.rounds).map(order).collect();
        let readings = vec![Vec::new(); trials.len()];
        Self { trials, orders, readings, sizes: BTreeMap::new(), setup, plan }
    }

    /// Makes the trials of a round, counted from 0, in its order.
    ///
    /// # Errors
    /// Returns the error of the first trial that failed.
    pub fn carry_out<E>(&mut self, round: usize, run: &mut Run<'_, E>) -> Result<(), Failed<E>> {
        for place in self.orders.get(round).cloned().unwrap_or_default() {
            let Some(trial) = self.trials.get(place).copied() else { continue };
            let reading = self.read(&trial, run)?;
            if let Some(readings) = self.readings.get_mut(place) {
                readings.push(reading);
            }
        }
        Ok(())
    }

    /// Makes a trial, and repeats it with more messages while it is too short.
    fn read<E>(&mut self, trial: &Trial, run: &mut Run<'_, E>) -> Result<Reading, Failed<E>> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let messages = self.messages(trial);
            let sample = run(&self.setup.point_of(trial, messages)?).map_err(Failed::Run)?;
            let found = self.setup.read(trial, &sample)?;
            let took = seconds(&sample);
            let is_short = trial.question == Question::Throughput
                && took > 0.0
                && took < SHORTEST.as_secs_f64();
            if is_short && messages < MOST_MESSAGES && attempts < ATTEMPTS {
                self.sizes.insert(*trial, grown(messages, took));
                continue;
            }
            let has_nothing = trial.question == Question::Throughput && took <= 0.0;
            let is_cut = is_short || has_nothing || sample.flows.iter().any(|flow| !flow.done);
            let Value { value, low: least, .. } = found;
            return Ok(Reading { value, least, messages, is_cut });
        }
    }

    /// Messages of the next attempt.
    fn messages(&self, trial: &Trial) -> u64 {
        if trial.question == Question::Delay {
            return self.plan.messages;
        }
        let volume = self.plan.volume_octets.unwrap_or(0).div_ceil(trial.octets) as u64;
        let known = self.sizes.get(trial).copied().unwrap_or(FIRST_MESSAGES);
        known.max(volume).min(MOST_MESSAGES)
    }

    /// Readings of the trial with this index, round by round.
    #[must_use]
    pub fn readings(&self, place: usize) -> &[Reading] {
        self.readings.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Index of a trial.
    #[must_use]
    pub fn place(&self, trial: &Trial) -> Option<usize> {
        self.trials.iter().position(|known| known == trial)
    }

    /// Median of a trial over rounds and its interval; the lower end includes the resolution of a
    /// quantile.
    ///
    /// # Errors
    /// Returns an error if the trial has no reading.
    pub fn median(&self, trial: &Trial) -> Result<Median, Unavailable> {
        let readings = self.place(trial).map(|place| self.readings(place)).unwrap_or_default();
        let of = |value: fn(&Reading) -> f64| {
            let values: Vec<f64> = readings.iter().map(value).collect();
            median(&values, LEVEL).ok_or_else(|| Unavailable("a trial was not made".to_owned()))
        };
        Ok(Median { low: of(|reading| reading.least)?.low, ..of(|reading| reading.value)? })
    }

    /// Median for a figure, with the number of rounds.
    ///
    /// # Errors
    /// As [`Self::median`].
    pub fn found(&self, trial: &Trial) -> Result<Value, Unavailable> {
        let Median { median: value, low, high, n, .. } = self.median(trial)?;
        Ok(Value { value, low, high, observations: n as u64 })
    }

    /// Median over rounds of the ratio of two trials, each round by itself, with its interval.
    ///
    /// # Errors
    /// Returns an error if one of the trials has no reading.
    pub fn ratio(&self, of: &Trial, to: &Trial) -> Result<Value, Unavailable> {
        let found = median(&self.ratios(of, to), LEVEL);
        let Median { median: value, low, high, n, .. } =
            found.ok_or_else(|| Unavailable("a trial was not made".to_owned()))?;
        Ok(Value { value, low, high, observations: n as u64 })
    }

    /// Interval in which the median of a trial is expected in a repeat of all rounds, with a
    /// probability of [`LEVEL`]: see [`repeated_median`]. `None` with fewer than two readings.
    #[must_use]
    pub fn repeat(&self, trial: &Trial) -> Option<Interval> {
        let readings = self.place(trial).map(|place| self.readings(place)).unwrap_or_default();
        let values: Vec<f64> = readings.iter().map(|reading| reading.value).collect();
        above_zero(repeated_median(&values, LEVEL)?)
    }

    /// Like [`Self::repeat`], for the median over rounds of the ratio of two trials.
    #[must_use]
    pub fn repeat_of_ratio(&self, of: &Trial, to: &Trial) -> Option<Interval> {
        above_zero(repeated_median(&self.ratios(of, to), LEVEL)?)
    }

    /// Ratio of two trials in each round.
    fn ratios(&self, of: &Trial, to: &Trial) -> Vec<f64> {
        let readings =
            |trial| self.place(trial).map(|place| self.readings(place)).unwrap_or_default();
        readings(of).iter().zip(readings(to)).map(|(of, to)| of.value / to.value).collect()
    }

    /// Sentence on the intervals of repeats: their formula, and its assumptions.
    #[must_use]
    pub fn repeats(&self) -> String {
        let n = self.plan.rounds;
        let quantile = t_quantile(LEVEL, n.saturating_sub(1) as f64);
        format!(
            "repeat and to: in them the median of a repeat of all {n} rounds is expected with {} %, \
             median \u{b1} t(n - 1) s sqrt(pi / n), with t = {quantile:.3} and s the deviation \
             between rounds. That holds for rounds that are normal and independent: a host that is \
             busier in another run is not in it",
            LEVEL * 100.0
        )
    }

    /// Sentence on the intervals: their ends, and the probability with which they contain the
    /// median.
    #[must_use]
    pub fn interval(&self) -> String {
        let n = self.plan.rounds;
        let (rank, coverage) = median_rank(n as usize, LEVEL).unwrap_or((1, 0.0));
        let ends = match rank {
            1 => "from the least to the greatest round".to_owned(),
            rank => format!("from the {} of {n} rounds to the {} from above", nth(rank), nth(rank)),
        };
        format!("{ends}: they contain the median with {:.2} % (order statistics)", coverage * 100.0)
    }
}

/// The part of an interval that a delay, a rate or a ratio can lie in.
fn above_zero(interval: Interval) -> Option<Interval> {
    (interval.high > 0.0).then(|| Interval { low: interval.low.max(0.0), ..interval })
}

fn nth(rank: usize) -> String {
    let ending = match rank {
        2 => "nd",
        3 => "rd",
        _ => "th",
    };
    format!("{rank}{ending}")
}

/// Messages of the next attempt after one that was too short.
fn grown(messages: u64, took: f64) -> u64 {
    let factor = (AIM.as_secs_f64() / took).min(MOST_GROWTH);
    ((messages as f64 * factor).ceil() as u64).clamp(messages + 1, MOST_MESSAGES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Service;
    use bench::run::run;
    use core::convert::Infallible;

    const PLAN: Plan = Plan { rounds: 5, messages: 20, volume_octets: None, seed: 1 };

    fn trials() -> Vec<Trial> {
        let both = [Service::Datalink, Service::Transport];
        let questions = [Question::Delay, Question::Throughput];
        both.into_iter()
            .flat_map(|service| questions.map(|question| Trial::new(service, question, 800)))
            .collect()
    }

    /// Simulates on a wire of 1 Gbit/s, in place of a port.
    fn simulated(plan: Plan, trials: Vec<Trial>) -> (Rounds, Vec<f64>) {
        let mut rounds = Rounds::new(plan, trials);
        let mut took = Vec::new();
        for round in 0..plan.rounds as usize {
            let mut simulate = |point: &Point| {
                let sample = run(point, "", 0).unwrap();
                took.push(seconds(&sample));
                Ok::<_, Infallible>(sample)
            };
            rounds.carry_out(round, &mut simulate).unwrap();
        }
        (rounds, took)
    }

    #[test]
    fn every_trial_is_made_once_a_round_in_an_order_of_the_seed() {
        let orders = |seed| Rounds::new(Plan { seed, ..PLAN }, trials()).orders;
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
        for mut order in orders(3) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3]);
        }
        let (rounds, _) = simulated(PLAN, trials());
        assert!((0..4).all(|place| rounds.readings(place).len() == 5));
    }

    #[test]
    fn a_throughput_trial_lasts_a_tenth_of_a_second() {
        let (rounds, took) = simulated(PLAN, trials());
        for (place, trial) in rounds.trials.iter().enumerate() {
            for reading in rounds.readings(place) {
                assert!(!reading.is_cut, "{trial:?}: {reading:?}");
                let octets = (reading.messages * 800) as f64;
                let lasted = octets / (reading.value * 1e3);
                assert!(trial.question == Question::Delay || lasted >= 0.1, "{trial:?}: {lasted}");
            }
        }
        // The first attempts were shorter, and are no readings.
        assert!(took.iter().any(|took| *took < 0.1 && *took > 0.0));
    }

    #[test]
    fn a_set_volume_is_sent_completely() {
        let trial = Trial::new(Service::Datalink, Question::Throughput, 1_000);
        let volume = 20_000_000;
        let plan = Plan { volume_octets: Some(volume), ..PLAN };
        let (rounds, _) = simulated(plan, vec![trial]);
        assert!(rounds.readings(0).iter().all(|reading| reading.messages == 20_000));
    }

    #[test]
    fn a_repeat_is_expected_within_the_spread_of_rounds() {
        let mut rounds = Rounds::new(PLAN, trials());
        let [of, to] = [0, 1].map(|place| rounds.trials[place]);
        let reading = |value: f64| Reading { value, least: value, messages: 20, is_cut: false };
        rounds.readings[0] = [7.0, 5.0, 9.0, 6.0, 8.0].map(reading).to_vec();
        rounds.readings[1] = vec![reading(2.0); 5];
        // t(4) = 2.776, s = sqrt(2.5): 7 +- 2.776 x sqrt(2.5 pi / 5) = 7 +- 3.480.
        let repeat = rounds.repeat(&of).unwrap();
        assert!((repeat.low - 3.520).abs() < 1e-3 && (repeat.high - 10.480).abs() < 1e-3);
        let ratio = rounds.repeat_of_ratio(&of, &to).unwrap();
        assert!((ratio.low - 1.760).abs() < 1e-3 && (ratio.high - 5.240).abs() < 1e-3);
        let same = rounds.repeat(&to).unwrap();
        assert_eq!([same.low, same.high], [2.0; 2], "no spread between rounds");
        assert!(rounds.repeats().contains("t = 2.776"), "{}", rounds.repeats());
    }

    #[test]
    fn a_median_lies_in_an_interval_that_has_a_width() {
        let mut rounds = Rounds::new(PLAN, trials());
        let (delay, rate) = (rounds.trials[0], rounds.trials[1]);
        let reading = |value: f64, least| Reading { value, least, messages: 20, is_cut: false };
        rounds.readings[0] = vec![reading(0.5, 0.4995); 5];
        rounds.readings[1] = [7.0, 5.0, 9.0, 6.0, 8.0].map(|value| reading(value, value)).to_vec();
        // Five equal delays: only the resolution of a quantile remains.
        let found = rounds.found(&delay).unwrap();
        assert_eq!([found.value, found.low, found.high], [0.5, 0.4995, 0.5]);
        let found = rounds.found(&rate).unwrap();
        assert_eq!([found.value, found.low, found.high], [7.0, 5.0, 9.0]);
        assert!(rounds.interval().contains("93.75 %"), "{}", rounds.interval());
        let ten = Rounds::new(Plan { rounds: 10, ..PLAN }, trials()).interval();
        assert!(ten.contains("2nd of 10") && ten.contains("97.85 %"), "{ten}");
    }
}

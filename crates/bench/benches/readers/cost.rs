//! Cost of work: wall time and processor time.

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Cost of reading a capture once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall_seconds: f64,
    /// User and system time.
    pub(crate) cpu_seconds: f64,
}

/// The costs of one reader, round by round.
#[derive(Default)]
pub(crate) struct Costs(pub(crate) Vec<Cost>);

impl Costs {
    pub(crate) fn add(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    /// Returns the median, the least and the greatest of a figure.
    pub(crate) fn spread(&self, of: impl Fn(&Cost) -> f64) -> [f64; 3] {
        let mut figures: Vec<f64> = self.0.iter().map(of).collect();
        figures.sort_by(f64::total_cmp);
        [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
    }
}

fn seconds(of: ClockId) -> f64 {
    let time = clock_gettime(of);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn wall_seconds() -> f64 {
    seconds(ClockId::Monotonic)
}

/// Measures the cost of `work` on this thread.
pub(crate) fn of<T>(
    work: impl FnOnce() -> Result<T, Box<dyn core::error::Error>>,
) -> Result<(T, Cost), Box<dyn core::error::Error>> {
    let (wall, cpu) = (wall_seconds(), seconds(ClockId::ThreadCPUTime));
    let result = work()?;
    let cost = Cost {
        wall_seconds: wall_seconds() - wall,
        cpu_seconds: seconds(ClockId::ThreadCPUTime) - cpu,
    };
    Ok((result, cost))
}

/// Measures the cost of `work` in child processes, for which it waits. Their CPU time has steps of
/// a clock tick, commonly 10 ms.
pub(crate) fn of_children<T>(
    work: impl FnOnce() -> Result<T, Box<dyn core::error::Error>>,
) -> Result<(T, Cost), Box<dyn core::error::Error>> {
    let (wall, cpu) = (wall_seconds(), children_cpu_seconds()?);
    let result = work()?;
    let cost =
        Cost { wall_seconds: wall_seconds() - wall, cpu_seconds: children_cpu_seconds()? - cpu };
    Ok((result, cost))
}

/// Returns the user and system time of all children that have ended.
fn children_cpu_seconds() -> Result<f64, Box<dyn core::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name, in parentheses, may contain anything; the rest begins with the third field.
    let fields = text.rsplit_once(')').ok_or("no name in /proc/self/stat")?.1;
    let mut times = fields.split_whitespace().skip(16 - 3);
    let mut next = || times.next().ok_or("too few fields in /proc/self/stat");
    let ticks = next()?.parse::<u64>()? + next()?.parse::<u64>()?;
    Ok(ticks as f64 / clock_ticks_per_second() as f64)
}

//! Tables of the results, as `docs/benchmarks.md` has them.

use crate::readers::cost::Cost;

/// Cost of a frame in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct PerFrame {
    /// User and system time of all threads.
    cpu: f64,
    /// Time from the start to the end.
    elapsed: f64,
}

impl PerFrame {
    /// Divides a cost among frames.
    pub(crate) fn of(cost: Cost, frames: u64) -> Self {
        let each = |seconds: f64| seconds * 1e9 / frames as f64;
        Self { cpu: each(cost.cpu_seconds), elapsed: each(cost.wall_seconds) }
    }
}

/// Cost of each reader in one round.
pub(crate) struct Round {
    /// `tidewire watch`.
    pub(crate) text: PerFrame,
    /// `tidewire watch --json`.
    pub(crate) json: PerFrame,
    pub(crate) tcpdump: Option<PerFrame>,
    pub(crate) tshark: Option<PerFrame>,
    /// The meter alone, in this process.
    pub(crate) meter: PerFrame,
    /// The loop that decodes every layer, in this process.
    pub(crate) decoded: PerFrame,
}

/// Costs of all rounds on one file.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) frames: u64,
    pub(crate) rounds: Vec<Round>,
}

/// Time of a reader that a table compares.
type Time = fn(PerFrame) -> f64;

/// A column: a figure of each round in which its readers took part.
struct Column {
    title: &'static str,
    decimals: usize,
    figure: fn(&Round, Time) -> Option<f64>,
}

/// Columns of processes, and of the loops in the benchmark, which have one thread.
const TIMES: [Column; 6] = [
    Column { title: "`watch`", decimals: 0, figure: |round, of| Some(of(round.text)) },
    Column { title: "`watch --json`", decimals: 0, figure: |round, of| Some(of(round.json)) },
    Column { title: "tcpdump", decimals: 0, figure: |round, of| round.tcpdump.map(of) },
    Column { title: "tshark", decimals: 0, figure: |round, of| round.tshark.map(of) },
    Column { title: "meter alone", decimals: 0, figure: |round, of| Some(of(round.meter)) },
    Column { title: "decode all", decimals: 0, figure: |round, of| Some(of(round.decoded)) },
];

/// Ratios of processes, and of the loops.
const RATIOS: [Column; 5] = [
    Column {
        title: "tshark / text",
        decimals: 1,
        figure: |round, of| Some(of(round.tshark?) / of(round.text)),
    },
    Column {
        title: "tshark / JSON",
        decimals: 1,
        figure: |round, of| Some(of(round.tshark?) / of(round.json)),
    },
    Column {
        title: "text / tcpdump",
        decimals: 2,
        figure: |round, of| Some(of(round.text) / of(round.tcpdump?)),
    },
    Column {
        title: "JSON / text",
        decimals: 2,
        figure: |round, of| Some(of(round.json) / of(round.text)),
    },
    Column {
        title: "decode all / meter",
        decimals: 2,
        figure: |round, of| Some(of(round.decoded) / of(round.meter)),
    },
];

/// Number of columns that are of processes.
const OF_PROCESSES: usize = 4;

impl Column {
    /// Returns the median, least and greatest of all rounds; `-` if there was none.
    fn cell(&self, rounds: &[Round], time: Time) -> String {
        let mut figures: Vec<f64> =
            rounds.iter().filter_map(|round| (self.figure)(round, time)).collect();
        figures.sort_by(f64::total_cmp);
        let [Some(median), Some(least), Some(most)] =
            [figures.get(figures.len() / 2), figures.first(), figures.last()]
        else {
            return "-".to_owned();
        };
        let decimals = self.decimals;
        format!("{median:.decimals$} [{least:.decimals$} to {most:.decimals$}]")
    }
}

/// Prints the times and the ratios of all files.
pub(crate) fn print(figures: &[Figures]) {
    println!("\nTime until the end, a frame, ns");
    print_columns(figures, &TIMES[..OF_PROCESSES], |it| it.elapsed);
    println!("\nRatios of these times, each of one round");
    print_columns(figures, &RATIOS[..OF_PROCESSES], |it| it.elapsed);
    println!("\nCPU time a frame, ns");
    print_columns(figures, &TIMES, |it| it.cpu);
    println!("\nRatios of CPU times, each of one round");
    print_columns(figures, &RATIOS, |it| it.cpu);
}

fn print_columns(figures: &[Figures], columns: &[Column], time: Time) {
    let titles: Vec<_> = columns.iter().map(|column| column.title).collect();
    println!("| file | frames | {} |", titles.join(" | "));
    println!("|{}", "---|".repeat(columns.len() + 2));
    for Figures { name, frames, rounds } in figures {
        let cells: Vec<_> = columns.iter().map(|column| column.cell(rounds, time)).collect();
        println!("| {name} | {frames} | {} |", cells.join(" | "));
    }
}

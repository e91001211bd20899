//! Tables of the results, as `docs/benchmarks.md` has them.

/// CPU time of each reader in one round, in nanoseconds a frame.
pub(crate) struct Round {
    /// `tidewire watch`.
    pub(crate) text: f64,
    /// `tidewire watch --json`.
    pub(crate) json: f64,
    pub(crate) tcpdump: Option<f64>,
    pub(crate) tshark: Option<f64>,
    /// The meter alone, in this process.
    pub(crate) meter: f64,
    /// The loop that decodes every layer, in this process.
    pub(crate) decoded: f64,
}

/// CPU times of all rounds on one file.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) frames: u64,
    pub(crate) rounds: Vec<Round>,
}

/// A column: a figure of each round in which its readers took part.
struct Column {
    title: &'static str,
    decimals: usize,
    figure: fn(&Round) -> Option<f64>,
}

const TIMES: [Column; 6] = [
    Column { title: "`watch`", decimals: 0, figure: |round| Some(round.text) },
    Column { title: "`watch --json`", decimals: 0, figure: |round| Some(round.json) },
    Column { title: "tcpdump", decimals: 0, figure: |round| round.tcpdump },
    Column { title: "tshark", decimals: 0, figure: |round| round.tshark },
    Column { title: "meter alone", decimals: 0, figure: |round| Some(round.meter) },
    Column { title: "decode all", decimals: 0, figure: |round| Some(round.decoded) },
];

const RATIOS: [Column; 5] = [
    Column {
        title: "tshark / text",
        decimals: 1,
        figure: |round| Some(round.tshark? / round.text),
    },
    Column {
        title: "tshark / JSON",
        decimals: 1,
        figure: |round| Some(round.tshark? / round.json),
    },
    Column {
        title: "text / tcpdump",
        decimals: 2,
        figure: |round| Some(round.text / round.tcpdump?),
    },
    Column { title: "JSON / text", decimals: 2, figure: |round| Some(round.json / round.text) },
    Column {
        title: "decode all / meter",
        decimals: 2,
        figure: |round| Some(round.decoded / round.meter),
    },
];

impl Column {
    /// Returns the median, least and greatest of all rounds; `-` if there was none.
    fn cell(&self, rounds: &[Round]) -> String {
        let mut figures: Vec<f64> = rounds.iter().filter_map(self.figure).collect();
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
    println!("\nCPU time a frame, ns");
    print_columns(figures, &TIMES);
    println!("\nRatios, each of one round");
    print_columns(figures, &RATIOS);
}

fn print_columns(figures: &[Figures], columns: &[Column]) {
    let titles: Vec<_> = columns.iter().map(|column| column.title).collect();
    println!("| file | frames | {} |", titles.join(" | "));
    println!("|{}", "---|".repeat(columns.len() + 2));
    for Figures { name, frames, rounds } in figures {
        let cells: Vec<_> = columns.iter().map(|column| column.cell(rounds)).collect();
        println!("| {name} | {frames} | {} |", cells.join(" | "));
    }
}

//! Makes one figure of NBS-1986 and prints its points: `cargo run --release -p tidewire-papers --example a_figure 2 30`.

use papers::nbs_1986;
use papers::published::Options;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let number = arguments.next().unwrap_or_else(|| "2".to_owned());
    let messages = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(30);
    match nbs_1986::figure(&number, &Options { seed: 1, messages, monitor: None }) {
        Ok(plot) => {
            println!(
                "Figure {}: {} ({}). {}",
                plot.number, plot.title, plot.vertical.1, plot.observed
            );
            for curve in plot.curves {
                println!("{}", curve.name);
                for point in curve.points {
                    println!(
                        "  {:3} {:9.3} [{:9.3} {:9.3}]",
                        point.x, point.y, point.low, point.high
                    );
                }
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

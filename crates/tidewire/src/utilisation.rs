//! Busiest resources of simulated machines, by point of a study.

use crate::output::Output;
use crate::table::{Align, Table};
use bench::sample::Sample;
use std::collections::BTreeMap;
use std::io;

/// Maximum number of resources that are shown for a point.
const SHOWN: usize = 5;
/// Number of points beyond which only the bottleneck of each is shown.
const FEW_POINTS: usize = 3;

/// Time of a resource, summed over the runs of a point.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    busy_ns: u64,
    of_ns: u64,
}

/// Busy times of runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Utilisation {
    /// By point, and by station and resource.
    points: BTreeMap<usize, BTreeMap<(String, String), Share>>,
}

impl Utilisation {
    /// Sums these runs.
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let mut utilisation = Self::default();
        samples.iter().for_each(|sample| utilisation.add(sample));
        utilisation
    }

    fn add(&mut self, sample: &Sample) {
        for occupied in &sample.machines {
            let key = (occupied.station.clone(), occupied.resource.clone());
            let point = self.points.entry(sample.point).or_default();
            let share = point.entry(key).or_default();
            share.busy_ns += occupied.busy_ns;
            share.of_ns += sample.ended_at_ns;
        }
    }

    /// Prints the busiest resources of each point, the bottleneck first; nothing without machines.
    pub(crate) fn print(&self, output: &Output) -> io::Result<()> {
        if self.points.is_empty() || output.json {
            return Ok(());
        }
        let title = if self.points.len() > FEW_POINTS {
            "bottleneck of each point, the busiest resource of its machines"
        } else {
            "busiest resources of the machines, the bottleneck of each point first"
        };
        output.line(format_args!("\n{title}\n{}", self.table()))
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            ("point", Align::Right),
            ("station", Align::Left),
            ("resource", Align::Left),
            ("busy", Align::Right),
        ]);
        let shown = if self.points.len() > FEW_POINTS { 1 } else { SHOWN };
        for (point, resources) in &self.points {
            let percent = |share: &Share| share.busy_ns as f64 * 100.0 / share.of_ns.max(1) as f64;
            let mut busiest: Vec<_> =
                resources.iter().map(|(key, share)| (key, percent(share))).collect();
            busiest.sort_by(|one, other| other.1.total_cmp(&one.1));
            for (place, ((station, resource), percent)) in
                busiest.into_iter().take(shown).enumerate()
            {
                let number = if place == 0 { (point + 1).to_string() } else { String::new() };
                table.row([number, station.clone(), resource.clone(), format!("{percent:.1} %")]);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::sample::Occupied;

    #[test]
    fn the_busiest_resource_of_a_point_comes_first() {
        let study = bench::scenario::load(bench::scenarios::get("bulk").unwrap().text, "bulk.toml");
        let mut sample = bench::run::run(&study.unwrap().points[0], "-", 0).unwrap();
        let occupied = |station: &str, resource: &str, busy_ns| Occupied {
            station: station.to_owned(),
            resource: resource.to_owned(),
            busy_ns,
        };
        sample.ended_at_ns = 1_000;
        sample.machines = vec![occupied("a", "host", 200), occupied("b", "front end", 900)];
        let mut utilisation = Utilisation::default();
        utilisation.add(&sample);
        sample.machines[0].busy_ns = 400;
        utilisation.add(&sample);
        let table = utilisation.table().to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].contains("front end") && lines[1].contains("90.0 %"), "{table}");
        assert!(lines[2].contains("host") && lines[2].contains("30.0 %"), "{table}");
    }
}

//! Services of MMS as a table of 80 columns, the slowest first, and control blocks with the intervals
//! of their reports.

use crate::quantity;
use crate::table::{Align, Table};
use core::cmp::Reverse;
use core::fmt::Write as _;
use records::{Block, ControlBlocks, ENOUGH, Service, Services, shortened, sum};

/// Number of services in the table.
const SHOWN: usize = 10;
/// Number of services kept for it.
const KEPT: usize = 64;
/// Columns for a server.
const SERVER_COLUMNS: usize = 21;
/// Columns for a service.
const SERVICE_COLUMNS: usize = 16;
/// Columns for the name of a control block.
const BLOCK_COLUMNS: usize = 22;

/// The services with the slowest answers of all reported.
pub(super) struct SlowestServices {
    kept: Vec<Service>,
    all: u64,
}

impl SlowestServices {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds the services of an association.
    pub(super) fn add(&mut self, services: &Services) {
        for service in &services.services {
            self.all += 1;
            self.kept.push(service.clone());
            if self.kept.len() >= KEPT {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|it| {
            let slowness = (it.answers >= ENOUGH, it.response_p99_ns, it.response_max_ns);
            (Reverse(slowness), it.server.clone(), it.service.clone())
        });
        self.kept.truncate(SHOWN);
    }

    /// Returns the slowest services and the number of all; none if there were none.
    pub(super) fn table(&mut self) -> Option<String> {
        self.sort();
        let mut table = Table::new([
            ("slowest services", Align::Left),
            ("server", Align::Left),
            ("count", Align::Right),
            ("fail", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("max", Align::Right),
        ]);
        for it in &self.kept {
            let span = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), quantity::span);
            table.row([
                shortened(&it.service, SERVICE_COLUMNS),
                shortened(&it.server, SERVER_COLUMNS),
                it.answers.to_string(),
                sum([it.errors, it.failed_accesses, it.rejects, it.unanswered]).to_string(),
                span(quantity::enough(0.5, it.answers, it.response_p50_ns)),
                span(quantity::enough(0.99, it.answers, it.response_p99_ns)),
                span(it.response_max_ns),
            ]);
        }
        let mut text = table.to_string();
        let more = self.all - self.kept.len() as u64;
        if more > 0 {
            let _ = write!(text, "\n  and {more} more services");
        }
        if self.kept.iter().any(|it| it.answers < ENOUGH) {
            let _ = write!(text, "\n  services with fewer than {ENOUGH} answers come last");
        }
        (!self.kept.is_empty()).then_some(text)
    }
}

/// The control blocks with the most reports of all reported.
pub(super) struct BusiestBlocks {
    kept: Vec<Block>,
    all: u64,
}

impl BusiestBlocks {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Adds the control blocks of an association.
    pub(super) fn add(&mut self, blocks: &ControlBlocks) {
        for block in &blocks.control_blocks {
            self.all += 1;
            self.kept.push(block.clone());
            if self.kept.len() >= KEPT {
                self.sort();
            }
        }
    }

    fn sort(&mut self) {
        self.kept
            .sort_by_cached_key(|it| (Reverse(it.reports), it.server.clone(), it.name.clone()));
        self.kept.truncate(SHOWN);
    }

    /// Returns the busiest control blocks and the number of all; none if there were none.
    pub(super) fn table(&mut self) -> Option<String> {
        self.sort();
        let mut table = Table::new([
            ("reports of", Align::Left),
            ("server", Align::Left),
            ("count", Align::Right),
            ("interval", Align::Right),
            ("p50", Align::Right),
            ("max", Align::Right),
        ]);
        for it in &self.kept {
            let time = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), quantity::span);
            table.row([
                shortened(it.name.as_deref().unwrap_or("a control block"), BLOCK_COLUMNS),
                shortened(&it.server, SERVER_COLUMNS),
                it.reports.to_string(),
                time(it.interval_total_ns.checked_div(it.intervals)),
                time(quantity::enough(0.5, it.intervals, it.interval_p50_ns)),
                time(it.interval_max_ns),
            ]);
        }
        let mut text = table.to_string();
        let more = self.all - self.kept.len() as u64;
        if more > 0 {
            let _ = write!(text, "\n  and {more} more control blocks");
        }
        (!self.kept.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_block_is_first_and_one_report_has_no_interval() {
        let block = |name: &str, reports: u64| Block {
            name: Some(name.into()),
            server: "10.0.0.2:102".into(),
            reports,
            intervals: reports - 1,
            interval_total_ns: (reports - 1) * 500_000_000,
            interval_min_ns: (reports > 1).then_some(500_000_000),
            interval_p50_ns: (reports > 1).then_some(500_000_000),
            interval_max_ns: (reports > 1).then_some(900_000_000),
        };
        let mut blocks = BusiestBlocks::new();
        assert_eq!(blocks.table(), None);
        let control_blocks = vec![block("once", 1), block("brcb01", 80)];
        let ends = ["10.0.0.1:1024".into(), "10.0.0.2:102".into()];
        blocks.add(&ControlBlocks { id: 1, ends, control_blocks });
        let text = blocks.table().unwrap();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["reports", "of", "server", "count", "interval", "p50", "max"]);
        let often = ["brcb01", "10.0.0.2:102", "80", "500", "ms", "500", "ms", "900", "ms"];
        assert_eq!(lines[1], often);
        assert_eq!(lines[2], ["once", "10.0.0.2:102", "1", "-", "-", "-"]);
    }
}

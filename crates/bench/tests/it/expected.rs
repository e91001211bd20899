//! The results of the built-in scenarios, held against committed tables: a change of behaviour is a
//! readable diff of `scenarios/*.expected`. `BLESS=1` rewrites the tables.

use bench::expected;
use bench::scenario;
use bench::scenarios::{self, BuiltIn};
use std::path::Path;

/// Returns the table of a scenario: the first replication of each of its points.
fn table(built_in: &BuiltIn) -> String {
    let study = scenario::load(built_in.text, &built_in.file()).unwrap();
    expected::table(built_in.name, &study).unwrap()
}

/// Fails with the first line that differs, or rewrites the table if `BLESS` is set.
#[track_caller]
fn check(name: &str) {
    let built_in = scenarios::get(name).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(format!("{name}.expected"));
    let found = table(&built_in);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = found.lines().zip(expected.lines()).enumerate();
    let first = lines.into_iter().find(|(_, (found, expected))| found != expected);
    if let Some((number, (found, expected))) = first {
        panic!(
            "{name}.expected, line {}:\n  expected {expected}\n  found    {found}\n\
             BLESS=1 rewrites it; read the diff",
            number + 1
        );
    }
    let (found, expected) = (found.lines().count(), expected.lines().count());
    assert_eq!(found, expected, "{name}.expected: lines; BLESS=1 rewrites it");
}

/// Defines a test for each scenario, so that they run in parallel and fail one by one.
macro_rules! tables {
    ($($test:ident: $name:literal,)*) => {
        /// The scenarios that have a test below.
        const TESTED: &[&str] = &[$($name),*];
        $(#[test] fn $test() { check($name); })*
    };
}

tables! {
    status_csma_gives_its_table: "status-csma",
    status_short_gives_its_table: "status-short",
    ring_gives_its_table: "ring",
    ship_gives_its_table: "ship",
    ship_prototype_gives_its_table: "ship-prototype",
    t1s_zone_gives_its_table: "t1s-zone",
    manufacturing_cell_gives_its_table: "manufacturing-cell",
    control_loop_gives_its_table: "control-loop",
    map_architectures_gives_its_table: "map-architectures",
    file_transfer_gives_its_table: "file-transfer",
    titles_gives_its_table: "titles",
    substation_gives_its_table: "substation",
    process_bus_gives_its_table: "process-bus",
    ieds_gives_its_table: "ieds",
    polling_gives_its_table: "polling",
    plc_ring_gives_its_table: "plc-ring",
    forty_stations_gives_its_table: "forty-stations",
    bulk_gives_its_table: "bulk",
    ncc84_gives_its_table: "ncc84",
    nbs_1986_status_gives_its_table: "nbs-1986-status",
    nbs_1986_constant_rate_gives_its_table: "nbs-1986-constant-rate",
    nbs_1986_maximum_rate_gives_its_table: "nbs-1986-maximum-rate",
    tr_88_04_delay_gives_its_table: "tr-88-04-delay",
    tr_88_04_throughput_gives_its_table: "tr-88-04-throughput",
    tr_88_08_messages_gives_its_table: "tr-88-08-messages",
    tr_88_17_services_gives_its_table: "tr-88-17-services",
    tr_88_17_case_gives_its_table: "tr-88-17-case",
    tr_88_17_case_delay_gives_its_table: "tr-88-17-case-delay",
}

#[test]
fn every_built_in_scenario_has_a_table() {
    let names: Vec<_> = scenarios::ALL.iter().map(|built_in| built_in.name).collect();
    assert_eq!(names, TESTED);
}

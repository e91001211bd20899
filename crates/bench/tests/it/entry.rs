//! Entry of the fuzz target of scenarios: reads a text and checks invariants.

use bench::layout::lay_out;
use bench::scenario::{Problem, Requirement, Setting, Severity, Values, load_within, to_toml};

/// Maximum number of stations in a layout, because each takes memory.
const STATIONS: u64 = 100;

/// Maximum number of points, each read as a scenario of its own. More would cost the time of many
/// other texts, and cover no more than two paths of a few values do.
const POINTS: usize = 16;

/// Lines of problems that are shown, and the line that counts further ones.
const LINES: usize = 47;

/// Reads a text up to a zero octet, followed by settings, `path=value`, each up to another zero
/// octet. Checks that rejected texts have errors with places, and that an accepted scenario is read
/// back equal and can be laid out. Returns true if it was accepted.
pub(crate) fn scenario(octets: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(octets) else { return false };
    let (text, behind) = text.split_once('\0').unwrap_or((text, ""));
    let settings: Vec<Setting> = behind
        .split('\0')
        .filter_map(|setting| setting.split_once('='))
        .take(4)
        .map(|(path, value)| Setting {
            path: path.to_owned(),
            values: Values::List(value.split(',').map(str::to_owned).collect()),
        })
        .collect();
    requirement(behind);
    let study = match load_within(text, "some.toml", &settings, POINTS) {
        Ok(study) => study,
        Err(error) => {
            let shown = error.to_string();
            assert!(error.problems.iter().any(|problem| problem.severity == Severity::Error));
            // All problems shown, each after the previous one: a text can have hundreds.
            let more = shown
                .rsplit_once("\nand ")
                .and_then(|(_, end)| end.split_once(" more problem")?.0.parse::<usize>().ok());
            let count = error.problems.len() - more.unwrap_or(0);
            assert!(count == 1 || shown.lines().count() <= LINES, "{shown}");
            let first = error.problems.iter().take(count);
            first.fold(shown.as_str(), |shown, Problem { message, .. }| {
                let (_, behind) = shown.split_once(message).unwrap_or_else(|| panic!("{message}"));
                behind
            });
            return false;
        }
    };
    let lines = study.source.lines();
    for warning in &study.warnings {
        assert!(warning.render(&lines).contains(&warning.message));
    }
    let scenario = study.scenario();
    let written = to_toml(scenario);
    let again = load_within(&written, "written.toml", &[], POINTS)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.scenario(), scenario, "{written}");
    let background = scenario.background.as_ref().map_or(0, |background| background.stations);
    let stations = scenario.all_stations().len() as u64 + background;
    if stations <= STATIONS {
        assert_eq!(lay_out(scenario, 1).places.len() as u64, stations);
    }
    true
}

/// Checks that a parsed requirement prints as written.
fn requirement(text: &str) {
    match text.parse::<Requirement>() {
        Ok(requirement) => assert_eq!(requirement.to_string().parse().as_ref(), Ok(&requirement)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

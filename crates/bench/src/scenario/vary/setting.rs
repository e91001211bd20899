//! Keys set from outside the file, on a command line.

use core::str::FromStr;

/// A key set from outside the file, in place of the file's own value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its dotted path: `background.load`, `flow.status.size`.
    pub path: String,
    /// Its values.
    pub values: Values,
}

/// The values of a key set from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// These.
    List(Vec<String>),
    /// From one to another, both included, in steps.
    Range {
        /// The first.
        from: String,
        /// The last, if the steps meet it.
        to: String,
        /// From one to the next.
        step: String,
    },
}

impl FromStr for Setting {
    type Err = String;

    /// Reads `key=a,b,c`, or a range with both ends: `key=4..64..4`. The step of whole numbers is 1 if not given.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected a key and its values, as in \"flow.*.size=64 B,256 B\"".to_owned();
        let (path, values) = text.split_once('=').ok_or_else(wrong)?;
        let (path, values) = (path.trim().to_owned(), values.trim());
        if path.is_empty() || values.is_empty() {
            return Err(wrong());
        }
        let ends: Vec<&str> = values.split("..").map(str::trim).collect();
        let values = match ends[..] {
            // Braces hold the numbers of a group.
            _ if values.contains('{') => Values::List(vec![values.to_owned()]),
            [_] => Values::List(values.split(',').map(|value| value.trim().to_owned()).collect()),
            // A whole number has the step 1; a fraction, or a number with a unit, has no default
            // step.
            [from, to] if [from, to].iter().all(|end| end.parse::<i64>().is_ok()) => {
                Values::Range { from: from.into(), to: to.into(), step: "1".to_owned() }
            }
            [from, to, step] => {
                Values::Range { from: from.into(), to: to.into(), step: step.into() }
            }
            _ => {
                let range =
                    "expected a range FROM..TO..STEP, as in \"4..64..4\" or \"0 %..80 %..20 %\"";
                return Err(range.to_owned());
            }
        };
        Ok(Self { path, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, Values)>) {
        let expected = expected.map(|(path, values)| Setting { path: path.to_owned(), values });
        assert_eq!(text.parse().ok(), expected, "{text}");
    }

    #[test]
    fn a_setting_is_a_key_and_a_list_or_a_range() {
        let list = |values: &[&str]| Values::List(values.iter().map(|it| (*it).into()).collect());
        let range = |from: &str, to: &str, step: &str| {
            let [from, to, step] = [from, to, step].map(str::to_owned);
            Values::Range { from, to, step }
        };
        check("seed=1,2", Some(("seed", list(&["1", "2"]))));
        check("flow.*.size = 64 B, 1 KiB", Some(("flow.*.size", list(&["64 B", "1 KiB"]))));
        check("medium.rate=10 Mbit/s", Some(("medium.rate", list(&["10 Mbit/s"]))));
        check("stations.ied.count=4..64", Some(("stations.ied.count", range("4", "64", "1"))));
        check("a=0 %..70 %..5 %", Some(("a", range("0 %", "70 %", "5 %"))));
        check("station[0].name=a-{1..4}", Some(("station[0].name", list(&["a-{1..4}"]))));
        for text in ["", "seed", "=1", "seed="] {
            check(text, None);
        }
        for text in ["a=1..2..3..4", "a=12..24/4", "a=0 %..80 %", "a=0.5..1.5"] {
            let error = text.parse::<Setting>().unwrap_err();
            assert!(error.contains("FROM..TO..STEP"), "{text}: {error}");
        }
    }
}

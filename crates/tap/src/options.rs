//! Command-line options.

use wire::capture::SNAP_OCTETS;
use wire::filter::Filter;

/// Default truncation with user data, enough for all headers at the front of a frame.
const SNAP_WITH_DATA_OCTETS: usize = 256;

pub(crate) const USAGE: &str =
    "Usage: tidewire-tap INTERFACE [--filter FILTER] [--snap OCTETS] [--keep-data]

Listens on an interface and writes pcapng to standard output, until its reader
is gone. Needs CAP_NET_RAW to start, and then drops it. Never sends.

  --filter FILTER      only matching frames: tidewire help filter
  --snap OCTETS        examine at most this many octets of a frame; default: 256 with
                       --keep-data, otherwise all, because headers may begin
                       anywhere in a TCP segment
  --keep-data          keep user data too, as far as --snap reaches; without it
                       only headers are kept
  --until-end-of-input stop when standard input ends, and ignore Ctrl-C

Example: ssh plant sudo tidewire-tap eth1 | tidewire watch -r -";

/// Request on the command line.
#[derive(Debug)]
pub(crate) enum Asked {
    Help,
    Listen(Options),
}

/// Listening options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Options {
    pub(crate) interface: String,
    pub(crate) filter: Filter,
    pub(crate) snap_octets: usize,
    /// Write user data as well.
    pub(crate) keeps_data: bool,
    pub(crate) until_end_of_input: bool,
    /// Try the forbidden operations, print the results, and end.
    pub(crate) probe: bool,
}

/// Parses the arguments after the program's name.
pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut options = Options {
        interface: String::new(),
        filter: Filter::all(),
        snap_octets: SNAP_OCTETS,
        keeps_data: false,
        until_end_of_input: false,
        probe: false,
    };
    let (mut words, mut snap_octets) = (words, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "-h" | "--help" => return Ok(Asked::Help),
            "--filter" => options.filter = value()?.parse().map_err(|bad| format!("{bad}"))?,
            "--snap" => snap_octets = Some(snap(&value()?)?),
            "--keep-data" => options.keeps_data = true,
            "--until-end-of-input" => options.until_end_of_input = true,
            "--probe-sandbox" => options.probe = true,
            option if option.starts_with('-') => return Err(format!("no such option: {option}")),
            _ if options.interface.is_empty() => options.interface = word,
            _ => return Err(format!("one interface, and not {word:?} too")),
        }
    }
    if options.interface.is_empty() {
        return Err("an interface is needed".to_owned());
    }
    let usual = if options.keeps_data { SNAP_WITH_DATA_OCTETS } else { SNAP_OCTETS };
    options.snap_octets = snap_octets.unwrap_or(usual);
    Ok(Asked::Listen(options))
}

fn snap(text: &str) -> Result<usize, String> {
    let octets = text.parse().ok().filter(|octets| (14..=SNAP_OCTETS).contains(octets));
    octets.ok_or_else(|| format!("--snap {text:?}: from 14 to {SNAP_OCTETS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Asked, String> {
        parse(text.split('|').map(str::to_owned))
    }

    #[test]
    fn options_are_parsed() {
        let Ok(Asked::Listen(options)) = asked("eth1|--filter|iso or tcp|--snap|96") else {
            panic!("an interface, a filter and a length");
        };
        assert_eq!((options.interface.as_str(), options.snap_octets), ("eth1", 96));
        assert_eq!(
            (options.filter.to_string().as_str(), options.keeps_data),
            ("iso or tcp", false)
        );
        assert!(matches!(asked("eth1|--help"), Ok(Asked::Help)));
        let snap = |text| match asked(text) {
            Ok(Asked::Listen(options)) => options.snap_octets,
            other => panic!("{other:?}"),
        };
        assert_eq!((snap("eth1"), snap("eth1|--keep-data")), (SNAP_OCTETS, 256));
    }

    #[test]
    fn invalid_options_are_refused() {
        for (text, complaint) in [
            ("--keep-data", "an interface is needed"),
            ("eth1|eth2", "one interface, and not \"eth2\" too"),
            ("eth1|--snap", "--snap needs a value"),
            ("eth1|--snap|13", "--snap \"13\": from 14 to 262144"),
            ("eth1|-x", "no such option: -x"),
            ("eth1|--filter|isso", "column 1: not expected: \"isso\""),
        ] {
            let said = asked(text).unwrap_err();
            assert!(said.starts_with(complaint), "{said}");
        }
    }
}

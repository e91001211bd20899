//! `scenarios import`: what an SCL file declares, simulated.

use crate::publishers::{CAPTURE, SCD};
use crate::{check_code, records, run, run_in, stderr, stdout};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wire::capture::Capture;

/// Octets by which the longest stNum and sqNum are longer than those of the capture.
const LONGEST_NUMBERS: usize = 2 * (5 - 1);

/// Lengths of tagged frames of an EtherType.
fn lengths(path: &Path, of_type: [u8; 2]) -> BTreeSet<usize> {
    let mut capture = Capture::open(fs::File::open(path).unwrap()).unwrap();
    let mut lengths = BTreeSet::new();
    while let Some(frame) = capture.next().unwrap() {
        // The frames of the stranger are not declared.
        if frame.octets.get(16..18) == Some(&of_type) && frame.octets[11] != 0x99 {
            lengths.insert(frame.original_octets);
        }
    }
    lengths
}

#[test]
fn publishers_and_reports_are_flows_of_the_size_of_their_sets() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["scenarios", "import", SCD, "station.toml"]);
    check_code(&output, 0);
    let said = "station.toml written, 13 flows; tidewire predict station.toml simulates it";
    assert!(stdout(&output).contains(said), "{}", stdout(&output));
    let text = fs::read_to_string(folder.path().join("station.toml")).unwrap();
    // Addresses, tag and type take 18 octets of a frame; the capture has frames of the same data sets.
    let goose: Vec<_> = lengths(Path::new(CAPTURE), [0x88, 0xB8]).into_iter().collect();
    let sampled: Vec<_> = lengths(Path::new(CAPTURE), [0x88, 0xBA]).into_iter().collect();
    let ([goose], [sampled]) = (&goose[..], &sampled[..]) else { panic!("{goose:?} {sampled:?}") };
    for line in [
        format!("size = \"{} B\"", goose + LONGEST_NUMBERS - 18),
        format!("size = \"{} B\"", sampled - 18),
        "from = \"BAY1\"".to_owned(),
        "to = \"GATEWAY\"".to_owned(),
        "priority = 4".to_owned(),
        "pattern = { kind = \"retransmission\", min-time = \"4 ms\", max-time = \"1 s\" }"
            .to_owned(),
        "appid = 0x3001".to_owned(),
        "control-block = \"BAY1LD0/LLN0$GO$trip\"".to_owned(),
        "pattern = { kind = \"cyclic\", period = \"250 us\" }".to_owned(),
        "pattern = { kind = \"cyclic\", period = \"10 s\" }".to_owned(),
        "deadline = \"2 s\"".to_owned(),
        "deadline = \"750 us\"".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let comment =
        "# SV MU1MU/LLN0$MS$MSVCB01: 80 samples in a period of 50 Hz, 1 in a frame; VLAN 20";
    assert!(text.contains(comment), "{text}");
    let output = run_in(folder.path(), &["predict", "station.toml", "-n", "1", "--no-save"]);
    check_code(&output, 0);
    assert_eq!(stdout(&output).matches("always met").count(), 7, "{}", stdout(&output));
    // It may have been edited since.
    let output = run_in(folder.path(), &["scenarios", "import", SCD, "station.toml"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("exists and is not overwritten"), "{}", stderr(&output));
    // Without a file the same is printed.
    let printed = run(&["scenarios", "import", SCD]);
    check_code(&printed, 0);
    assert_eq!(stdout(&printed), text);
    let records = records(&run(&["--json", "scenarios", "import", SCD]));
    assert_eq!(records[0]["text"], text);
}

/// The scenario of a changed file.
fn imported(change: impl Fn(&str) -> String) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let scd = fs::read_to_string(SCD).unwrap();
    let changed = change(&scd);
    assert_ne!(scd, changed);
    fs::write(folder.path().join("a.scd"), changed).unwrap();
    let output = run_in(folder.path(), &["scenarios", "import", "a.scd"]);
    match output.status.code() {
        Some(0) => Ok(stdout(&output)),
        _ => Err(stderr(&output)),
    }
}

#[test]
fn what_the_file_does_not_state_is_said_in_comments() {
    let text = imported(|scd| scd.replace("intgPd=\"10000\"", "intgPd=\"0\"")).unwrap();
    let rates = "# Left out: 6 control blocks of reports without an integrity period or a client.";
    assert!(text.contains(rates) && text.contains("of MMS are not in SCL"), "{text}");
    assert!(!text.contains("class-4"), "{text}");
    let without = |scd: &str| {
        let from = scd.find("<MaxTime").unwrap();
        let to = from + scd[from..].find('\n').unwrap();
        format!("{}{}", &scd[..from], &scd[to..])
    };
    let text = imported(without).unwrap();
    assert!(text.contains("MaxTime is not in the file: 1000 ms assumed"), "{text}");
    let text = imported(|scd| {
        scd.replacen("GSE ldInst", "Other ldInst", 1).replacen("</GSE>", "</Other>", 1)
    });
    assert!(
        text.unwrap()
            .contains("# Left out: 1 control block without an address, an APPID or a data set.")
    );
    // Names that are not plain become plain stations, and no group of stations.
    let name = "ClientLN iedName=\"G{1..9}\u{202e}\"";
    let text = imported(|scd| scd.replacen("ClientLN iedName=\"GATEWAY\"", name, 1)).unwrap();
    assert!(text.contains("to = \"G_1__9__\""), "{text}");
}

#[test]
fn a_file_at_its_limits_gives_a_valid_scenario_or_none() {
    let without_appid = |scd: &str| {
        let from = scd.find("<P type=\"APPID\">").unwrap();
        let to = from + scd[from..].find("</P>").unwrap() + 4;
        format!("{}{}", &scd[..from], &scd[to..])
    };
    let text = imported(without_appid).unwrap();
    assert!(text.contains("# Left out: 1 control block without an address, an APPID"), "{text}");
    let again = "<ClientLN iedName=\"GATEWAY\" lnClass=\"ITCI\" lnInst=\"1\"/>\
                 <ClientLN iedName=\"MU1\" lnClass=\"ITCI\" lnInst=\"1\"/>";
    let text = imported(|scd| {
        scd.replacen("<RptEnabled max=\"1\">", &format!("<RptEnabled max=\"9\">{again}{again}"), 1)
    });
    assert_eq!(text.unwrap().matches("name = \"BAY1-status").count(), 2);
    let text = imported(|scd| scd.replace("\"BAY1\"", "\"subscribers\"")).unwrap();
    assert!(text.contains("from = \"subscribers_\""), "{text}");
    // The longest period and the most samples that a file can state.
    let most = "smpMod=\"SecPerSmp\" smpRate=\"4294967295\" nofASDU=\"255\"";
    let result = imported(|scd| {
        let from = scd.find("smpRate=").unwrap();
        let to = from + scd[from..].find("nofASDU=\"1\"").unwrap() + 11;
        format!("{}{most}{}", &scd[..from], &scd[to..])
    });
    let text = result.unwrap_or_else(|error| error);
    assert!(text.contains("period = ") || text.contains("error"), "{text}");
}

#[test]
fn a_file_without_types_or_without_anything_periodic_is_refused() {
    let error = imported(|scd| scd.replacen("id=\"act\"", "id=\"other\"", 1)).unwrap_err();
    assert!(error.contains("a.scd:") && error.contains("no DOType \"act\""), "{error}");
    let error = imported(|scd| scd.replacen("doName=\"Tr\"", "doName=\"Op\"", 1)).unwrap_err();
    assert!(error.contains("device BAY1: the data set \"trips\" is not there, or a"), "{error}");
    let error = imported(|_| "<SCL/>".to_owned()).unwrap_err();
    assert!(error.contains("nothing in the file has a period"), "{error}");
}

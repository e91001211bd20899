//! Entry of the fuzz target of the stream: reads octets as a stream of measures and checks
//! invariants.

use crate::output::printable;
use crate::stream::Lines;
use records::{Reader, Record};

/// Reads a stream to its end or its first error, and returns the number of records. Checks that
/// every record is read back unchanged after writing, and that no text of it contains terminal
/// control characters.
pub(crate) fn script(octets: &[u8]) -> usize {
    let (mut reader, head) = match Reader::open(octets) {
        Ok(opened) => opened,
        Err(error) => {
            check(&error.to_string());
            return 0;
        }
    };
    let mut lines = Lines::new(head);
    for records in 0.. {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => return records,
            Err(error) => {
                check(&error.to_string());
                return records;
            }
        };
        let written =
            serde_json::to_string(&record).expect("every record is representable in JSON");
        let again = serde_json::from_str::<Record>(&written);
        assert_eq!(again.ok().as_ref(), Some(&record), "{written}");
        lines.told(&record).into_iter().map(printable).for_each(|line| check(&line));
    }
    0
}

#[track_caller]
fn check(line: &str) {
    assert!(!line.contains(|c: char| c.is_control() && c != '\n'), "a terminal obeys {line:?}");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use core::time::Duration;
    use meter::Settings;
    use records::Origin;
    use records::{Details, Head, Recorder, Spans, Subset};
    use std::fs::{self, File};
    use std::path::Path;
    use wire::capture::Capture;

    const HEAD: &str = r#"{"type":"stream","schema":"tidewire.measures/1","source":"a","measure_ns":1,"report_ns":1,"sample_ns":null,"channel_bits_per_second":1,"bounds_octets":[64],"top":1,"only":null}"#;
    const INTERVAL: &str = r#"{"type":"interval","index":0,"intervals":1,"start_ns":0,"length_ns":9,"complete":true,"frames":2,"dropped_by_kernel":null,"measures":{"lpdus":2,"tpdus":2,"dt_tpdus":1},"metrics":{"U_C":0.5,"R_RD":null},"oddities":{"time: odd":1}}"#;
    const TOTAL: &str = r#"{"type":"total","intervals":1,"start_ns":0,"length_ns":9,"measures":{"tpdus":2,"ack_delays":1,"ack_delay_total_ns":7},"metrics":{"E_T":0.25}}"#;
    const WHO: &str = r#""id":1,"ends":["a","b"],"references":[1,null],"class":4,"user":"unknown","confidence":"none","state":"open","ending":null,"opening_ns":1,"established_ns":null,"closing_ns":null,"closed_ns":null,"last_ns":5,"directions":[{"dt_tpdus":1},{}]}"#;
    const HOST: &str =
        r#"{"type":"host","host":null,"sent":{"dt_tpdus":1},"received":{"ak_tpdus":1}}"#;
    const SAMPLE: &str = r#"{"type":"sample","start_ns":1,"length_ns":1,"frames":1,"octets":60,"connections":[{"id":1,"sent":[1,null],"acknowledged":[null,1],"allowed":[1,1],"window_closed":[false,true]}]}"#;
    const END: &str = r#"{"type":"end","complete":true,"frames":2,"oddities":{"time: odd":1},"dropped_by_kernel":null,"error":null}"#;

    fn seeds() -> Vec<(&'static str, String)> {
        let connection = format!("{{\"type\":\"connection\",{WHO}");
        let within = format!("{{\"type\":\"connection-interval\",\"index\":0,{WHO}");
        let later = r#"{"type":"dream","of":[1]}"#;
        let stream = |records: &[&str]| {
            [HEAD].iter().chain(records).map(|line| format!("{line}\n")).collect::<String>()
        };
        vec![
            ("whole", stream(&[INTERVAL, &within, TOTAL, &connection, HOST, END])),
            ("samples", stream(&[SAMPLE, INTERVAL, SAMPLE, END])),
            ("later", stream(&[later, END])),
            ("cut", stream(&[INTERVAL])),
            ("empty", stream(&[END])),
            ("silent", stream(&[&INTERVAL.replace("\"intervals\":1", "\"intervals\":9"), END])),
            (
                "odd",
                stream(&[&END.replace("time: odd", "\\u001b[2J").replace("null}", "\"\\u0007\"}")]),
            ),
            ("foreign", "#!/bin/sh\n".to_owned()),
        ]
    }

    #[test]
    fn corpus_begins_with_the_seeds_and_every_file_passes_checks() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/measures"));
        for (name, text) in seeds() {
            let path = folder.join(name);
            if std::env::var_os("BLESS").is_some() {
                fs::create_dir_all(folder).unwrap();
                fs::write(&path, &text).unwrap();
            }
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(found, text, "{} is not what this test makes", path.display());
        }
        let files = fs::read_dir(folder).unwrap();
        let records: usize =
            files.map(|file| script(&fs::read(file.unwrap().path()).unwrap())).sum();
        // 6 of the complete stream, 4 with samples, 2 of the silent stream, and one of four others.
        assert!(records >= 16, "{records} records");
    }

    /// Returns the stream of the capture of a cell with a bad path, line by line.
    pub(crate) fn cell() -> Vec<String> {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng"));
        let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
        let settings = Settings::every(Duration::from_secs(2));
        let second = Duration::from_secs(1);
        let spans = Spans { report: second, sample: Some(second), intervals: None };
        let (details, only) = (Details { top: 20 }, Subset::default());
        let head = Head::of(
            Origin::files(&["cell.pcapng"], |path| path.display().to_string()),
            &settings,
            spans,
            details,
            &only,
        );
        let mut lines = vec![serde_json::to_string(&Record::Stream(head)).unwrap()];
        let mut recorder = Recorder::new(settings, spans, details);
        while let Some(record) = capture.next().unwrap() {
            recorder.observe(record.at, record.link, record.octets, record.original_octets);
        }
        recorder.finish(false, None);
        while let Some(item) = recorder.take() {
            lines.push(serde_json::to_string(&Record::of(&item, &only)).unwrap());
        }
        lines
    }

    /// Returns the same stream with some values replaced according to a seed: mostly counts that no
    /// meter reaches, and names with terminal control characters.
    pub(crate) fn exchanged(lines: &[String], seed: u64) -> String {
        // SplitMix64.
        let mut state = seed;
        let mut below = |bound: usize| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
        };
        let numbers = ["18446744073709551615", "9223372036854775808", "0", "1", "4294967295"];
        let one_in = [2, 10, 100][below(3)];
        let mut text = String::new();
        for line in lines {
            for part in line.split_inclusive([',', ':', '}', ']']) {
                let digits = part.trim_end_matches([',', '}', ']']);
                let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
                if is_number && below(one_in) == 0 {
                    text.push_str(numbers[below(numbers.len())]);
                    text.push_str(&part[digits.len()..]);
                } else {
                    text.push_str(part);
                }
            }
            text.push('\n');
        }
        if below(4) == 0 { text.replace("02:00", "\\u001b[1m\\u0007") } else { text }
    }

    #[test]
    fn streams_with_extreme_counts_are_printed_or_rejected() {
        let lines = cell();
        let (mut whole, mut records) = (0, 0);
        for seed in 0..300 {
            let read = script(exchanged(&lines, seed).as_bytes());
            whole += u32::from(read + 1 == lines.len());
            records += read;
        }
        assert!(whole > 20, "only {whole} of 300 were read to their end");
        println!("seen: {records} records of 300 streams, {whole} of them to their end");
    }
}

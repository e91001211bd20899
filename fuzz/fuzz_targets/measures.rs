//! Any octets as a stream of measures: it is read to its end or to an error, and each record is written so that it reads
//! the same.
#![no_main]

use records::{Reader, Record};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let Ok((mut reader, _)) = Reader::open(octets) else { return };
    while let Ok(Some(record)) = reader.next_record() {
        let written = serde_json::to_string(&record).expect("a record has only what JSON can hold");
        let again = serde_json::from_str::<Record>(&written);
        assert_eq!(again.ok().as_ref(), Some(&record), "{written}");
    }
});

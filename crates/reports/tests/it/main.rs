//! Files of other tools: the corpora of their fuzzers, and such files with pieces exchanged.

mod tool_entry;

use stats::rng::Stream;
use std::fs;
use std::path::Path;

/// Two intervals of TCP behind an omitted one, as iperf 3.12 writes them.
const TCP: &str = r#"{
	"start": {
		"version": "iperf 3.12",
		"test_start": { "protocol": "TCP", "num_streams": 1, "omit": 1 }
	},
	"intervals": [
		{ "streams": [], "sum": { "bits_per_second": 9e9, "omitted": true, "sender": true } },
		{ "streams": [], "sum": { "bits_per_second": 4e6, "omitted": false, "sender": true } },
		{ "streams": [], "sum": { "bits_per_second": 6e6, "omitted": false, "sender": true } }
	],
	"end": {
		"streams": [{ "sender": { "mean_rtt": 270 }, "receiver": {} }],
		"sum_sent": { "bits_per_second": 5e6 },
		"sum_received": { "bits_per_second": 4.9e6 }
	}
}
"#;

/// An interval of UDP, likewise.
const UDP: &str = r#"{
	"start": {
		"version": "iperf 3.12",
		"test_start": { "protocol": "UDP", "num_streams": 2 }
	},
	"intervals": [
		{ "sum": { "bits_per_second": 2e6, "packets": 8, "omitted": false, "sender": false } }
	],
	"end": {
		"streams": [{ "udp": { "jitter_ms": 0.5 } }],
		"sum": { "bits_per_second": 2e6, "jitter_ms": 0.25, "lost_packets": 1, "packets": 8 },
		"sum_received": { "bits_per_second": 1.75e6 }
	}
}
"#;

const FAILED: &str = "{\"start\":{},\"intervals\":[],\"end\":{},\"error\":\"unable to connect\"}\n";

/// Two replies, in the layout of sockperf 3.10.
const LOG: &str = "[Valid Duration] RunTime=0.550 sec; SentMessages=3; ReceivedMessages=2\n\
    # dropped messages = 1; # duplicated messages = 0; # out-of-order messages = 0\n\
    ------------------------------\n\
    packet, txTime(sec), rxTime(sec), latency(usec)\n\
    0, 86400.000001000, 86400.000021000, 10.000\n\
    1, 86400.100000000, 86400.100030000, 15.000\n\
    ------------------------------\n";

/// Distribution as wrk2 writes it.
const WRK2: &str = "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n\
    \x20      1.500     0.000000            3         1.00\n\
    \x20     20.000     0.800000            4         5.00\n\
    \x20     20.000     1.000000            4          inf\n\
    #[Mean    =        6.125, StdDeviation   =        8.010]\n";

/// As this program writes it.
const OWN: &str = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n\
    \x20      3.000 0.000000000000          2           1.00\n\
    \x20      9.001 1.000000000000          4\n\
    # values in microseconds\n";

/// Fuzz target with its seeds.
struct Target {
    name: &'static str,
    entry: fn(&[u8]) -> bool,
    seeds: [(&'static str, String); 3],
}

fn targets() -> [Target; 3] {
    let large = WRK2.replace(" 4 ", " 18446744073709551615 ");
    let two_servers = format!("{LOG}{}", LOG.replace(", latency(usec)", ""));
    [
        Target {
            name: "iperf3",
            entry: tool_entry::iperf3,
            seeds: [("tcp", TCP.into()), ("udp", UDP.into()), ("failed", FAILED.into())],
        },
        Target {
            name: "sockperf",
            entry: tool_entry::sockperf,
            seeds: [("log", LOG.into()), ("two-servers", two_servers), ("cut", LOG[..300].into())],
        },
        Target {
            name: "hgrm",
            entry: tool_entry::hgrm,
            seeds: [("wrk2", WRK2.into()), ("own", OWN.into()), ("large", large)],
        },
    ]
}

#[test]
fn corpora_begin_with_the_seeds_and_pass_checks() {
    for Target { name: target, entry, seeds } in targets() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"));
        let folder = folder.join(target);
        for (name, text) in seeds {
            let path = folder.join(name);
            if std::env::var_os("BLESS").is_some() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, &text).unwrap();
            }
            let found = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(found, text, "{} is not what this test makes", path.display());
        }
        let files = fs::read_dir(folder).unwrap();
        let read = files.map(|file| entry(&fs::read(file.unwrap().path()).unwrap()));
        assert!(read.filter(|is_read| *is_read).count() >= 2, "{target}");
    }
}

#[test]
fn files_with_pieces_exchanged_are_read_or_refused() {
    let mut random = Stream::named(7, "pieces");
    for Target { name: target, entry, seeds } in targets() {
        let mut below = |n: usize| random.below(n as u64) as usize;
        let mut counts = [0, 0];
        for _ in 0..3_000 {
            let mut octets = seeds[below(seeds.len())].1.clone().into_bytes();
            for _ in 0..below(3) {
                let (at, from) = (below(octets.len()), below(octets.len()));
                let n = below(8).min(octets.len() - at.max(from));
                let piece = octets[from..from + n].to_vec();
                octets.splice(at..at + n, piece);
            }
            counts[usize::from(entry(&octets))] += 1;
        }
        let [refused, read] = counts;
        assert!(read > 100 && refused > 100, "{target}: {read} read, {refused} refused");
    }
}

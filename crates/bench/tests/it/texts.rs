//! Corpora of the fuzzers of scenarios and of profiles, and texts of both with pieces exchanged.

use crate::QUIET;
use crate::entry::scenario;
use crate::profile_entry::profile;
use bench::profile::ALL;
use bench::scenario::load;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the corpus folder of a fuzzer.
fn folder(target: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(target)
}

/// Compares a corpus with its seeds, and passes every file of it to `entry`; returns the number
/// accepted.
fn accepted(
    target: &str,
    seeds: impl IntoIterator<Item = (String, Vec<u8>)>,
    entry: fn(&[u8]) -> bool,
) -> usize {
    let folder = folder(target);
    for (name, octets) in seeds {
        let path = folder.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &octets).unwrap();
        }
        let found = fs::read(&path).unwrap_or_default();
        assert_eq!(found, octets, "{} is not what this test makes", path.display());
    }
    let files = fs::read_dir(folder).unwrap();
    let read = files.map(|file| entry(&fs::read(file.unwrap().path()).unwrap()));
    read.filter(|is_accepted| *is_accepted).count()
}

/// Returns a scenario for each medium, small enough for a fuzzer, some with settings from outside.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let media = [
        ("ideal", "rate = \"10 Mbit/s\", delay = \"5 us\""),
        ("csma-cd", "rate = \"10 Mbit/s\", length = \"500 m\""),
        ("token-ring", "rate = \"4 Mbit/s\", length = \"1 km\""),
        ("token-bus", "rate = \"10 Mbit/s\", length = \"100 m\""),
        ("t1s", "length = \"25 m\""),
        ("switched", "rate = \"100 Mbit/s\""),
    ];
    let quiet = |medium: &str| {
        crate::QUIET.replace("kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\"", medium)
    };
    let media = media.map(|(kind, keys)| {
        (kind.to_owned(), quiet(&format!("kind = \"{kind}\", {keys}")).into_bytes())
    });
    let varied = format!("{}\n[vary]\n\"flow.status.size\" = [\"64 B\", \"1 kB\"]\n", crate::QUIET);
    let faulty = format!("{}\n[faults]\nloss = \"1 %\"\nduplicate = \"0.1 %\"\n", crate::QUIET);
    let outside = format!("{}\0flow.status.period=1 ms,2 ms\0seed=7", crate::QUIET);
    let required = "version = 1\0miss(status) < 0.1 %".to_owned();
    let jitter = format!(
        "{}\n[[flow]]\nname = \"mu\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"sampled-values\"\n\
         appid = 0x4000\njitter = [\"0 % -9 us\", \"50 % 0 ns\", \"99.9 % 4 us\", \"100 % 20 us\"]\n\
         pattern = {{ kind = \"cyclic\", period = \"250 us\" }}\n\
         [[flow]]\nname = \"trip\"\nfrom = \"s-2\"\nto = \"s-1\"\nservice = \"goose\"\nappid = 1\nsize = \"90 B\"\n\
         curve = [\"4 ms\", \"9 ms\"]\nchanges = [\"1 ms\", \"3 ms\"]\n\
         pattern = {{ kind = \"retransmission\", min-time = \"4 ms\", max-time = \"1 s\" }}\n",
        quiet("kind = \"switched\", rate = \"100 Mbit/s\", length = \"100 m\"")
    );
    let constraint = format!(
        "constraint = \"flow.status.size <= 512 B and flow.status.deadline > 1 ms\"\n{varied}\
         \"flow.status.deadline\" = [\"1 ms\", \"2 ms\"]\n"
    );
    let extends = "extends = \"status-csma\"\nmedium = { length = \"100 m\" }\n\
                   [[flow]]\nname = \"status\"\nsize = \"99 B\"\n"
        .to_owned();
    let others = [
        ("jitter", jitter),
        ("constraint", constraint),
        ("extends", extends),
        ("varied", varied),
        ("faulty", faulty),
        ("set-from-outside", outside),
        ("required", required),
        ("no-toml", "version = [1\n[[flow".to_owned()),
    ];
    media.into_iter().chain(others.map(|(n, t)| (n.to_owned(), t.into_bytes()))).collect()
}

#[test]
fn corpora_begin_with_the_seeds_and_every_file_passes_checks() {
    let scenarios = accepted("scenario", seeds(), scenario);
    assert!(scenarios >= 10, "only {scenarios} of the corpus are scenarios");
    let built_in = ALL.iter().map(|it| (it.name.to_owned(), it.text.as_bytes().to_vec()));
    let refused = [("no-toml".to_owned(), b"version = [1\n".to_vec())];
    let profiles = accepted("profile", built_in.chain(refused), profile);
    assert!(profiles >= ALL.len(), "only {profiles} of the corpus are profiles");
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    /// Mutates one of some texts: removes or moves lines, takes lines from another text, and
    /// replaces values.
    fn exchanged(&mut self, texts: &[&str], values: &[&str]) -> String {
        let mut lines: Vec<String> =
            texts[self.below(texts.len())].lines().map(str::to_owned).collect();
        for _ in 0..=self.below(3) {
            let place = self.below(lines.len());
            match self.below(4) {
                0 => drop(lines.remove(place)),
                1 => lines.swap(place, 0),
                2 => {
                    let other: Vec<&str> = texts[self.below(texts.len())].lines().collect();
                    lines.insert(place, other[self.below(other.len())].to_owned());
                }
                _ => {
                    if let Some((key, _)) = lines[place].split_once('=') {
                        lines[place] = format!("{key}= {}", values[self.below(values.len())]);
                    }
                }
            }
        }
        lines.join("\n")
    }
}

#[test]
fn mutated_scenarios_are_rejected_or_read_back_unchanged() {
    let mut chance = Chance(0);
    let texts: Vec<&str> = bench::scenarios::ALL.iter().map(|built_in| built_in.text).collect();
    let values =
        ["0", "-1", "1e308", "\"0 s\"", "\"1 ns\"", "\"1 GB\"", "true", "[]", "{}", "\"\""];
    let accepted = (0..600).filter(|_| scenario(chance.exchanged(&texts, &values).as_bytes()));
    let accepted = accepted.count();
    assert!(accepted > 20, "only {accepted} of 600 are scenarios");
    println!("seen: {accepted} of 600 scenarios with pieces exchanged are scenarios still");
}

#[test]
fn profiles_with_pieces_exchanged_are_refused_or_make_a_machine() {
    let mut chance = Chance(0);
    let texts: Vec<&str> = ALL.iter().map(|built_in| built_in.text).collect();
    let values = ["0", "-1", "1e308", "0.001", "nan", "\"cpu\"", "true", "[]", "{}", "\"\""];
    let mut accepted = 0;
    for _ in 0..2_000 {
        accepted += u32::from(profile(chance.exchanged(&texts, &values).as_bytes()));
    }
    assert!(accepted > 50, "only {accepted} of 2,000 are profiles");
    println!("seen: {accepted} of 2,000 profiles with pieces exchanged are profiles still");
}

/// Each of these would allocate gigabytes, or merge flows, before anything runs.
#[test]
fn counts_without_bounds_are_refused_where_they_stand() {
    let refused = |from: &str, to: &str| load(&QUIET.replace(from, to), "a.toml").unwrap_err();
    let version = "version = 1\n";
    let text = refused(version, "version = 1\nreplications = 1000000000\n").to_string();
    assert!(text.contains("more than 1000000 runs of a point"), "{text}");
    assert!(text.contains("a.toml:2:"), "{text}");
    // 10,000 points of 1,001 runs each.
    let vary = "version = 1\nreplications = 1001\n";
    let axis = "deadline = \"1 ms\"\n[vary]\n\"flow.status.size\" = ";
    let values: Vec<String> = (0..10_000).map(|n| format!("\"{} B\"", 20 + n % 1_000)).collect();
    let text = QUIET.replace(version, vary);
    let text = text.replace("deadline = \"1 ms\"\n", &format!("{axis}[{}]\n", values.join(",")));
    let error = load(&text, "a.toml").unwrap_err().to_string();
    assert!(error.contains("10000 points take 10010000 runs, more than 10000000"), "{error}");
    let flow = &QUIET[QUIET.find("[[flow]]").unwrap()..];
    let flows: String =
        (0..65_537).map(|n| flow.replace("\"status\"", &format!("\"status-{n}\""))).collect();
    let text = format!("{}{flows}", &QUIET[..QUIET.find("[[flow]]").unwrap()]);
    let error = load(&text, "a.toml").unwrap_err().to_string();
    assert!(error.contains("65537 flows are more than 65536"), "{error}");
}

use super::*;
use crate::medium::{CsmaCd, ProNet10, TokenRing};
use crate::scenario::mms::MmsCall;
use crate::scenario::published::Published;
use crate::scenario::{Flow, Medium, Pattern, Service, Share, Size, Span, schema, to_toml};
use crate::scenarios;
use core::time::Duration;

const BASE: &str = r#"version = 1
title = "test"
stop = { after = "10 s" }
medium = { kind = "csma-cd", rate = "10 Mbit/s", length = "500 m" }
stations = { count = 2, prefix = "s" }

[[flow]]
name = "status"
from = "s-1"
to = "s-2"
service = "class-4"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
"#;

/// Compares the complaints about the base with one text in it replaced.
#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    assert_eq!(BASE.matches(from).count(), 1, "{from}");
    let error = load(&BASE.replace(from, to), "my.toml").unwrap_err().to_string();
    assert_eq!(error, expected.trim_matches('\n'), "\n{error}\n");
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest_known_key() {
    check(
        "period = ",
        "perod = ",
        r#"
error: unknown key `perod`
  --> my.toml:12:30
   |
12 | pattern = { kind = "cyclic", perod = "20 ms" }
   |                              ^^^^^ expected one of `kind`, `period`
   |
   = help: did you mean `period`?
"#,
    );
}

#[test]
fn a_wrong_quantity_gives_the_expected_form() {
    check(
        "\"20 ms\"",
        "\"20\"",
        r#"
error: expected a span of time such as "20 ms"
  --> my.toml:12:39
   |
12 | pattern = { kind = "cyclic", period = "20" }
   |                                       ^^^^
   |
   = the unit is missing (ns, us, µs, ms, s, min, h)
"#,
    );
    check(
        "\"200 B\"",
        "200",
        r#"
error: expected a size in octets such as "200 B"
  --> my.toml:13:8
   |
13 | size = 200
   |        ^^^ the unit is missing (B, kB, KiB, MB, MiB)
"#,
    );
}

#[test]
fn unknown_words_and_stations_are_shown_with_the_nearest_known() {
    check(
        "class-4",
        "class4",
        r#"
error: unknown service "class4"
  --> my.toml:11:11
   |
11 | service = "class4"
   |           ^^^^^^^^
   |
   = expected one of "class-4", "case", "mms", "file", "datagram", "message",
     "goose", "sampled-values", "cyclic"
   = help: did you mean "class-4"?
"#,
    );
    check(
        "to = \"s-2\"",
        "to = \"s-3\"",
        r#"
error: unknown station "s-3"
  --> my.toml:10:6
   |
10 | to = "s-3"
   |      ^^^^^ the stations are "s-1", "s-2"
   |
   = help: did you mean "s-1"?
"#,
    );
}

#[test]
fn several_problems_are_found_at_once() {
    check(
        "size = \"200 B\"",
        "size = \"15 B\"\ndeadline = \"0 s\"\nmessages = 0\nstart = \"10 s\"",
        r#"
error: a message has at least 16 B
  --> my.toml:13:8
   |
13 | size = "15 B"
   |        ^^^^^^
   |
   = help: each begins with a stamp that identifies it

error: `deadline` must be more than zero
  --> my.toml:14:12
   |
14 | deadline = "0 s"
   |            ^^^^^

error: `messages` must be more than zero
  --> my.toml:15:12
   |
15 | messages = 0
   |            ^

error: the run ends after 10 s
  --> my.toml:16:9
   |
16 | start = "10 s"
   |         ^^^^^^
"#,
    );
}

#[test]
fn no_stations_at_all_are_complained_of() {
    check(
        "stations = { count = 2, prefix = \"s\" }",
        "stations = { count = 0 }",
        r#"
error: there are no stations
 --> my.toml:5:22
  |
5 | stations = { count = 0 }
  |                      ^
  |
  = help: add [[station]] tables, or [stations] with a count
"#,
    );
}

#[test]
fn a_bus_longer_than_its_slot_is_refused() {
    // 2 x 6 km at 2.31 x 10^8 m/s take 51,948 ns, a slot of 512 bits 51,200 ns.
    check(
        "500 m",
        "6 km",
        r#"
error: the bus is too long: a round trip takes 51948 ns, a slot 51200 ns
 --> my.toml:4:59
  |
4 | medium = { kind = "csma-cd", rate = "10 Mbit/s", length = "6 km" }
  |                                                           ^^^^^^
"#,
    );
}

#[test]
fn rings_have_limits_of_their_own() {
    let csma = "kind = \"csma-cd\", rate = \"10 Mbit/s\", length = \"500 m\"";
    let pronet = "kind = \"pronet-10\", length = \"500 m\"";
    let text = |medium: &str| BASE.replace(csma, medium);
    let study = load(&text("kind = \"token-ring\", rate = \"5 Mbit/s\", length = \"1 m\""), "a");
    let warnings: Vec<String> = study.unwrap().warnings.into_iter().map(|w| w.message).collect();
    assert_eq!(warnings, ["IEEE 802.5 has no ring of 5 Mbit/s"]);
    let complaints = |text: &str| -> Vec<String> {
        load(text, "a").unwrap_err().problems.into_iter().map(|p| p.message).collect()
    };
    // 256 stations do not fit into the addresses of ProNET-10, and it has one rate.
    let many = text(pronet).replace("count = 2", "count = 256");
    assert_eq!(complaints(&many), ["the ring has addresses for 255 stations only"]);
    let rate = text(&format!("{pronet}, rate = \"10 Mbit/s\""));
    assert_eq!(complaints(&rate), ["unknown key `rate`"]);
    // At 1 Mbit/s THT, 10 ms, is 1,250 octets: 1,229 of data, 1,226 without the LLC header.
    let slow = text("kind = \"token-ring\", rate = \"1 Mbit/s\", length = \"1 m\"");
    let slow = slow.replace("class-4", "datagram").replace("200 B", "1227 B");
    let expected = [
        "a TPDU of 2048 B does not fit into a frame of the LAN",
        "IEEE 802.5 has no ring of 1 Mbit/s",
        "a message of this service has at most 1226 B",
    ];
    let slow = format!("transport = {{ tpdu = \"2048 B\" }}\n{slow}");
    assert_eq!(complaints(&slow), expected);
    let named = "station = [{ name = \"s-3\", position = \"501 m\" }]";
    let away = text(pronet).replace("stations = ", &format!("{named}\nstations = "));
    assert_eq!(complaints(&away), ["the ring is only 500 m long"]);
}

#[test]
fn an_error_of_the_toml_reader_is_shown_too() {
    check(
        "title = \"test\"",
        "title = test",
        r#"
error: invalid boolean, expected `true`
 --> my.toml:2:9
  |
2 | title = test
  |         ^^^^
  |
  = help: text is written in quotes
"#,
    );
}

#[test]
fn another_version_and_missing_keys_are_named() {
    let error = load("version = 2\n", "my.toml").unwrap_err();
    let messages: Vec<&str> = error.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "missing key `title`",
            "missing key `stop`",
            "missing key `medium`",
            "version 2 is not known"
        ]
    );
}

#[test]
fn too_much_load_is_a_warning() {
    // 221-octet frames every 0.1 ms are 17.68 Mbit/s, at least.
    let study = load(&BASE.replace("20 ms", "0.1 ms"), "my.toml").unwrap();
    let [warning] = study.warnings.as_slice() else { panic!("{:?}", study.warnings) };
    assert_eq!(warning.message, "the load is 177 % of what the medium carries");
    assert_eq!(warning.severity, Severity::Warning);
}

#[test]
fn messages_that_will_never_be_due_are_a_warning() {
    // From 0.1 s every 20 ms up to 10 s: due at 0.1, 0.12, ..., 9.98 s, which is 495 times.
    let warnings = |messages: u64, start: &str| {
        let text = format!("{BASE}messages = {messages}\nstart = \"{start}\"\n");
        load(&text, "my.toml").unwrap().warnings
    };
    let [warning] = &warnings(500, "100 ms")[..] else { panic!("no warning") };
    assert_eq!(warning.message, "only 495 of 500 messages are due before 10 s");
    assert_eq!(warnings(495, "100 ms"), []);
    assert_eq!(warnings(500, "0 s"), []);
}

#[test]
fn points_vary_the_last_path_fastest() {
    let text = format!(
        "{BASE}\n[background]\nload = \"0 %\"\nstations = 10\nsize = \"200 B\"\n\
         [vary]\n\"flow.status.size\" = [\"64 B\", \"200B\"]\n\
         \"background.load\" = {{ from = \"0 %\", to = \"5 %\", step = \"2.5 %\" }}\n"
    );
    let study = load(&text, "my.toml").unwrap();
    let found: Vec<(String, u64, u64)> = study
        .points
        .iter()
        .map(|point| {
            let settings: Vec<&str> = point.settings.values().map(String::as_str).collect();
            let background = point.scenario.background.as_ref().unwrap();
            (settings.join(", "), background.load.0, point.scenario.flows[0].size.0)
        })
        .collect();
    let percent = 10_000_000;
    let expected = [
        ("0 %, 64 B", 0, 64),
        ("0 %, 200 B", 0, 200),
        ("2.5 %, 64 B", 25, 64),
        ("2.5 %, 200 B", 25, 200),
        ("5 %, 64 B", 50, 64),
        ("5 %, 200 B", 50, 200),
    ]
    .map(|(settings, tenths, size)| (settings.to_owned(), tenths * percent / 10, size));
    assert_eq!(found, expected);
    assert_eq!(
        study.points.iter().map(|point| point.index).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
}

#[test]
fn varying_values_are_kept_once_for_any_number_of_points() {
    // With each of 10,000 points it was 3.2 GB.
    let text = format!("{BASE}[vary]\nseed = {{ from = 1, to = 10_000, step = 1 }}\n");
    let study = load(&text, "my.toml").unwrap();
    let (first, last) = (&study.points[0].scenario, &study.points[9_999].scenario);
    assert_eq!((study.points.len(), last.seed), (10_000, 10_000));
    assert_eq!(first.vary["seed"].len(), 10_000);
    assert!(study.points.iter().all(|point| Arc::ptr_eq(&point.scenario.vary, &first.vary)));
}

#[test]
fn no_more_points_are_read_than_are_wanted() {
    let text = format!("{BASE}[vary]\nseed = [1, 2, 3]\nreplications = [1, 2]\n");
    let within = |most| load_within(&text, "my.toml", &[], most);
    assert_eq!(within(6).unwrap().points.len(), 6);
    assert_eq!(within(5).unwrap_err().problems[0].message, "more than 5 points");
    let text = format!("{BASE}[vary]\nseed = {{ from = 1, to = 3, step = 1 }}\n");
    let within = |most| load_within(&text, "my.toml", &[], most);
    assert_eq!(within(3).unwrap().points.len(), 3);
    assert_eq!(within(2).unwrap_err().problems[0].message, "more than 2 steps");
}

#[test]
fn a_wrong_value_among_those_that_vary_is_shown_where_it_stands() {
    let text = format!("{BASE}\n[vary]\n\"medium.length\" = [\"100 m\", \"9 km\"]\n");
    let error = load(&text, "my.toml").unwrap_err().to_string();
    let expected = "error: the bus is too long: a round trip takes 77922 ns, a slot 51200 ns
  --> my.toml:16:29
   |
16 | \"medium.length\" = [\"100 m\", \"9 km\"]
   |                             ^^^^^^";
    assert_eq!(error, expected, "\n{error}\n");
}

#[test]
fn a_path_that_leads_nowhere_is_an_error() {
    let with = |path: &str| {
        let text = format!("{BASE}\n[vary]\n\"{path}\" = [\"1 s\"]\n");
        load(&text, "my.toml").unwrap_err().problems.remove(0).message
    };
    assert_eq!(with("medium.lenght"), "unknown key `lenght`");
    assert_eq!(with("flow.state.size"), "nothing in the list has the name \"state\"");
    assert_eq!(with("seed.more"), "expected a whole number, found a table");
    assert_eq!(with("title.more"), "\"more\" is no key: what stands before it is no table");
    assert_eq!(with("a..b"), "\"a..b\" is no path of keys with dots between");
}

#[test]
fn a_path_addresses_list_elements_by_number_and_quoted_names() {
    let named = BASE.replace("name = \"status\"", "name = \"status 1.5\"");
    let load = |path: &str| {
        load(&format!("{named}\n[vary]\n'{path}' = [\"64 B\", \"100 B\"]\n"), "my.toml")
    };
    for path in ["flow.\"status 1.5\".size", "flow[0].size", "\"flow\"[0].\"size\""] {
        let study = load(path).unwrap_or_else(|error| panic!("{error}"));
        let sizes: Vec<u64> =
            study.points.iter().map(|point| point.scenario.flows[0].size.0).collect();
        assert_eq!(sizes, [64, 100], "{path}");
        assert_eq!(study.points[1].settings[path], "100 B");
    }
    let refused = |path: &str| load(path).unwrap_err().to_string();
    let beyond = refused("flow[1].size");
    assert!(beyond.contains("no element 1 in a list of 1"), "{beyond}");
    assert!(beyond.contains("counted from 0 to 0") && beyond.contains("my.toml:16:1"), "{beyond}");
    let near = refused("flow.\"status 1\".size");
    assert!(near.contains("did you mean \"status 1.5\"?"), "{near}");
    let key = refused("flow[0].pattern.perod");
    assert!(key.contains("unknown key `perod`") && key.contains("`period`"), "{key}");
    assert!(refused("medium[0].rate").contains("stands behind what is no list"));
}

#[test]
fn a_range_is_exact_and_needs_one_unit() {
    let with = |range: &str| {
        load(&format!("{BASE}\n[vary]\n\"flow.status.deadline\" = {range}\n"), "my.toml")
    };
    let study = with("{ from = \"0.1 ms\", to = \"0.5 ms\", step = \"0.1 ms\" }").unwrap();
    let nanos: Vec<u128> = study
        .points
        .iter()
        .map(|point| point.scenario.flows[0].deadline.unwrap().0.as_nanos())
        .collect();
    assert_eq!(nanos, [100_000, 200_000, 300_000, 400_000, 500_000]);
    let message = |range| with(range).unwrap_err().problems.remove(0).message;
    assert_eq!(
        message("{ from = \"1 ms\", to = \"1 s\", step = \"1 ms\" }"),
        "the end is not in \"ms\" as `from` is"
    );
    assert_eq!(
        message("{ from = \"1 ms\", to = \"2 ms\", step = \"0 ms\" }"),
        "a range climbs from `from` to `to`"
    );
    assert_eq!(
        message("{ from = \"1 ns\", to = \"1000000 ns\", step = \"1 ns\" }"),
        "more than 10000 steps"
    );
    assert_eq!(message("[]"), "there is no value to take");
    assert_eq!(message("\"1 ms\""), "expected a list of values or a range");
}

#[test]
fn settings_from_outside_replace_those_of_the_file() {
    let set = |path: &str, values| Setting { path: path.to_owned(), values };
    let list = |values: &[&str]| Values::List(values.iter().map(|v| (*v).to_owned()).collect());
    let [from, to, step] = ["1", "15", "7"].map(str::to_owned);
    let settings = [
        set("transport.window", Values::Range { from, to, step }),
        set("transport.checksum", list(&["false"])),
    ];
    let text = format!("{BASE}\n[vary]\n\"transport.window\" = [2, 3]\n");
    let study = load_with(&text, "my.toml", &settings).unwrap();
    let windows: Vec<u64> = study.points.iter().map(|p| p.scenario.transport.window).collect();
    assert_eq!(windows, [1, 8, 15]);
    assert!(study.points.iter().all(|point| !point.scenario.transport.checksum));
    let error = load_with(BASE, "my.toml", &[set("stop.after", list(&["1 s", "x"]))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: expected a span of time such as \"20 ms\"
 --> command line:1:19
  |
1 | stop.after = 1 s, x
  |                   ^"
    );
}

#[test]
fn a_value_that_varies_may_hold_tables() {
    let bus = "kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"100 m\"";
    let classes = "{ class-4 = \"4 ms\", class-2 = \"3 ms\", class-0 = \"2 ms\" }";
    let text =
        format!("{BASE}\n[vary]\nmedium = [{{ {bus} }}, {{ {bus}, classes = {classes} }}]\n");
    let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
    let media: Vec<&str> = study.points.iter().map(|it| it.settings["medium"].as_str()).collect();
    assert_eq!(
        media,
        [
            "token-bus (length 100 m, rate 10 Mbit/s)",
            "token-bus (classes (class-0 2 ms, class-2 3 ms, class-4 4 ms), length 100 m, \
             rate 10 Mbit/s)",
        ]
    );
    let text = format!("{BASE}\n[vary]\n\"flow.status\" = [[1, 2]]\n");
    assert!(load(&text, "a.toml").unwrap_err().to_string().contains("and tables of them"));
}

#[test]
fn the_effective_scenario_loads_to_the_same() {
    for built_in in scenarios::ALL {
        let study = load(built_in.text, "a.toml").unwrap();
        let written = to_toml(study.scenario());
        let again = load(&written, "b.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.points, study.points, "{written}");
        assert_eq!(to_toml(again.scenario()), written);
    }
}

#[test]
fn defaults_are_those_of_the_documents() {
    let scenario = load(BASE, "my.toml").unwrap().scenario().clone();
    assert_eq!((scenario.seed, scenario.replications), (1, 10));
    assert_eq!(scenario.transport.params(), stack::tp4::Params::lan());
    assert_eq!(
        scenario.flows,
        [Flow {
            name: "status".to_owned(),
            group: None,
            jitter: Vec::new(),
            stagger: None,
            from: "s-1".to_owned(),
            to: "s-2".to_owned(),
            services: crate::scenario::Services::One(Service::Class4),
            service: Service::Class4,
            pattern: Pattern::Cyclic { period: Span(Duration::from_millis(20)) },
            size: Size(200),
            messages: None,
            deadline: None,
            start: super::super::Start::Random,
            priority: None,
            eot: None,
            mms: MmsCall::default(),
            stream: Published::default(),
            file: crate::scenario::FileTransfer::default(),
            title: None,
            acknowledged: None,
            crc: None,
            retries: None,
            timeout: None,
        }]
    );
}

#[test]
fn background_load_counts_frame_octets() {
    // 218-octet frames of 10 stations at 50 % of 10 Mbit/s: 10 x 1,744 / 5,000,000 s = 3.488 ms.
    let background =
        crate::scenario::Background { load: Share(500_000_000), stations: 10, size: Size(200) };
    let (rate, length) = ("10 Mbit/s".parse().unwrap(), "500 m".parse().unwrap());
    let bus = Medium::CsmaCd(CsmaCd { rate, length });
    assert_eq!(bus.frame_bits(200), 218 * 8);
    assert_eq!(bus.frame_bits(20), 64 * 8, "a short frame is padded");
    assert_eq!(background.mean_interval(&bus), Some(Duration::from_micros(3_488)));
    // 802.5 has 21 octets around the data, ProNET-10 has 37 bits, and neither pads.
    let ring = Medium::TokenRing(TokenRing { rate, length, early_release: false });
    assert_eq!((ring.frame_bits(200), ring.frame_bits(0)), (221 * 8, 168));
    assert_eq!(background.mean_interval(&ring), Some(Duration::from_micros(3_536)));
    let ring = Medium::ProNet10(ProNet10 { length });
    assert_eq!((ring.frame_bits(200), ring.frame_bits(0)), (1_637, 37));
    assert_eq!(background.mean_interval(&ring), Some(Duration::from_micros(3_274)));
    let idle = crate::scenario::Background { load: Share(0), ..background };
    assert_eq!(idle.mean_interval(&bus), None);
}

/// Every key of the schema, by path; lists and choices are looked through.
fn keys(schema: &serde_json::Value, root: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema.get("$ref").and_then(|r| r.as_str()) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        keys(target, root, path, found);
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        let choices = schema.get(choice).and_then(|c| c.as_array());
        choices.into_iter().flatten().for_each(|choice| keys(choice, root, path, found));
    }
    if let Some(items) = schema.get("items") {
        keys(items, root, path, found);
    }
    let properties = schema.get("properties").and_then(|p| p.as_object());
    for (key, value) in properties.into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        keys(value, root, &path, found);
        found.push(path);
    }
}

#[test]
fn the_schema_knows_the_very_keys_that_are_read() {
    let schema = schema();
    let mut known = Vec::new();
    keys(&schema, &schema, "", &mut known);
    known.sort();
    known.dedup();
    // A complaint about an unknown key lists those that are read.
    let complain = |text: String, path: &str| -> Vec<String> {
        let error = load(&text, "a.toml").unwrap_err();
        let problem =
            error.problems.iter().find(|p| p.message == "unknown key `zzzzzzzz`").unwrap();
        let label = problem.label.clone().unwrap();
        let keys = label.trim_start_matches("expected one of ").split(", ");
        let keys = keys.map(|key| key.trim_matches('`').to_owned());
        keys.map(|key| if path.is_empty() { key } else { format!("{path}.{key}") }).collect()
    };
    let mut read = complain(format!("zzzzzzzz = 1\n{BASE}"), "");
    let tables =
        ["stop", "faults", "faults.burst", "transport", "network", "background", "stations"];
    for table in tables.into_iter().chain(["directory"]) {
        read.extend(complain(format!("[{table}]\nzzzzzzzz = 1\n"), table));
    }
    for table in ["station", "flow"] {
        read.extend(complain(format!("[[{table}]]\nzzzzzzzz = 1\n"), table));
    }
    let media = ["ideal", "csma-cd", "token-ring", "t1s", "switched", "token-bus", "pronet-10"];
    for kind in media {
        read.extend(complain(format!("[medium]\nkind = \"{kind}\"\nzzzzzzzz = 1\n"), "medium"));
    }
    let classes = "[medium]\nkind = \"token-bus\"\nclasses = { zzzzzzzz = 1 }\n";
    read.extend(complain(classes.to_owned(), "medium.classes"));
    let maintenance = "[medium]\nkind = \"token-bus\"\nmaintenance = { zzzzzzzz = 1 }\n";
    read.extend(complain(maintenance.to_owned(), "medium.maintenance"));
    let response = "[medium]\nkind = \"token-bus\"\nrequest-with-response = { zzzzzzzz = 1 }\n";
    read.extend(complain(response.to_owned(), "medium.request-with-response"));
    let requests = ["constant-rate-request", "maximum-rate-request"];
    for kind in ["cyclic", "poisson", "retransmission", "bulk"].into_iter().chain(requests) {
        let text = format!("[[flow]]\npattern = {{ kind = \"{kind}\", zzzzzzzz = 1 }}\n");
        read.extend(complain(text, "flow.pattern"));
    }
    read.sort();
    read.dedup();
    assert_eq!(known, read);
}

#[test]
fn the_schema_requires_no_key_that_has_a_default() {
    let schema = schema();
    let whole = &schema["anyOf"][0];
    let required: Vec<&str> =
        whole["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(required, ["version", "title", "stop", "medium", "flow"]);
    assert_eq!([&whole, &&schema].map(|it| &it["additionalProperties"]), [false, false]);
    // A file that extends another one may leave them out.
    assert_eq!(schema["anyOf"][1]["required"], serde_json::json!(["extends"]));
    assert!(schema.get("required").is_none());
}

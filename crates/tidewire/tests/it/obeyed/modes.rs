//! Modes of the verbs, and the options that each obeys.

use super::Effect::{Changes, Hushes, IsTheMode, Omits, Says, ShownBy, Writes};
use super::listening::{STREAMS, WATCH};
use super::measuring::MEASURE;
use super::{Mode, Obeyed, obeyed, papers};

const PEER: &str = "advise::what_a_peer_decides_is_not_tried_against_it_and_said";

const SHARDS: &str = "shards::shards_together_are_the_octets_of_one_machine";
const SWEEP: &str = "requirements::a_sweep_is_drawn_as_figures_with_tables_and_on_the_terminal";
const BRIDGE: &str = "transit::streams_wait_at_a_slow_bridge_as_long_as_they_must";
pub(super) const KEEP_SIZE: &str = "kept_runs::a_size_holds_for_every_verb_that_keeps_runs";
pub(super) const KEEP: &str = "predict::the_oldest_runs_go_where_their_number_is_limited";

/// Modes that do not end with 0: their command lines, exit codes and what they say.
pub(super) const ENDINGS: [(&str, i32, &str); 14] = [
    ("measure short.toml --to 02:00:00:00:00:07 -i nosuchif0", 1, NO_PORT),
    ("measure --over iso-tcp://127.0.0.1:1 --foreign-peer", 1, "no connection to"),
    ("measure mms --over iso-tcp://127.0.0.1:1 --foreign-peer", 1, "no association with"),
    (
        "calibrate --over iso-tcp://127.0.0.1:1 --foreign-peer --write-profile ied.toml",
        1,
        "no association with",
    ),
    ("reproduce tr-88-04 --live --to 02:00:00:00:00:07 -i nosuchif0", 1, NO_PORT),
    ("serve -i nosuchif0", 1, NO_PORT),
    ("serve --xdp nosuchif0", 1, NO_PORT),
    ("watch -i nosuchif0", 1, NO_PORT),
    ("web nosuchfolder", 2, "is not a folder"),
    ("watch -r cell.pcapng --screen monitor", 2, "needs a terminal"),
    ("capture -i nosuchif0 -w out.pcapng", 1, NO_PORT),
    ("relay nosuchif0 nosuchif1", 1, NO_PORT),
    ("advise short.toml", 4, ""),
    (LIVE_SEARCH, 2, "no class-4 flow sends as fast as it can"),
];
const NO_PORT: &str = "no such interface: \"nosuchif0\"";
const LIVE_SEARCH: &str =
    "advise short.toml --live --objective throughput --udp 127.0.0.1:0 --udp-peer 127.0.0.1:9";

/// Modes of all verbs.
pub(super) const MODES: [&[Mode]; 6] =
    [&PREDICT, &MEASURE, &WATCH, &STREAMS, &papers::REPRODUCE, &OTHERS];

pub(super) const QUIET: Obeyed =
    obeyed("--quiet", "--quiet", ShownBy("obeyed::quiet_leaves_remarks_out"));
pub(super) const JSON: Obeyed = obeyed("--json", "--json", Changes);

const PREDICT: [Mode; 4] = [
    Mode {
        verb: "predict",
        base: "predict short.toml",
        obeyed: &[
            obeyed("--seed", "--seed 7", Changes),
            obeyed("--runs", "--runs 3", Changes),
            obeyed("--output", "--output out", Writes("out")),
            obeyed("--no-save", "--no-save", Omits("runs")),
            obeyed("--print-scenario", "--print-scenario", Says("[[station]]")),
            obeyed("--keep-runs", "", ShownBy(KEEP)),
            obeyed("--keep-size", "", ShownBy(KEEP_SIZE)),
            obeyed("--dry-run", "--dry-run", Says("dry run: no run was made")),
            obeyed("--vary", "--vary flow.*.size=64B,99B", Says("flow.*.size = 99 B")),
            obeyed(
                "--constraint",
                "-P flow.*.size=64B,99B --constraint 'flow.*.size > 64 B'",
                Says("flow.*.size = 99 B, n = 2 runs"),
            ),
            obeyed(
                "--run",
                "",
                ShownBy("predict::one_repetition_alone_has_the_octets_of_the_whole"),
            ),
            obeyed("--capture", "--capture c.pcapng", Writes("c.pcapng")),
            obeyed("--capture-senders", "", ShownBy(BRIDGE)),
            obeyed("--each-message", "--each-message m.csv", Writes("m.csv")),
            obeyed(
                "--timeline",
                "--timeline 1ms..9ms",
                Says("timeline of repetition 0, 1 ms to 9 ms"),
            ),
            obeyed("--figure", "--figure drawn", Writes("drawn")),
            obeyed("--emit", "", ShownBy(SWEEP)),
            obeyed("--plot", "--plot", Says("no key varies")),
            obeyed("--top", "--top 0", Says("the 0 worst of 1")),
            obeyed("--differences", "--differences medium", Says("medium")),
            obeyed("--require", "--require 'miss(status) < 1 %'", Says("miss(status) < 1 %")),
            obeyed(
                "--until-decided",
                "--require 'miss(status) < 1 %' --until-decided --at-most 4",
                Says(" runs of a point"),
            ),
            obeyed("--precision", "--precision '50 %' --at-most 4", Says(" runs of a point")),
            obeyed(
                "--at-most",
                "--require 'miss(status) < 10 %' --until-decided --at-most 4",
                Says("the last at 4 runs"),
            ),
            obeyed("--shard", "--shard 1/2", Says("shard 1/2 is made: 1 of 2 runs")),
            obeyed(
                "--after-runs",
                "",
                ShownBy("shards::rounds_of_growing_runs_do_not_depend_on_the_shards"),
            ),
            obeyed("--print-slurm", "--print-slurm 4", Says("--array=1-4")),
            obeyed("--print-parallel", "--print-parallel 4", Says("seq 4")),
            obeyed("--web", "--web 0.0.0.0:0", Says("other hosts could open it")),
            obeyed("--web-anywhere", "--web 0.0.0.0:0 --web-anywhere", Says("page at http://0")),
            JSON,
            obeyed("--quiet", "--quiet", Hushes("run folder:")),
        ],
    },
    Mode {
        verb: "predict",
        base: "predict --resume kept",
        obeyed: &[
            obeyed("--resume", "", IsTheMode),
            obeyed("--web", "--web 0.0.0.0:0", Says("other hosts could open it")),
            obeyed("--web-anywhere", "--web 0.0.0.0:0 --web-anywhere", Says("page at http://0")),
            JSON,
            obeyed("--quiet", "--quiet", Hushes("run folder:")),
        ],
    },
    Mode {
        verb: "predict",
        base: "predict short.toml --print-scenario",
        obeyed: &[
            obeyed("--print-scenario", "", IsTheMode),
            obeyed("--seed", "--seed 7", Says("seed = 7")),
            obeyed("--runs", "--runs 3", Says("replications = 3")),
            obeyed("--vary", "--vary flow.*.size=64B,99B", Says("99 B")),
            obeyed(
                "--constraint",
                "-L flow.*.size=64B,99B --constraint 'flow.*.size > 64 B'",
                Says("# --constraint"),
            ),
            obeyed("--require", "--require 'miss(status) < 1 %'", Says("miss(status) < 1 %")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "predict layers",
        base: "predict layers --no-save",
        obeyed: &[
            obeyed("--profile", "--profile at-pronet", Changes),
            obeyed("--sizes", "--sizes 64,128", Changes),
            obeyed("--messages", "--messages 2", Changes),
            obeyed("--rounds", "--rounds 2", Changes),
            obeyed("--seed", "--seed 7", Changes),
            obeyed("--figure", "--figure drawn", Writes("drawn/transmit.svg")),
            obeyed("--emit", "--figure drawn --emit vega-lite", Writes("drawn/layers.vl.json")),
            obeyed("--no-save", "", IsTheMode),
            JSON,
            QUIET,
        ],
    },
];

const OTHERS: [Mode; 24] = [
    Mode {
        verb: "serve mms",
        base: "serve mms --over iso-tcp://127.0.0.1:0 --time '100 ms'",
        obeyed: &[
            obeyed("--over", "", IsTheMode),
            obeyed("--time", "", IsTheMode),
            obeyed("--scl", "--scl short.toml", Says("short.toml: ")),
            obeyed("--files", "--files nosuchfolder", Says("nosuchfolder: ")),
            obeyed("--allow-write", "--allow-write LD/A", Says("no such leaf")),
            obeyed("--ied", "", ShownBy("mms::a_model_that_is_no_scl_is_refused_with_its_place")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "demo",
        base: "demo",
        obeyed: &[
            obeyed("--output", "--output out", Writes("out")),
            obeyed("--no-save", "--no-save", Omits("runs")),
            obeyed("--keep-runs", "", ShownBy(KEEP_SIZE)),
            obeyed("--keep-size", "", ShownBy(KEEP_SIZE)),
            obeyed("--json", "", ShownBy("demo")),
            QUIET,
        ],
    },
    Mode {
        verb: "relay",
        base: "relay nosuchif0 nosuchif1",
        obeyed: &[
            obeyed("--fault", "--fault loss=banana", Says("banana")),
            obeyed("--way", "--way sideways", Says("sideways")),
            obeyed("--tpdus", "--fault loss=1% --tpdus xx", Says("no TPDU")),
            obeyed(
                "--seed",
                "",
                ShownBy("relay::the_log_of_a_relay_agrees_with_meters_and_stations"),
            ),
            obeyed("--log", "--fault loss=1% --log a --capture a", Says("--log")),
            obeyed(
                "--capture",
                "",
                ShownBy("relay::a_relay_writes_what_crosses_to_a_capture_in_order"),
            ),
            obeyed(
                "--time",
                "",
                ShownBy("relay::a_relay_writes_what_crosses_to_a_capture_in_order"),
            ),
            obeyed("--json", "--json", Says("\"type\":\"error\"")),
            QUIET,
        ],
    },
    Mode {
        verb: "dissect",
        base: "dissect -r cell.pcapng",
        obeyed: &[
            obeyed("--read", "", IsTheMode),
            obeyed("--count", "--count 5", Changes),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "dissect",
        base: "dissect 0200000000020200000000010009fefe03000463010102",
        obeyed: &[JSON, QUIET],
    },
    Mode {
        verb: "compare",
        base: "compare kept other",
        obeyed: &[obeyed("--top", "--top 0", Says("the 0 clearest")), JSON, QUIET],
    },
    Mode {
        verb: "compare",
        base: "compare kept tail.hgrm --hgrm-unit ms",
        obeyed: &[obeyed("--hgrm-unit", "", IsTheMode), JSON, QUIET],
    },
    Mode {
        verb: "compare",
        base: "compare plant.toml cycles.pcap",
        obeyed: &[
            obeyed("--measure", "--measure 100ms", Changes),
            obeyed("--each-interval", "--each-interval", Changes),
            obeyed("--runs", "--runs 1", Changes),
            obeyed("--top", "--top 0", Says("the tables have 0 of")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "web",
        base: "web nosuchfolder",
        obeyed: &[
            obeyed("--web", "", ShownBy("page::stored_runs_are_listed_reported_and_compared")),
            obeyed(
                "--web-anywhere",
                "",
                ShownBy("page::stored_runs_are_listed_reported_and_compared"),
            ),
            JSON,
            QUIET,
        ],
    },
    Mode { verb: "rerun", base: "rerun kept", obeyed: &[JSON, QUIET] },
    Mode { verb: "completions", base: "completions bash", obeyed: &[JSON, QUIET] },
    Mode { verb: "man", base: "man watch", obeyed: &[JSON, QUIET] },
    Mode {
        verb: "man",
        base: "man",
        obeyed: &[obeyed("--output", "--output pages", Writes("pages")), JSON, QUIET],
    },
    Mode {
        verb: "merge",
        base: "merge kept",
        obeyed: &[
            obeyed("--output", "--output out", Writes("out")),
            obeyed("--no-save", "--no-save", Omits("runs")),
            obeyed("--keep-runs", "", ShownBy(KEEP_SIZE)),
            obeyed("--keep-size", "", ShownBy(KEEP_SIZE)),
            obeyed("--figure", "--figure drawn", Writes("drawn")),
            obeyed("--emit", "", ShownBy(SHARDS)),
            obeyed("--plot", "--plot", Says("no key varies")),
            obeyed("--top", "--top 0", Says("the 0 worst of 1")),
            obeyed("--differences", "--differences nosuch", Says("nosuch")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "report",
        base: "report kept",
        obeyed: &[
            obeyed("--format", "--format md", Writes("kept/report.md")),
            obeyed("--output", "--output r.html", Writes("r.html")),
            obeyed("--hgrm", "--hgrm percentiles", Writes("percentiles")),
            obeyed("--hgrm-unit", "--hgrm-unit ms tail.hgrm --output -", Says("tail.hgrm")),
            obeyed("--tester", "--tester Zora --output -", Says("Zora")),
            obeyed("--tested-at", "--tested-at noon --output -", Says("noon")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "report",
        base: "report kept --output -",
        obeyed: &[
            obeyed("--output", "", IsTheMode),
            obeyed("--format", "--format junit", Says("<testcase")),
            obeyed("--hgrm", "--hgrm percentiles", Writes("percentiles")),
            obeyed("--hgrm-unit", "--hgrm-unit ms tail.hgrm", Says("tail.hgrm")),
            obeyed("--tester", "--tester Zora", Says("Zora")),
            obeyed("--tested-at", "--tested-at noon", Says("noon")),
            QUIET,
        ],
    },
    Mode {
        verb: "advise",
        base: "advise short.toml",
        obeyed: &[
            obeyed("--objective", "--objective misses", Changes),
            obeyed("--point", "--point 9", Says("--point")),
            obeyed("--budget", "--budget 20", Changes),
            obeyed("--runs", "--runs 2", Changes),
            obeyed("--seed", "--seed 7", Changes),
            obeyed("--time", "--time soon", Says("--time")),
            obeyed("--write", "--write short.toml", Says("is not overwritten")),
            obeyed(
                "--live",
                "",
                ShownBy("advise::a_live_search_in_this_process_keeps_to_its_budget"),
            ),
            obeyed("--interface", "--interface nosuchif0", Says("--live")),
            obeyed("--xdp", "--xdp nosuchif0", Says("--live")),
            obeyed("--udp", "--udp 127.0.0.1:0", Says("--live")),
            obeyed("--over", "--over iso-tcp://127.0.0.1:1", Says("--over")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "advise",
        base: LIVE_SEARCH,
        obeyed: &[
            obeyed("--live", "", IsTheMode),
            obeyed("--objective", "", IsTheMode),
            obeyed("--udp", "", IsTheMode),
            obeyed("--udp-peer", "", IsTheMode),
            obeyed(
                "--to",
                "=advise short.toml --live --objective throughput --udp 127.0.0.1:0 \
                 --to 02:00:00:00:00:07 --capture c.pcapng",
                Writes("c.pcapng"),
            ),
            obeyed(
                "--interface",
                "=advise short.toml --live --objective throughput --to 02:00:00:00:00:07 --interface nosuchif0",
                Says("nosuchif0"),
            ),
            obeyed(
                "--xdp",
                "=advise short.toml --live --objective throughput --to 02:00:00:00:00:07 --xdp nosuchif0",
                Says("nosuchif0"),
            ),
            obeyed("--point", "--point 9", Says("--point")),
            obeyed("--budget", "", ShownBy(PEER)),
            obeyed("--runs", "--runs 1", Says("--runs")),
            obeyed("--seed", "--seed soon", Says("--seed")),
            obeyed("--time", "--time soon", Says("--time")),
            obeyed("--write", "--write short.toml", Says("is not overwritten")),
            obeyed("--fault", "--fault loss=banana", Says("banana")),
            obeyed("--capture", "--capture c.pcapng", Writes("c.pcapng")),
            obeyed(
                "--max-frames",
                "",
                ShownBy("obeyed::a_cap_holds_for_the_runs_of_a_live_search"),
            ),
            obeyed("--json", "--json", Says("\"type\":\"error\"")),
            QUIET,
        ],
    },
    Mode { verb: "scenarios list", base: "scenarios list", obeyed: &[JSON, QUIET] },
    Mode { verb: "scenarios import", base: "scenarios import station.scd", obeyed: &[JSON, QUIET] },
    Mode { verb: "schema", base: "schema scenario", obeyed: &[JSON, QUIET] },
    Mode { verb: "profiles list", base: "profiles list", obeyed: &[JSON, QUIET] },
    Mode { verb: "doctor", base: "doctor", obeyed: &[JSON, QUIET] },
    Mode { verb: "selftest", base: "selftest", obeyed: &[JSON, QUIET] },
];

//! Modes of `reproduce`, simulated and measured, and the options that each obeys.

use super::Effect::{Changes, IsTheMode, Says, ShownBy, Writes};
use super::modes::{JSON, KEEP_SIZE, QUIET};
use super::{Mode, obeyed};

/// Tests of measured reproductions, each of which takes minutes.
const ROUNDS: &str = "reproduce::experiments_are_measured_in_rounds_within_this_process";
const ROUNDS_OVER_VETH: &str = "reproduce::the_experiments_of_tr_88_04_run_between_two_namespaces";
const LIVE_PORTS: &str = "reproduce::the_port_of_a_live_reproduction_is_opened";

/// Test of the files of figures.
const FIGURES: &str = "reproduce::figures_have_their_numbers_and_name_the_inputs";
const LIVE_PAGE: &str = "page_of_runs::the_page_of_a_live_reproduction_has_its_trials";

/// Modes of `reproduce`.
pub(super) const REPRODUCE: [Mode; 5] = [
    Mode { verb: "reproduce", base: "reproduce", obeyed: &[JSON, QUIET] },
    Mode {
        verb: "reproduce",
        base: "reproduce tr-88-08 -n 5",
        obeyed: &[
            obeyed("--web", "--web 0.0.0.0:0", Says("other hosts could open it")),
            obeyed("--web-anywhere", "--web 0.0.0.0:0 --web-anywhere", Says("page at http://0")),
            obeyed("--figures", "--figures drawn", Writes("drawn")),
            obeyed("--emit", "", ShownBy(FIGURES)),
            obeyed("--output", "--output runs", Writes("runs")),
            obeyed("--keep-runs", "", ShownBy(KEEP_SIZE)),
            obeyed("--keep-size", "", ShownBy(KEEP_SIZE)),
            obeyed("--format", "--format csv", Changes),
            obeyed("--seed", "--json --seed 7", Says("\"seed\":\"7\"")),
            obeyed("--runs", "=reproduce tr-88-08 --runs 6", Says("n = 6")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "reproduce",
        base: "reproduce nbsir-85-3104 -n 2",
        obeyed: &[
            obeyed("--web", "--web 0.0.0.0:0", Says("other hosts could open it")),
            obeyed("--web-anywhere", "--web 0.0.0.0:0 --web-anywhere", Says("page at http://0")),
            obeyed("--figures", "--figures drawn", Writes("drawn")),
            obeyed(
                "--emit",
                "--figures drawn --emit vega-lite",
                Writes("drawn/nbsir-85-3104-figure-connectivity.vl.json"),
            ),
            obeyed("--output", "--output runs", Writes("runs")),
            obeyed("--format", "--format csv", Changes),
            obeyed("--capture", "--capture c.pcapng", Writes("c.pcapng")),
            obeyed(
                "--capture-at",
                "",
                ShownBy("reproduce::traffic_of_nbsir_85_3104_is_written_at_both_taps"),
            ),
            obeyed("--seed", "--seed 7", Says("seed 7")),
            obeyed("--runs", "=reproduce nbsir-85-3104 --runs 3", Says("n = 3")),
            JSON,
            QUIET,
        ],
    },
    Mode {
        verb: "reproduce",
        base: "reproduce tr-88-04 --live --to 02:00:00:00:00:07 -i nosuchif0",
        obeyed: &[
            obeyed("--live", "", IsTheMode),
            obeyed("--to", "", IsTheMode),
            obeyed("--interface", "", IsTheMode),
            obeyed("--fault", "--fault loss=banana", Says("banana")),
            obeyed("--web", "--web 0.0.0.0:0", Says("other hosts could open it")),
            obeyed("--web-anywhere", "--web-anywhere", Says("--web")),
            obeyed("--volume", "--volume much", Says("--volume")),
            obeyed("--rounds", "", ShownBy(ROUNDS_OVER_VETH)),
            obeyed("--format", "--format csv", Says("--figures FOLDER")),
            obeyed("--figures", "--figures drawn", Writes("drawn")),
            obeyed("--emit", "", ShownBy(ROUNDS)),
            obeyed(
                "--capture",
                "",
                ShownBy("wires::an_interrupted_reproduction_keeps_its_capture"),
            ),
            obeyed(
                "--max-frames",
                "",
                ShownBy("obeyed::a_cap_holds_on_loopback_where_it_is_asked_for"),
            ),
            obeyed("--runs", "", ShownBy(ROUNDS_OVER_VETH)),
            obeyed("--seed", "", ShownBy(ROUNDS)),
            obeyed("--json", "--json", Says("\"type\":\"error\"")),
            QUIET,
        ],
    },
    Mode {
        verb: "reproduce",
        base: "reproduce tr-88-04 --live",
        obeyed: &[
            obeyed("--live", "", ShownBy(ROUNDS)),
            obeyed("--interface", "", ShownBy(LIVE_PORTS)),
            obeyed("--web", "", ShownBy(LIVE_PAGE)),
            obeyed("--web-anywhere", "", ShownBy(LIVE_PAGE)),
            obeyed("--xdp", "", ShownBy(LIVE_PORTS)),
            obeyed("--udp", "", ShownBy(LIVE_PORTS)),
            obeyed("--udp-peer", "", ShownBy(LIVE_PORTS)),
            obeyed("--volume", "", ShownBy(ROUNDS_OVER_VETH)),
            obeyed("--rounds", "", ShownBy(ROUNDS_OVER_VETH)),
            obeyed("--format", "", ShownBy(ROUNDS)),
            obeyed("--figures", "", ShownBy(ROUNDS)),
            obeyed("--emit", "", ShownBy(ROUNDS)),
            obeyed("--runs", "", ShownBy(ROUNDS)),
            obeyed("--seed", "", ShownBy(ROUNDS)),
            obeyed("--json", "", ShownBy(ROUNDS)),
            QUIET,
        ],
    },
];

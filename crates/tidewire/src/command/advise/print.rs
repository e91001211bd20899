//! The advice, its evidence, and what was not decided.

use crate::args::advise::Advise;
use crate::output::Output;
use crate::quantity::{self, level};
use crate::table::{Align, Table};
use bench::advise::{
    Advice, Criterion, Ended, Evidence, Grid, Knob, Objective, Outcome, Setting, Told, Tried,
    Unproved, Verdict,
};
use bench::paragraph::wrapped;
use bench::scenario::{Point, Transport};
use serde_json::{Map, Value, json};
use stats::interval::{self, Estimate, Interval};

/// Text for advice without changes.
const AS_IT_IS: &str = "the advice is the scenario's own settings";

/// Prints it.
pub(super) fn tell(
    advice: &Advice,
    point: &Point,
    options: &Advise,
    output: &Output,
) -> anyhow::Result<()> {
    output.record(&record(advice, point))?;
    output.line(heading(advice, point))?;
    output.line("")?;
    output.line(knobs(advice, &point.scenario.transport))?;
    output.line("")?;
    output.line(result(advice))?;
    let is_own = advice.transport == point.scenario.transport;
    let verdict = if is_own { AS_IT_IS } else { own_verdict(advice.own_verdict) };
    output.line(format_args!("  {verdict}"))?;
    let level = level(advice.level);
    output.line(format_args!(
        "\nevidence: each knob by itself, all others as advised ({level} intervals)"
    ))?;
    output.line(evidence(advice))?;
    output.line("")?;
    for note in notes(advice, point) {
        output.line(wrapped("note: ", &note))?;
    }
    output.line(format_args!("repeat: {}", command(options)))?;
    Ok(())
}

/// Extent of the search.
fn heading(advice: &Advice, point: &Point) -> String {
    let mut lines = vec![point.scenario.title.clone()];
    let lan = point.settings.iter().filter(|(key, _)| !is_of_transport(key));
    let lan = lan.map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ");
    if !lan.is_empty() {
        lines.push(format!("point {}: {lan}", point.index + 1));
    }
    let Advice { runs, tried, objective, .. } = advice;
    lines.push(format!("{runs} runs of {tried} settings, judged by {objective}"));
    lines.join("\n")
}

fn is_of_transport(key: &str) -> bool {
    key.split('.').next() == Some("transport")
}

/// Advised settings next to the scenario's.
fn knobs(advice: &Advice, own: &Transport) -> Table {
    let mut table = Table::new([
        ("knob", Align::Left),
        ("advised", Align::Left),
        ("scenario", Align::Left),
        ("not decided against", Align::Left),
    ]);
    for evidence in &advice.evidence {
        let own = Setting::of(evidence.knob, own).to_string();
        let open: Vec<String> =
            evidence.undecided().map(|tried| tried.setting.to_string()).collect();
        let open = match &open[..] {
            [first, second, _, rest @ ..] if !rest.is_empty() => {
                format!("{first}, {second} and {} more", 1 + rest.len())
            }
            few => few.join(", "),
        };
        table.row([evidence.knob.to_string(), evidence.advised.to_string(), own, open]);
    }
    table
}

/// Result of the advice next to that of the scenario's settings.
fn result(advice: &Advice) -> Table {
    let heading = format!("advised ({})", level(advice.level));
    let mut table =
        Table::new([("", Align::Left), (&heading, Align::Left), ("scenario's own", Align::Left)]);
    let values = |outcome| values(advice, outcome).into_iter();
    let criteria = advice.objective.criteria().iter();
    for (criterion, (advised, own)) in
        criteria.zip(values(&advice.advised).zip(values(&advice.own)))
    {
        table.row([criterion.name().to_owned(), advised, own]);
    }
    table.row(["runs".to_owned(), advice.advised.runs.to_string(), advice.own.runs.to_string()]);
    table
}

const fn own_verdict(own: Verdict) -> &'static str {
    match own {
        Verdict::Better => "the scenario's own settings are better: this is shown",
        Verdict::Worse => "the advice is better than the scenario's own settings: this is shown",
        Verdict::Equal => "between the two there is no difference that matters: this is shown",
        Verdict::Undecided => "which of the two is better is not decided",
    }
}

/// Every setting of every knob.
fn evidence(advice: &Advice) -> Table {
    let criteria = advice.objective.criteria();
    let names: Vec<&str> = criteria.iter().map(|criterion| criterion.name()).collect();
    let mut table = Table::new([
        ("knob", Align::Left),
        ("setting", Align::Left),
        (&names.join(", "), Align::Left),
        ("n", Align::Right),
        ("this setting is", Align::Left),
    ]);
    for Evidence { knob, advised, tried } in &advice.evidence {
        let mut name = knob.to_string();
        for tried in tried {
            let is_advised = tried.setting == *advised;
            let word = if is_advised { "advised" } else { verdict(tried.verdict) };
            table.row([
                core::mem::take(&mut name),
                tried.setting.to_string(),
                values(advice, &tried.outcome).join(", "),
                tried.outcome.runs.to_string(),
                word.to_owned(),
            ]);
        }
    }
    table
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equal => "no different",
        Verdict::Undecided => "not decided",
    }
}

/// Value of each criterion.
fn values(advice: &Advice, outcome: &Outcome) -> Vec<String> {
    let criteria = advice.objective.criteria().iter().enumerate();
    criteria.map(|(place, criterion)| value(*criterion, outcome, place, advice.level)).collect()
}

fn value(criterion: Criterion, outcome: &Outcome, place: usize, level: f64) -> String {
    let Some(Told { value, half_width }) = outcome.values.get(place).copied() else {
        return "not run".to_owned();
    };
    // What was never seen may still happen.
    if criterion == Criterion::Missed && value == 0.0 {
        let Interval { high, .. } = interval::proportion(0, outcome.judged, level).interval;
        return format!("< {}", quantity::significant(high, 2));
    }
    let (unit, n) = (criterion.unit(), outcome.runs);
    half_width.map_or_else(
        || quantity::value(unit, value),
        |half_width| quantity::estimate(unit, Estimate { mean: value, half_width, level, n }),
    )
}

/// Knobs that were not tried, because a peer decides them.
fn not_tried(advice: &Advice, point: &Point) -> Vec<Knob> {
    let was_tried = |knob: &Knob| advice.evidence.iter().any(|evidence| evidence.knob == *knob);
    let knobs = Grid::of(&point.scenario).knobs.into_iter().map(|(knob, _)| knob);
    knobs.filter(|knob| !was_tried(knob)).collect()
}

/// Notes on the knobs that a peer decides.
fn of_peer(advice: &Advice, point: &Point) -> Vec<String> {
    let not_tried: Vec<String> = not_tried(advice, point).iter().map(Knob::to_string).collect();
    if not_tried.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "not tried: {}. The peer acknowledges by the scenario, with its window, and has a credit policy \
         of its own",
        not_tried.join(", ")
    )];
    if point.scenario.flows.iter().any(|flow| flow.pattern.is_answered()) {
        let own = "t1, retransmit and concatenate were set at this end alone: the peer has its own for \
                   the answers it sends";
        notes.push(own.to_owned());
    }
    notes
}

/// Notes on the numbers.
fn notes(advice: &Advice, point: &Point) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(match (advice.is_damaging, advice.transport.checksum) {
        (true, _) => "the path damages data that the FCS passes: only the checksum finds it",
        (false, false) => {
            "no checksum is right only where nothing behind the FCS damages data, as in this \
             scenario: no bridge, no memory, no interface"
        }
        (false, true) => {
            "in this scenario nothing damages data that the FCS passes; the checksum is for \
             networks of which that is not known"
        }
    });
    if point.settings.keys().any(|key| is_of_transport(key)) {
        notes.push(
            "the scenario varies its transport: its own settings are those of its first point",
        );
    }
    let is_unseen = |outcome: &Outcome| {
        outcome.values.first().is_some_and(|told| told.value == 0.0)
            && advice.objective == Objective::Misses
    };
    if advice.evidence.iter().flat_map(|knob| &knob.tried).any(|tried| is_unseen(&tried.outcome)) {
        notes.push("behind < stands the limit of the share of which no case was seen");
    }
    match advice.ended {
        Ended::Settled => {}
        Ended::Budget => notes.push("the runs ended before the search: give it more --budget"),
        Ended::Stopped => notes.push("the search was stopped before it was through"),
    }
    let mut notes: Vec<String> = notes.into_iter().map(str::to_owned).collect();
    notes.extend(of_peer(advice, point));
    if let Some(Unproved { transport, outcome }) = &advice.unproved {
        let set = advice.evidence.iter().map(|Evidence { knob, advised, .. }| {
            let setting = Setting::of(*knob, transport);
            (setting != *advised).then(|| format!("{knob} {setting}"))
        });
        notes.push(format!(
            "the search led to {}: {}, not shown to be better than the scenario's own settings",
            set.flatten().collect::<Vec<_>>().join(", "),
            values(advice, outcome).join(", "),
        ));
    }
    let open = advice.evidence.iter().flat_map(|Evidence { knob, tried, .. }| {
        let open = tried.iter().filter(|tried| tried.may_gain);
        open.map(move |tried| format!("{knob} {}", tried.setting))
    });
    let open: Vec<String> = open.collect();
    if !open.is_empty() {
        notes.push(format!(
            "as far as these runs tell, more than 5 % better than the advice may be: {}. More runs would \
             tell",
            open.join(", ")
        ));
    }
    for Evidence { knob, tried, .. } in &advice.evidence {
        let better = tried.iter().find(|tried| tried.verdict == Verdict::Better);
        match (better, knob) {
            (None, _) => {}
            (Some(_), Knob::Checksum) => notes.push(
                "without checksum it is better, but not by more than 5 % for certain: too little \
                 for what the checksum guards against"
                    .to_owned(),
            ),
            (Some(Tried { setting, .. }), _) => notes
                .push(format!("{knob} {setting} is shown to be better, too late to go on from it")),
        }
    }
    notes
}

/// The command that makes the same search.
fn command(options: &Advise) -> String {
    let mut words = vec!["tidewire advise".to_owned(), options.scenario.clone()];
    if let Some(goal) = options.objective {
        words.push(format!("--objective {}", goal.objective()));
    }
    words.extend(options.point.map(|point| format!("--point {point}")));
    words.extend(options.budget.map(|budget| format!("--budget {budget}")));
    words.extend(options.runs.map(|runs| format!("-n {runs}")));
    words.extend(options.seed.map(|seed| format!("--seed {seed}")));
    words.extend(options.time.as_ref().map(|time| format!("--time \"{time}\"")));
    if options.live {
        words.push("--live".to_owned());
        words.extend(options.port.interface.as_ref().map(|name| format!("-i {name}")));
        words.extend(options.port.xdp.as_ref().map(|name| format!("--xdp {name}")));
        words.extend(options.port.udp.as_ref().map(|address| format!("--udp {address}")));
        words.extend(options.port.udp_peer.as_ref().map(|peer| format!("--udp-peer {peer}")));
        words.extend(options.to.map(|peer| format!("--to {peer}")));
    }
    words.join(" ")
}

/// The line of NDJSON.
fn record(advice: &Advice, point: &Point) -> Value {
    let criteria = advice.objective.criteria();
    let found = |outcome: &Outcome| -> Map<String, Value> {
        let pairs = criteria.iter().zip(&outcome.values);
        let told = pairs.map(|(criterion, Told { value, half_width })| {
            let (unit, n) = (criterion.unit(), outcome.runs);
            let told = json!({ "unit": unit, "mean": value, "half_width": half_width, "n": n });
            (criterion.name().to_owned(), told)
        });
        told.collect()
    };
    let worse_by = |tried: &Tried| -> Map<String, Value> {
        let pairs = criteria.iter().zip(&tried.differences);
        let told = pairs.filter_map(|(criterion, difference)| {
            let Estimate { mean, half_width, level, n } = (*difference)?;
            let told = json!({ "mean": mean, "half_width": half_width, "level": level, "n": n });
            Some((criterion.name().to_owned(), told))
        });
        told.collect()
    };
    let knobs = advice.evidence.iter().map(|evidence| {
        let tried = evidence.tried.iter().map(|tried| {
            json!({
                "setting": tried.setting.to_string(),
                "found": found(&tried.outcome),
                "worse_by": worse_by(tried),
                "verdict": tried.verdict,
                "may_gain": tried.may_gain,
            })
        });
        json!({
            "knob": evidence.knob,
            "advised": evidence.advised.to_string(),
            "scenario": own(evidence.knob, point),
            "tried": tried.collect::<Vec<_>>(),
        })
    });
    json!({
        "type": "advice",
        "title": point.scenario.title,
        "settings": point.settings,
        "objective": advice.objective,
        "level": advice.level,
        "runs": advice.runs,
        "tried": advice.tried,
        "ended": advice.ended,
        "transport": advice.transport,
        "advised": found(&advice.advised),
        "own": found(&advice.own),
        "own_verdict": advice.own_verdict,
        "damaging": advice.is_damaging,
        "unproved": advice.unproved.as_ref().map(|Unproved { transport, outcome }| {
            json!({ "transport": transport, "found": found(outcome) })
        }),
        "knobs": knobs.collect::<Vec<_>>(),
        "not_tried": not_tried(advice, point),
    })
}

fn own(knob: Knob, point: &Point) -> String {
    Setting::of(knob, &point.scenario.transport).to_string()
}

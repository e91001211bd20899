//! Cost of each layer of a station: its records, its figure of stacked bars, and its report.

use crate::document::{Acceptance, Document, Fact, Grade, Illustration, Kind, Table, Verdict};
use crate::figure::{Bar, Layer, Part, Picture, Stack};
use crate::glossary::Glossary;
use crate::text::Text;
use bench::analysis::Unit;
use records::findings::quoted;
use records::quantity::{Scale, level, scale, significant};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read as _};

/// Longest record.
const LONGEST_LINE_OCTETS: u64 = 16 << 20;
/// Layers that are kept.
const MOST_LAYERS: usize = 32;
/// Sizes of a layer that are kept.
const MOST_SIZES: usize = 10_000;
/// Bars of a figure.
const MOST_BARS: usize = 16;

/// A mean with its interval, in nanoseconds or nanoseconds for each octet.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mean {
    /// Mean over rounds.
    pub mean: f64,
    /// Half-width of its interval; none if the number of rounds gives none.
    pub half_width: Option<f64>,
    /// Confidence level.
    pub level: f64,
    /// Number of rounds.
    pub n: u64,
}

/// Straight line through the cost of a layer against size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Cost of a message of no octets.
    pub intercept_ns: Mean,
    /// Cost of each octet.
    pub slope_ns_per_octet: Mean,
    /// False if the deviations from the line are greater than chance explains; none if that is not known.
    pub is_line: Option<bool>,
}

/// Cost of a layer: the record `layer` of `measure layers` and `predict layers`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayerCost {
    /// Name.
    pub layer: String,
    /// Layer below; none if the whole time is its cost.
    pub adds_to: Option<String>,
    /// Line through the cost; none for fewer than two sizes, and in records of older versions.
    #[serde(default)]
    pub fit: Option<Line>,
    /// Cost at each size, in rising order.
    pub sizes: Vec<CostAtSize>,
}

/// Cost of a layer at a size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CostAtSize {
    /// Octets of the message.
    pub octets: u64,
    /// Time that the layer adds.
    pub adds_ns: Mean,
    /// Time from user to user, the layer included.
    pub end_to_end_ns: Mean,
}

/// Records of an experiment.
#[derive(Clone, PartialEq, Debug)]
pub struct LayersRun {
    title: String,
    messages: u64,
    rounds: u64,
    layers: Vec<LayerCost>,
    /// Reason of an early end; none of a complete experiment.
    cut: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record {
    Layers {
        title: String,
        messages: u64,
        rounds: u64,
    },
    Layer(LayerCost),
    End {
        complete: bool,
        error: Option<String>,
    },
    #[serde(other)]
    Other,
}

impl LayersRun {
    /// Reads the records of an experiment.
    ///
    /// # Errors
    /// Errors of the input with the line, and input that begins with other records.
    pub fn read(mut from: impl BufRead) -> io::Result<Self> {
        let invalid = |line: usize, error: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {error}"))
        };
        let mut run = None;
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            if from.by_ref().take(LONGEST_LINE_OCTETS).read_until(b'\n', &mut text)? == 0 {
                break;
            }
            let record = serde_json::from_slice(&text);
            let record = record.map_err(|error| invalid(line, &error.to_string()))?;
            match (&mut run, record) {
                (None, Record::Layers { title, messages, rounds }) => {
                    let cut = Some("the end record is missing".to_owned());
                    run = Some(Self { title, messages, rounds, layers: Vec::new(), cut });
                }
                (None, _) => return Err(invalid(line, "no record of layers is here")),
                (Some(run), Record::Layer(mut layer)) if run.layers.len() < MOST_LAYERS => {
                    layer.sizes.truncate(MOST_SIZES);
                    run.layers.push(layer);
                }
                (Some(run), Record::End { complete, error }) => {
                    run.cut = (!complete).then(|| error.unwrap_or_default());
                }
                (Some(_), _) => {}
            }
        }
        run.ok_or_else(|| invalid(1, "no record of layers is here"))
    }
}

/// The report of an experiment.
#[must_use]
pub fn of_layers(
    run: &LayersRun,
    path: &str,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Document {
    let LayersRun { title, messages, rounds, layers, cut } = run;
    let reason = match cut {
        Some(cut) => format!("The experiment is not complete: {cut}."),
        None => "The experiment has no requirement.".to_owned(),
    };
    let word = if cut.is_some() { "NOT VALID" } else { "NOT JUDGED" };
    let grade = if cut.is_some() { Grade::Open } else { Grade::Note };
    let picture = stack(layers, title).map(Picture::Stack);
    let mut document = Document {
        kind: Kind::Layers,
        title: Text::from(title),
        verdict: Verdict { grade, word: word.into(), reason: Text::long(reason) },
        next: Vec::new(),
        numbers: Vec::new(),
        about: Text::long(format!(
            "{rounds} rounds of {messages} messages of each operation at each size. A layer adds the time from user \
             to user through it, less that through the layer below."
        )),
        acceptance,
        requirements: Vec::new(),
        findings: Vec::new(),
        tables: vec![table(layers)],
        pictures: picture
            .map(|picture| Illustration { picture, thinned: Text::default() })
            .into_iter()
            .collect(),
        checks: Vec::new(),
        comparison: None,
        provenance: Vec::new(),
        commands: vec![Fact::new("repeat the report", format!("tidewire report {}", quoted(path)))],
        glossary: Vec::new(),
    };
    document.glossary = glossary.of_document(&document, &["confidence interval"]);
    document
}

/// Line of each layer, and its cost at the least and the greatest size.
fn table(layers: &[LayerCost]) -> Table {
    let sizes = layers.first().map(|it| it.sizes.as_slice()).unwrap_or_default();
    let ends: Vec<u64> =
        sizes.first().into_iter().chain(sizes.last()).map(|it| it.octets).collect();
    let at: Vec<String> = ends.iter().map(|octets| format!("at {octets} octets")).collect();
    let heads = ["layer", "adds to", "at no octets", "each octet", "a line?"];
    let heads: Vec<&str> =
        heads.into_iter().chain(at.iter().map(String::as_str)).chain(["n"]).collect();
    let rows = layers.iter().map(|it| {
        let fit = |of: fn(&Line) -> Mean| it.fit.map_or_else(String::new, |fit| estimate(of(&fit)));
        let is_line = match it.fit.map(|fit| fit.is_line) {
            Some(Some(true)) => "yes",
            Some(Some(false)) => "no",
            Some(None) | None => "not known",
        };
        let line = [fit(|fit| fit.intercept_ns), fit(|fit| fit.slope_ns_per_octet)];
        let at = ends.iter().map(|octets| {
            let size = it.sizes.iter().find(|size| size.octets == *octets);
            size.map_or_else(String::new, |size| estimate(size.adds_ns))
        });
        let n = it.sizes.first().map_or(0, |size| size.adds_ns.n);
        let names = [it.layer.clone(), it.adds_to.clone().unwrap_or_default()];
        let row = names.into_iter().chain(line).chain([is_line.to_owned()]).chain(at);
        row.chain([n.to_string()]).collect()
    });
    Table::of("Cost of layers", &heads, rows, MOST_LAYERS)
}

/// Stacked bars of the cost of each layer at each size; none without layers.
#[must_use]
pub fn stack(layers: &[LayerCost], title: &str) -> Option<Stack> {
    // A bar ends with a layer upon which no other stands.
    let tops: Vec<&LayerCost> = layers
        .iter()
        .filter(|it| layers.iter().all(|other| other.adds_to.as_ref() != Some(&it.layer)))
        .collect();
    let all = || layers.iter().flat_map(|it| &it.sizes);
    let most =
        all().map(|it| it.end_to_end_ns.mean).filter(|it| it.is_finite()).fold(0.0, f64::max);
    let shown = scale(Unit::Nanoseconds, most);
    let sizes: Vec<u64> = tops.first()?.sizes.iter().map(|it| it.octets).collect();
    let drawn = spread(&sizes, MOST_BARS / tops.len().max(1));
    let mut bars = Vec::new();
    let mut negative = Vec::new();
    for octets in &drawn {
        for top in &tops {
            let bar = bar(top, layers, *octets, shown);
            for (layer, part) in &bar.parts {
                if part.value < 0.0 {
                    negative.push(format!("{} at {octets}", layers[*layer].layer));
                }
            }
            let of = if tops.len() > 1 { top.layer.clone() } else { String::new() };
            bars.push(Bar { of, ..bar });
        }
    }
    negative.dedup();
    let interval = all().next().map_or(0.95, |it| it.adds_ns.level);
    let below = match negative.as_slice() {
        [] => String::new(),
        some => format!(" Below zero, and not drawn: {} octets.", some.join(", ")),
    };
    let left_out = match sizes.len() - drawn.len() {
        0 => String::new(),
        more => format!(" {more} more sizes are not drawn."),
    };
    Some(Stack {
        title: format!("Time that each layer adds, {title}"),
        caption: format!(
            "Means over rounds; ±: {} intervals over rounds (Student's t). Lines: cost of a message of no octets, and \
             of each octet, by least squares.{below}{left_out}",
            level(interval)
        ),
        reference: None,
        across: "message size (octets)".to_owned(),
        upwards: "time from user to user".to_owned(),
        unit: shown.unit.to_owned(),
        layers: layers.iter().map(|it| layer(it, shown)).collect(),
        bars,
    })
}

/// At most `most` of the sizes, the ends among them.
fn spread(sizes: &[u64], most: usize) -> Vec<u64> {
    if sizes.len() <= most || most < 2 {
        return sizes.iter().copied().take(most.max(1)).collect();
    }
    let last = sizes.len() - 1;
    (0..most).filter_map(|nth| sizes.get(nth * last / (most - 1)).copied()).collect()
}

/// The layers below a top at a size, from below.
fn bar(top: &LayerCost, layers: &[LayerCost], octets: u64, shown: Scale) -> Bar {
    let mut parts = Vec::new();
    let mut next = Some(&top.layer);
    // A file may name layers in a circle.
    while let Some(name) = next.filter(|_| parts.len() < layers.len()) {
        let Some(place) = layers.iter().position(|it| it.layer == *name) else { break };
        let found = layers[place].sizes.iter().find(|it| it.octets == octets);
        parts.extend(found.map(|it| (place, part(it.adds_ns, shown))));
        next = layers[place].adds_to.as_ref();
    }
    parts.reverse();
    Bar { name: octets.to_string(), of: String::new(), parts }
}

fn part(mean: Mean, shown: Scale) -> Part {
    let half_width = mean.half_width.map(|half| half / shown.each);
    Part { value: mean.mean / shown.each, half_width }
}

fn layer(cost: &LayerCost, shown: Scale) -> Layer {
    let Some(Line { intercept_ns, slope_ns_per_octet, is_line }) = cost.fit else {
        return Layer { name: cost.layer.clone(), notes: Vec::new(), estimates: Vec::new() };
    };
    let doubt = if is_line == Some(false) { "; no line" } else { "" };
    Layer {
        name: cost.layer.clone(),
        notes: vec![
            estimate(intercept_ns),
            format!("+ {}/octet{doubt}", estimate(slope_ns_per_octet)),
        ],
        estimates: vec![
            ("at no octets".to_owned(), part(intercept_ns, shown)),
            ("each octet".to_owned(), part(slope_ns_per_octet, shown)),
        ],
    }
}

/// `1.02 ± 0.03 us`, of nanoseconds.
fn estimate(mean: Mean) -> String {
    let shown = scale(Unit::Nanoseconds, mean.mean.abs());
    let Part { value, half_width } = part(mean, shown);
    let text = match half_width {
        Some(half) => format!("{} ± {}", significant(value, 3), significant(half, 2)),
        None => significant(value, 3),
    };
    format!("{text} {}", shown.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mean: f64) -> Mean {
        Mean { mean, half_width: Some(100.0), level: 0.95, n: 5 }
    }

    fn cost(layer: &str, adds_to: Option<&str>, adds: [f64; 2]) -> LayerCost {
        let size = |(octets, adds): (u64, f64)| CostAtSize {
            octets,
            adds_ns: mean(adds),
            end_to_end_ns: mean(9_000.0),
        };
        LayerCost {
            layer: layer.to_owned(),
            adds_to: adds_to.map(str::to_owned),
            fit: Some(Line {
                intercept_ns: mean(1_500.0),
                slope_ns_per_octet: mean(2.0),
                is_line: Some(false),
            }),
            sizes: [64, 512].into_iter().zip(adds).map(size).collect(),
        }
    }

    fn example() -> Vec<LayerCost> {
        vec![
            cost("MAC", None, [1_000.0, 2_000.0]),
            cost("session", Some("MAC"), [500.0, -250.0]),
            cost("CASE", Some("session"), [2_000.0, 2_000.0]),
            cost("MMS", Some("session"), [3_000.0, 3_000.0]),
        ]
    }

    #[test]
    fn each_top_has_a_bar_of_the_layers_below_it_at_each_size() {
        let stack = stack(&example(), "here").unwrap();
        let bars: Vec<(String, Vec<(usize, f64)>)> = stack
            .bars
            .iter()
            .map(|bar| {
                let parts = bar.parts.iter().map(|(layer, part)| (*layer, part.value)).collect();
                (format!("{} {}", bar.name, bar.of), parts)
            })
            .collect();
        assert_eq!(
            bars,
            [
                ("64 CASE".to_owned(), vec![(0, 1.0), (1, 0.5), (2, 2.0)]),
                ("64 MMS".to_owned(), vec![(0, 1.0), (1, 0.5), (3, 3.0)]),
                ("512 CASE".to_owned(), vec![(0, 2.0), (1, -0.25), (2, 2.0)]),
                ("512 MMS".to_owned(), vec![(0, 2.0), (1, -0.25), (3, 3.0)]),
            ]
        );
        assert!(stack.caption.contains("not drawn: session at 512 octets."), "{}", stack.caption);
        let notes = ["1.50 ± 0.10 us", "+ 2.00 ± 100 ns/octet; no line"].map(str::to_owned);
        assert_eq!(stack.layers[0].notes, notes);
    }

    #[test]
    fn layers_that_name_each_other_in_a_circle_end() {
        let circle = vec![
            cost("a", Some("b"), [1.0, 1.0]),
            cost("b", Some("a"), [1.0, 1.0]),
            cost("c", Some("a"), [1.0, 1.0]),
        ];
        assert_eq!(stack(&circle, "").unwrap().bars[0].parts.len(), 3);
    }

    #[test]
    fn sizes_are_spread_with_both_ends() {
        let sizes: Vec<u64> = (1..=100).collect();
        let drawn = spread(&sizes, 4);
        assert_eq!(drawn, [1, 34, 67, 100]);
        assert_eq!(spread(&sizes[..3], 4), [1, 2, 3]);
    }

    #[test]
    fn records_that_are_cut_off_or_malformed_are_named() {
        let head = r#"{"type":"layers","title":"here","messages":2,"rounds":3}"#;
        let run = LayersRun::read(head.as_bytes()).unwrap();
        assert_eq!(run.cut.as_deref(), Some("the end record is missing"));
        let error = |text: String| LayersRun::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error(format!("{head}\n{{\"type\":\"layer\"}}\n")).starts_with("line 2: "));
        assert_eq!(
            error("{\"type\":\"curve\"}\n".to_owned()),
            "line 1: no record of layers is here"
        );
    }
}

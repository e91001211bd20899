//! Results for the rows of the paper that are not cells of its tables.

use super::plan::Host;
use super::readings::Readings;
use super::stations::{PROMPT, TAUT, WITHHELD};
use super::{Context, INTERVALS, TOTAL};
use crate::published::Unavailable;
use crate::published::value::Value;
use meter::Settings;
use meter::measure::BOUNDS_OCTETS;
use meter::registry::Measure;
use sim::medium::framing::Framing;
use std::collections::BTreeSet;
use wire::tp::{
    Acknowledgement, Data, Format, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference,
};

/// Function that obtains one of our figures.
pub(super) type Source = fn(&mut Context) -> Result<Value, Unavailable>;

/// Source of each of our figures, by the name in the rows.
pub(super) const SOURCES: [(&str, Source); 43] = [
    ("hosts", |l| count(l.trace.iter().map(|p| p.from).collect::<BTreeSet<_>>().len())),
    ("link-header", |l| {
        quotient(l, |m| (m(Measure::LpduOctets) - m(Measure::NpduOctets), m(Measure::Lpdus)))
    }),
    ("network-header", |l| {
        quotient(l, |m| (m(Measure::NpduOctets) - m(Measure::TpduTotalOctets), m(Measure::Npdus)))
    }),
    ("tpdus-per-lpdu", |l| quotient(l, |m| (m(Measure::Tpdus), m(Measure::Lpdus)))),
    ("number-normal", |_| count(data_header(Format::Normal) - REFERENCES_OCTETS)),
    ("number-extended", |_| count(data_header(Format::Extended) - REFERENCES_OCTETS)),
    ("fixed-least", |_| count(data_header(Format::Normal) - LENGTH_INDICATOR_OCTETS)),
    ("fixed-most", |_| count(acknowledgement_header(Format::Extended) - LENGTH_INDICATOR_OCTETS)),
    ("parameter-most", |_| count(longest_parameter())),
    ("variable-part", variable_part),
    ("data-most", |l| count(l.trace.iter().map(data_octets).max().unwrap_or(0))),
    ("lpdu-most", |l| count(l.trace.iter().map(|p| p.tpdu.len() + 18).max().unwrap_or(0))),
    ("interval-minutes", |l| found(l.readings.intervals.first().map(|i| seconds(i) / 60.0))),
    ("stream-octets", |l| found(l.readings.stream_octets(2).map(|octets| octets as f64))),
    ("size-classes", |_| count(BOUNDS_OCTETS.len() + 1)),
    ("connections-followed", |_| count(settings().maximum_connections)),
    ("channel", |_| Ok(Value::exact(settings().channel.bits_per_second() as f64 / 1e6))),
    ("gap", |_| Ok(Value::exact(gap_seconds() * 1e6))),
    ("gap-share", |l| quotient(l, |m| (m(Measure::Lpdus) * gap_seconds(), 7_200.0))),
    // U_i are the octets of user messages, including one that is never finished.
    ("formula general", |l| {
        quotient_of(l, "C_E", |m| m(Measure::TpduInformationOctets) / m(Measure::LpduOctets))
    }),
    ("formula product", |l| {
        let factors = ["E_L", "E_N", "E_T"].map(|symbol| metric(l, symbol, TOTAL));
        let product = factors.into_iter().product::<Result<f64, _>>()?;
        Ok(Value::exact(metric(l, "C_E", TOTAL)? / product))
    }),
    ("formula channel", |l| {
        let channel = metric(l, "E_C", TOTAL)? / metric(l, "U_C", TOTAL)?;
        Ok(Value::exact(metric(l, "C_E", TOTAL)? / channel))
    }),
    ("stations-prompt", |l| l.stations.metric(PROMPT, "R_OA")),
    ("stations-withheld", |l| l.stations.metric(WITHHELD, "R_OA")),
    ("stations-taut", |l| l.stations.metric(TAUT, "R_OA")),
    ("stations-collisions", |l| l.stations.collisions(PROMPT)),
    ("hours", |l| Ok(Value::exact(seconds(&l.readings.total) / 3_600.0))),
    ("mean-file", |l| {
        quotient(l, |m| (m(Measure::TpduInformationOctets), m(Measure::TransportConnections)))
    }),
    ("file-most", |l| count(l.readings.longest_file() as usize)),
    ("network-efficiency", |l| range(l, "E_N")),
    ("mean-data", |l| range(l, "S_D")),
    ("ak-share", |l| {
        let share = |m: &dyn Fn(Measure) -> f64| (m(Measure::AkTpdus), m(Measure::Tpdus));
        quotient_in(&l.readings, 5, share)
    }),
    ("r-rd-most", |l| Ok(Value::exact(range(l, "R_RD")?.high))),
    ("overhead-least", |l| Ok(overhead(Value::exact(range(l, "R_OM")?.high)))),
    ("overhead-most", |l| Ok(overhead(Value::exact(range(l, "R_OM")?.low)))),
    ("overhead-total", |l| Ok(overhead(Value::exact(metric(l, "R_OM", TOTAL)?)))),
    ("overhead-egi", |l| hosts(l, ['E', 'G', 'I'].as_slice(), 2)),
    ("overhead-cd", |l| hosts(l, &['C', 'D'], 4)),
    ("overhead-af", |l| hosts(l, &['A', 'F'], 2)),
    ("formula T_L", |l| quotient_of(l, "T_L", |m| 8.0 * m(Measure::NpduOctets) / 7_200.0)),
    ("formula T_T", |l| {
        quotient_of(l, "T_T", |m| 8.0 * m(Measure::TpduInformationOctets) / 7_200.0)
    }),
    ("formula U_C", |l| quotient_of(l, "U_C", |m| 8.0 * m(Measure::LpduOctets) / (7_200.0 * 1e7))),
    ("formula E_C", |l| {
        quotient_of(l, "E_C", |m| 8.0 * m(Measure::TpduInformationOctets) / (7_200.0 * 1e7))
    }),
];

/// Formulas of ratios of two measures, by the paper's symbols.
pub(super) const RATIOS: [(&str, Terms); 9] = [
    ("formula E_L", |m| (m(Measure::NpduOctets), m(Measure::LpduOctets))),
    ("formula E_N", |m| (m(Measure::TpduTotalOctets), m(Measure::NpduOctets))),
    ("formula E_T", |m| (m(Measure::TpduInformationOctets), m(Measure::TpduTotalOctets))),
    ("formula C_E", |m| (m(Measure::TpduInformationOctets), m(Measure::LpduOctets))),
    ("formula R_OA", |m| (original(m), m(Measure::AkTpdus) - m(Measure::AkRetransmissions))),
    ("formula R_OM", |m| (original(m), m(Measure::Tpdus))),
    ("formula R_RD", |m| (m(Measure::DtRetransmissions), m(Measure::DtTpdus))),
    ("formula R_RA", |m| (m(Measure::AkRetransmissions), m(Measure::AkTpdus))),
    ("formula S_D", |m| (m(Measure::TpduInformationOctets), original(m))),
];

/// Dividend and divisor, computed from measures.
pub(super) type Terms = fn(&dyn Fn(Measure) -> f64) -> (f64, f64);
/// Value computed from measures.
type Formula = fn(&dyn Fn(Measure) -> f64) -> f64;

/// Framing of 802.3.
const FRAMING: Framing = Framing::IEEE_802_3;
/// Length indicator.
const LENGTH_INDICATOR_OCTETS: usize = 1;
/// Length indicator, code and destination reference, which precede a sequence number.
const REFERENCES_OCTETS: usize = 4;

fn original(m: &dyn Fn(Measure) -> f64) -> f64 {
    m(Measure::DtTpdus) - m(Measure::DtRetransmissions)
}

fn settings() -> Settings {
    Settings::every(super::trace::INTERVAL)
}

fn seconds(report: &meter::Report) -> f64 {
    report.length.as_secs_f64()
}

/// Interframe gap of the simulator's medium.
fn gap_seconds() -> f64 {
    FRAMING.gap_bits as f64 / settings().channel.bits_per_second() as f64
}

fn count(count: usize) -> Result<Value, Unavailable> {
    Ok(Value::exact(count as f64))
}

fn found(value: Option<f64>) -> Result<Value, Unavailable> {
    value.map(Value::exact).ok_or_else(|| Unavailable("the trace has none".to_owned()))
}

fn metric(context: &Context, symbol: &str, interval: usize) -> Result<f64, Unavailable> {
    let value = context.readings.metric(symbol, interval);
    value.ok_or_else(|| Unavailable(format!("{symbol} has no value")))
}

/// Quotient of measures of the whole trace.
fn quotient(context: &Context, terms: Terms) -> Result<Value, Unavailable> {
    quotient_in(&context.readings, TOTAL, terms)
}

fn quotient_in(
    readings: &Readings,
    interval: usize,
    terms: impl Fn(&dyn Fn(Measure) -> f64) -> (f64, f64),
) -> Result<Value, Unavailable> {
    let measure = |name: Measure| readings.measure(name, interval).unwrap_or(f64::NAN);
    let (dividend, divisor) = terms(&measure);
    Ok(Value::exact(dividend / divisor))
}

/// Metric over the result of a formula on the measures: one if the metric is that formula.
fn quotient_of(context: &Context, symbol: &str, formula: Formula) -> Result<Value, Unavailable> {
    let metric = metric(context, symbol, TOTAL)?;
    quotient_in(&context.readings, TOTAL, |measure| (metric, formula(measure)))
}

/// Ratio of the paper over its formula.
pub(super) fn ratio(context: &Context, name: &str) -> Option<Result<Value, Unavailable>> {
    let (_, terms) = RATIOS.iter().find(|(known, _)| *known == name)?;
    let symbol = name.strip_prefix("formula ")?;
    let value = metric(context, symbol, TOTAL);
    Some(value.and_then(|value| {
        let formula = quotient_in(&context.readings, TOTAL, terms)?;
        Ok(Value::exact(value / formula.value))
    }))
}

/// Range of a metric over the intervals.
fn range(context: &Context, symbol: &str) -> Result<Value, Unavailable> {
    let all: Vec<Value> = (0..INTERVALS)
        .map(|interval| metric(context, symbol, interval).map(Value::exact))
        .collect::<Result<_, _>>()?;
    Value::hull(&all).ok_or_else(|| Unavailable("the trace has no intervals".to_owned()))
}

/// TPDUs other than original DTs per original DT, from R_OM.
fn overhead(r_om: Value) -> Value {
    let of = |r_om: f64| 1.0 / r_om - 1.0;
    Value { value: of(r_om.value), low: of(r_om.high), high: of(r_om.low), ..r_om }
}

fn hosts(context: &Context, hosts: &[char], interval: usize) -> Result<Value, Unavailable> {
    let ratios = hosts.iter().filter_map(|host| context.readings.host(Host(*host), interval));
    let all: Vec<Value> = ratios.map(|ratios| Value::exact(ratios.r_om)).collect();
    Value::hull(&all).map(overhead).ok_or_else(|| Unavailable("these hosts were silent".to_owned()))
}

fn data_header(format: Format) -> usize {
    let pdu = Pdu::Dt(Data {
        format,
        destination_reference: Reference(1),
        number: 0,
        end_of_tsdu: true,
        acknowledgement_requested: false,
        parameters: Parameters::none(Kind::Dt),
        data: &[],
    });
    pdu.header_octets()
}

fn acknowledgement_header(format: Format) -> usize {
    let pdu = Pdu::Ak(Acknowledgement {
        format,
        destination_reference: Reference(1),
        next: 0,
        credit: 0,
        parameters: Parameters::none(Kind::Ak),
    });
    pdu.header_octets()
}

/// Longest value of a parameter in a header of 255 octets.
fn longest_parameter() -> usize {
    let takes = |octets: &usize| {
        let value = [0; 256];
        let parameter = Parameter::AdditionalInformation(value.get(..*octets).unwrap_or(&[]));
        ParameterBuffer::new().push(&parameter).is_some()
    };
    (0..=255).rev().find(takes).unwrap_or(0)
}

/// Shortest and longest variable part of the trace's DTs and AKs that have one.
fn variable_part(context: &mut Context) -> Result<Value, Unavailable> {
    let octets = context.trace.iter().filter_map(|passage| {
        let raw = wire::tp::tpdus(&passage.tpdu).next()?.ok()?;
        let format = Format::guess(&raw)?;
        let pdu = Pdu::decode(&raw, Some(format)).ok()?;
        let is_either = matches!(raw.kind, Kind::Dt | Kind::Ak);
        let octets = pdu.parameters().octets().len();
        (is_either && octets > 0).then_some(Value::exact(octets as f64))
    });
    let all: Vec<Value> = octets.collect();
    Value::hull(&all).ok_or_else(|| Unavailable("the trace has no parameters".to_owned()))
}

fn data_octets(passage: &super::trace::Passage) -> usize {
    let raw = wire::tp::tpdus(&passage.tpdu).next().and_then(Result::ok);
    raw.map_or(0, |raw| raw.data().len())
}

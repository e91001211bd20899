//! The lists in `help metrics`: metrics and measures as their registries define them.

use bench::paragraph::wrapped;
use meter::metric::{Definition, METRICS, MODULE};
use meter::observation::DelayKind;
use meter::registry::{
    Count, DelayStatistic, KindCount, Measure, NANOSECONDS, SizeBound, SizeCount,
};
use wire::tp::Kind;

/// Columns before the text of a measure.
const NAME_COLUMNS: usize = 22;

/// The topic, its lists filled in.
pub(super) fn text(template: &str) -> String {
    template.replace("{metrics}", &metrics()).replace("{measures}", &measures())
}

fn metrics() -> String {
    let entry = |definition: &Definition| {
        let Definition { symbol, name, unit, formula, cannot_tell, .. } = definition;
        let unit = if *unit == "1" { String::new() } else { format!(", {unit}") };
        let limit = wrapped("          ", &format!("Cannot tell {cannot_tell}."));
        let source = format!("{}; {MODULE}", definition.source());
        format!(
            "    {symbol:<5} {name}{unit}\n          = {formula}\n{limit}\n          {source}\n"
        )
    };
    METRICS.iter().map(entry).collect()
}

/// A measure, or a family of them, and its definition.
fn entry(names: &str, help: &str) -> String {
    let name = format!("    {names:<NAME_COLUMNS$} ");
    if names.len() < NAME_COLUMNS {
        return wrapped(&name, help) + "\n";
    }
    let indent = " ".repeat(NAME_COLUMNS + 5);
    format!("    {names}\n{}\n", wrapped(&indent, help))
}

fn measures() -> String {
    let mut text = String::new();
    for count in Count::ALL {
        let measure = Measure::from(count);
        text.push_str(&entry(&measure.to_string(), measure.help()));
    }
    let kinds = Kind::ALL.map(|kind| kind.name().to_lowercase()).join(", ");
    text.push_str(&format!("\nOf each kind of TPDU, KIND being {kinds}:\n\n"));
    for count in KindCount::ALL {
        let name = Measure::OfKind(Kind::Dt, count).to_string().replace("dt_", "KIND_");
        text.push_str(&entry(&name, count.help()));
    }
    text.push_str(&of_delays());
    text.push_str("\nBy size, up to and including N octets, or beyond the last bound:\n\n");
    for count in SizeCount::ALL {
        let measure = Measure::OfSize(count, SizeBound::To(0));
        let name = measure.to_string().replace("to_0_", "to_N_");
        text.push_str(&entry(&name, measure.help()));
    }
    text
}

fn of_delays() -> String {
    let of_response = |statistic| Measure::Delay(DelayKind::Response, statistic).to_string();
    let names: Vec<String> = DelayStatistic::ALL.into_iter().map(of_response).collect();
    let about = format!(
        "Of each of these delays the count, total, least, median, 99th percentile and greatest, all zero \
         where there are none, such as {}. The greatest is that of the whole, never of a part; in an \
         interval, records of hosts and sides have the replies so far, such as {}:",
        names.join(", "),
        Measure::DelaySoFar(DelayKind::Response, DelayStatistic::P99),
    );
    let mut text = format!("\n{}\n\n", wrapped("", &about));
    for delay in DelayKind::ALL {
        let total = delay.total().to_string();
        let stem = total.strip_suffix(&format!("_total{NANOSECONDS}")).unwrap_or(&total);
        text.push_str(&entry(stem, delay.total().help()));
    }
    text
}

//! Overview: findings first, then totals.

use super::Page;
use super::{Room, Row, Sheet, course, percent, short};
use crate::quantity;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::Counts;
use records::findings::{Finding, Grade, Topic, findings};
use records::state::Model;
use records::state::Moment;

/// Description of the page before the first interval.
pub(in crate::tui) const NONE_YET: &str = "no interval has come yet";

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let measures = model.measures();
    let found = findings(model);
    let of = |grade| found.iter().filter(|finding| finding.grade == grade).count();
    let about = match (of(Grade::Bad), of(Grade::Look)) {
        _ if !model.has_begun() => NONE_YET.to_owned(),
        (0, _) => "nothing is plainly wrong".to_owned(),
        (bad, look) => format!("what is wrong (!!) and what may be (!): {bad} and {look}"),
    };
    let mut rows: Vec<Row> = found.iter().flat_map(finding).collect();
    if found.is_empty() && model.has_begun() {
        let tpdus = short(measures.count(Measure::Tpdus));
        rows.push(Row::plain(format!("   nothing odd was seen in {tpdus} TPDUs")));
    }
    rows.push(Row::default());
    rows.extend(figures(&measures).into_iter().map(Row::plain));
    rows.extend(courses(model, room).into_iter().map(Row::plain));
    Sheet { about, heading: None, rows }
}

/// Returns the page that shows more about a topic.
const fn page_of(topic: Topic) -> Page {
    match topic {
        Topic::Connections => Page::Connections,
        Topic::Services => Page::Services,
        Topic::Hosts => Page::Hosts,
        Topic::Streams | Topic::Publishers => Page::Streams,
        Topic::Transactions => Page::Transactions,
        Topic::Capture => Page::Capture,
    }
}

fn finding(found: &Finding) -> Vec<Row> {
    let lead = |text: String, grade| Row {
        text,
        grade,
        connection: found.connection,
        page: Some(page_of(found.topic)),
        host: None,
    };
    let text = format!("{} {}", found.grade.sign(), found.text);
    let mut rows = vec![lead(text, Some(found.grade))];
    if let Some(detail) = &found.detail {
        rows.push(lead(format!("      {detail}"), None));
    }
    rows
}

fn figures(measures: &Counts) -> Vec<String> {
    let count = |name| short(measures.count(name));
    let (dts, again) =
        (measures.count(Measure::DtTpdus), measures.count(Measure::DtRetransmissions));
    let mut lines = vec![
        format!(
            "TPDUs {}  DT {}  retx {} ({})  AK {}  TSDUs {}",
            count(Measure::Tpdus),
            short(dts),
            short(again),
            percent(again, dts),
            count(Measure::AkTpdus),
            count(Measure::Tsdus),
        ),
        format!(
            "connections: {} found under way, {} asked for, {} established, {} refused, {} ended",
            count(Measure::ConnectionsAdopted),
            count(Measure::ConnectionAttempts),
            count(Measure::TransportConnections),
            count(Measure::ConnectionRefusals),
            count(Measure::ConnectionEnds),
        ),
    ];
    lines.extend(DelayKind::ALL.into_iter().filter_map(|of| delay(measures, of)));
    lines
}

/// Formats a delay, if it occurred. Quantiles of intervals cannot be added, so there are none until
/// the total is reported; one that needs more delays is `n/a`.
pub(in crate::tui) fn delay(measures: &Counts, of: DelayKind) -> Option<String> {
    let (name, n) = (of.label(), measures.count(of.count()));
    let mean = measures.count(of.total()).checked_div(n)?;
    let quantile =
        |share, measure| Some(quantity::quantile(share, n, Some(measures.get(measure)?)));
    let told: String = [
        ("mean", Some(quantity::span(mean))),
        ("p50", quantile(0.5, of.p50())),
        ("p99", quantile(0.99, of.p99())),
        ("max", measures.get(of.maximum()).map(quantity::span)),
    ]
    .into_iter()
    .filter_map(|(name, text)| Some(format!("{name} {:>7}  ", text?)))
    .collect();
    Some(format!("{name:15} {told}n {}", short(n)))
}

fn courses(model: &Model, room: Room) -> Vec<String> {
    let columns = room.columns.saturating_sub(30).min(60);
    let line = |name: &str, of: fn(&Moment) -> f64| {
        let values: Vec<f64> = model.course.moments().iter().map(of).collect();
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let greatest = quantity::significant(greatest, 3);
        format!("{name:8} at most {greatest:>6} |{}", course(&values, columns, room.symbols))
    };
    if model.course.moments().len() < 2 {
        return Vec::new();
    }
    vec![
        line("TPDUs/s", |moment| moment.tpdus_per_second),
        line("retx/s", |moment| moment.again_per_second),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Symbols;
    use crate::tui::page::Page;
    use crate::tui::page::fed::fed;

    #[test]
    fn what_is_wrong_comes_first() {
        let measures = [("dt_tpdus", 100), ("dt_retransmissions", 20), ("tpdus", 210)];
        // For the third finding its presence is enough.
        let odd = [("truncated: TPDU header", 1), ("truncated: user data", 9)];
        let model = fed(&measures, &odd, None, 300);
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        assert_eq!(sheet.about, "what is wrong (!!) and what may be (!): 1 and 1");
        assert_eq!(sheet.rows[0].text, "!! 20 of 100 DTs were retransmitted, 20 %");
        assert_eq!(sheet.rows[0].page, Some(Page::Connections));
        assert!(
            sheet.rows.iter().any(|row| row.text.starts_with("TPDUs 210  DT 100  retx 20 (20.0%)"))
        );
    }
}

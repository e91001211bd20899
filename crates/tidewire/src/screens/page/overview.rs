//! What is wrong, before anything else; then how much there is.

use super::{Room, Row, Sheet, course, percent, short};
use crate::quantity;
use crate::screens::course::Moment;
use crate::screens::finding::{Finding, Grade, findings};
use crate::screens::model::Model;
use crate::stream::Named;
use meter::measure::Delays;

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let measures = model.measures();
    let found = findings(model);
    let of = |grade| found.iter().filter(|finding| finding.grade == grade).count();
    let about = match (of(Grade::Bad), of(Grade::Look)) {
        (0, _) => "nothing is plainly wrong".to_owned(),
        (bad, look) => format!("what is wrong (!!) and what may be (!): {bad} and {look}"),
    };
    let mut rows: Vec<Row> = found.iter().flat_map(finding).collect();
    if found.is_empty() {
        let tpdus = short(measures.count("tpdus"));
        rows.push(Row::plain(format!("   nothing odd was seen in {tpdus} TPDUs")));
    }
    rows.push(Row::default());
    rows.extend(figures(&measures).into_iter().map(Row::plain));
    rows.extend(courses(model, room).into_iter().map(Row::plain));
    Sheet { about, heading: None, rows }
}

fn finding(found: &Finding) -> Vec<Row> {
    let lead = |text: String, grade| Row {
        text,
        grade,
        connection: found.connection,
        page: Some(found.page),
    };
    let text = format!("{} {}", found.grade.sign(), found.text);
    let mut rows = vec![lead(text, Some(found.grade))];
    if let Some(detail) = &found.detail {
        rows.push(lead(format!("      {detail}"), None));
    }
    rows
}

fn figures(measures: &Named<u64>) -> Vec<String> {
    let count = |name| short(measures.count(name));
    let (dts, again) = (measures.count("dt_tpdus"), measures.count("dt_retransmissions"));
    let mut lines = vec![
        format!(
            "TPDUs {}  DT {}  again {} ({})  AK {}  TSDUs {}",
            count("tpdus"),
            short(dts),
            short(again),
            percent(again, dts),
            count("ak_tpdus"),
            count("tsdus"),
        ),
        format!(
            "connections: {} found under way, {} asked for, {} established, {} refused, {} ended",
            count("connections_adopted"),
            count("connection_attempts"),
            count("transport_connections"),
            count("connection_refusals"),
            count("connection_ends"),
        ),
    ];
    lines.extend(Delays::names().into_iter().filter_map(|(name, of)| delay(measures, name, of)));
    lines
}

/// How long something took, if it came about. Quantiles do not add up over intervals, so that there are
/// none until the total is told.
fn delay(measures: &Named<u64>, name: &str, of: [&str; 6]) -> Option<String> {
    let [count, total, _, p50, p99, max] = of;
    let n = measures.count(count);
    let mean = measures.count(total).checked_div(n)?;
    let told = [("p50", measures.get(p50)), ("p99", measures.get(p99)), ("max", measures.get(max))];
    let told: String = [("mean", Some(mean))]
        .into_iter()
        .chain(told)
        .filter_map(|(name, nanos)| Some(format!("{name} {:>7}  ", quantity::span(nanos?))))
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
        line("again/s", |moment| moment.again_per_second),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screens::model::tests::fed;
    use crate::screens::page::Page;
    use crate::tui::Symbols;

    #[test]
    fn what_is_wrong_comes_first() {
        let measures = [("dt_tpdus", 100), ("dt_retransmissions", 20), ("tpdus", 210)];
        // Of the third finding it is enough to know.
        let odd = [("truncated: TPDU header", 1), ("truncated: user data", 9)];
        let model = fed(&measures, &odd, None, 300);
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        assert_eq!(sheet.about, "what is wrong (!!) and what may be (!): 1 and 1");
        assert_eq!(sheet.rows[0].text, "!! 20 of 100 DTs were sent again, 20 %");
        assert_eq!(sheet.rows[0].page, Some(Page::Connections));
        assert!(
            sheet
                .rows
                .iter()
                .any(|row| row.text.starts_with("TPDUs 210  DT 100  again 20 (20.0%)"))
        );
    }
}

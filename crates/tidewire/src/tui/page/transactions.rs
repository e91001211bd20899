//! Requests and replies so far, or in a past interval, the slowest functions first.

use super::{Room, Row, Sheet, counted, short};
use crate::quantity::{enough, span};
use records::findings::Grade;
use records::state::Model;
use records::{TransactionTotals, Transactions, shortened};

/// Columns of a server.
const SERVER_COLUMNS: usize = 15;
/// Columns of everything but the server and the function.
const OTHER_COLUMNS: usize = 3 + 1 + 6 + 1 + 7 + 5 + 8 + 8 + 8 + 8;

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let TransactionTotals { functions, requests, unanswered, exceptions, .. } =
        model.of_transactions;
    let about = format!(
        "{}, {}, {} without a reply, {}; the slowest first",
        counted(functions, "function"),
        counted(requests, "request"),
        short(unanswered),
        counted(exceptions, "exception"),
    );
    let rows = model.transactions.iter().flat_map(|it| rows(it, room)).collect();
    Sheet { about, heading: Some(heading(room)), rows }
}

/// Columns left for a function.
fn function_columns(room: Room) -> usize {
    room.columns.saturating_sub(OTHER_COLUMNS + SERVER_COLUMNS).clamp(9, 40)
}

fn heading(room: Room) -> String {
    let width = function_columns(room);
    format!(
        "   {:<SERVER_COLUMNS$} {:>5} {:<width$} {:>6} {:>4} {:>7} {:>7} {:>7} {:>7}",
        "server", "unit", "function", "count", "fail", "p50", "p99", "max", "period"
    )
}

/// Function in its column: its number alone if the name does not fit.
fn function(it: &Transactions, width: usize) -> String {
    let label = it.function_label();
    if label.chars().count() <= width { label } else { it.function.to_string() }
}

/// Rows of a function. If its name does not fit into its column, the name has a row of its own behind it.
fn rows(it: &Transactions, room: Room) -> Vec<Row> {
    let row = row(it, room);
    let name = it.function_name.as_ref();
    let name = name.filter(|_| it.function_label().chars().count() > function_columns(room));
    let name = name.map(|name| {
        let indent = 3 + SERVER_COLUMNS + 1;
        let name = shortened(name, room.columns.saturating_sub(indent).max(9));
        Row { grade: row.grade, ..Row::plain(format!("{:indent$}{name}", "")) }
    });
    [row].into_iter().chain(name).collect()
}

fn row(it: &Transactions, room: Room) -> Row {
    let grade = it.grade();
    let time =
        |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), |it| span(it).replace(' ', ""));
    let width = function_columns(room);
    let text = format!(
        "{} {:<SERVER_COLUMNS$} {:>5} {:<width$} {:>6} {:>4} {:>7} {:>7} {:>7} {:>7}",
        grade.map_or("  ", Grade::sign),
        shortened(&it.server, SERVER_COLUMNS),
        it.unit,
        function(it, width),
        short(it.replies),
        short(it.exceptions.saturating_add(it.unanswered)),
        time(enough(0.5, it.responses, it.response_p50_ns)),
        time(enough(0.99, it.responses, it.response_p99_ns)),
        time(it.response_max_ns),
        time(enough(0.5, it.periods, it.period_p50_ns)),
    );
    Row { text, grade, ..Row::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Symbols;
    use crate::tui::page::fed::fed;
    use records::Record;

    /// Two functions so far: one of a device behind a gateway that leaves requests without a reply.
    fn so_far() -> Record {
        let function = |unit: u8, unanswered: u8, max_ns: u64| {
            format!(
                r#"{{"protocol":"Modbus/TCP","server":"192.168.100.200","unit":{unit},"function":3,"acknowledgements":false,
                "function_name":"read holding registers","requests":120,"retries":0,
                "replies":{replies},"exceptions":0,"unanswered":{unanswered},"outstanding":0,
                "most_outstanding":1,"ambiguous":0,"repeated":0,"late":0,"unrequested":0,
                "dropped":0,"polls_dropped":0,"responses":{replies},"response_total_ns":1000000000,
                "response_min_ns":1000000,"response_p50_ns":5000000,"response_p99_ns":{max_ns},
                "response_max_ns":{max_ns},"periods":119,"period_total_ns":119000000000,
                "period_min_ns":1000000000,"period_p50_ns":1000000000,
                "period_p99_ns":1000000000,"period_max_ns":1000000000,"first_ns":0,
                "last_ns":120000000000}}"#,
                replies = 120 - unanswered
            )
        };
        let totals = r#"{"functions":2,"requests":240,"retries":0,"replies":237,"exceptions":0,
            "unanswered":3,"outstanding":0,"ambiguous":0,"without_request":0}"#;
        let slowest = [function(7, 3, 209_000_000), function(255, 0, 9_000_000)].join(",");
        let text = format!(
            r#"{{"type":"transactions-interval","index":0,"totals":{totals},
            "slowest":[{slowest}],"in_interval":[]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_unit_that_does_not_reply_is_marked_on_a_live_screen() {
        let mut model = fed(&[], &[], None, 24_000);
        model.take(so_far());
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        assert_eq!(
            sheet.about,
            "2 functions, 240 requests, 3 without a reply, 0 exceptions; the slowest first"
        );
        let [first, name, second, _] = &sheet.rows[..] else { panic!("{}", sheet.rows.len()) };
        assert!(first.text.starts_with("!! 192.168.100.200     7 3  "), "{}", first.text);
        assert_eq!(name.text.trim_start(), "read holding registers");
        assert!(first.text.ends_with("   3  5.00ms   209ms   209ms   1.00s"), "{}", first.text);
        assert_eq!((first.grade, second.grade), (Some(Grade::Bad), None));
        let heading = sheet.heading.unwrap();
        let lines = sheet.rows.iter().map(|row| row.text.as_str()).chain([heading.as_str()]);
        for line in lines {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

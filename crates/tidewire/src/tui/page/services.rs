//! Services of MMS by their response times, then associations that failed, then control blocks.

use super::{Room, Row, Sheet, counted, short};
use crate::quantity::{enough, span};
use records::findings::Grade;
use records::state::Model;
use records::{Block, Service, Services, shortened, shortened_ends};

/// Services and control blocks on the page of a connection.
const MOST_SERVICES: usize = 8;
const MOST_BLOCKS: usize = 4;

/// Columns of a service.
const SERVICE_COLUMNS: usize = 20;

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let found = Services::slowest_first(model.associations.values());
    let about = format!(
        "{} of {}, the slowest (p99) first",
        counted(found.len() as u64, "service"),
        counted(model.associations.len() as u64, "association"),
    );
    let mut rows: Vec<Row> = found.into_iter().map(|(of, it)| service(of, it, room)).collect();
    rows.extend(model.associations.values().filter_map(|of| ended(of, room)));
    let blocks = model.control_blocks.values();
    let blocks = blocks.flat_map(|of| of.control_blocks.iter().map(|it| (of.id, it)));
    rows.extend(blocks.map(|(id, it)| block(id, it, room)));
    Sheet { about, heading: Some(heading(room)), rows }
}

fn heading(room: Room) -> String {
    let width = server_columns(room);
    format!(
        "   {:<SERVICE_COLUMNS$} {:<width$} {:>6} {:>5} {:>4} {:>7} {:>7} {:>7}",
        "service", "server", "count", "fail", "open", "p50", "p99", "max"
    )
}

/// Rows of the association of one connection: its state, its services with their failures by name,
/// and its control blocks.
pub(super) fn of_connection(model: &Model, id: u32, room: Room) -> Vec<Row> {
    let Some(of) = model.associations.get(&id) else { return Vec::new() };
    let began = match of.set_up_ns {
        Some(nanos) => format!("set up in {}", span(nanos)),
        None if of.inferred => "found under way".to_owned(),
        None => "not accepted".to_owned(),
    };
    let cause = of.cause_in_words().map_or_else(String::new, |cause| format!(": {cause}"));
    let state = format!(
        "   association {}{cause}\n   {began}, {} outstanding, at most {}",
        of.state, of.outstanding, of.most_outstanding
    );
    let mut rows: Vec<Row> = state.lines().map(Row::plain).collect();
    if !of.services.is_empty() {
        rows.push(Row::plain(heading(room)));
    }
    for (of, it) in Services::slowest_first(core::iter::once(of)).into_iter().take(MOST_SERVICES) {
        rows.push(Row { connection: None, ..service(of, it, room) });
        let failures = it.failures.iter().map(|(name, times)| format!("{times} x {name}"));
        let unanswered = (it.unanswered > 0).then(|| format!("{} unanswered", it.unanswered));
        let failures = failures.chain(unanswered).collect::<Vec<_>>().join(", ");
        if !failures.is_empty() {
            rows.push(Row::plain(format!("      {}", shortened(&failures, room.columns - 8))));
        }
    }
    let blocks = model.control_blocks.get(&id).into_iter().flat_map(|of| &of.control_blocks);
    rows.extend(blocks.take(MOST_BLOCKS).map(|it| Row { connection: None, ..block(id, it, room) }));
    rows
}

/// Columns left for a server.
fn server_columns(room: Room) -> usize {
    room.columns.saturating_sub(3 + SERVICE_COLUMNS + 1 + 7 + 6 + 5 + 8 + 8 + 8 + 1).clamp(9, 40)
}

fn service(of: &Services, it: &Service, room: Room) -> Row {
    let (failures, grade) = (it.failed(), it.grade());
    let time = |nanos: Option<u64>| {
        nanos.map_or_else(|| "-".to_owned(), |nanos| span(nanos).replace(' ', ""))
    };
    let width = server_columns(room);
    let text = format!(
        "{} {:<SERVICE_COLUMNS$} {:<width$} {:>6} {:>5} {:>4} {:>7} {:>7} {:>7}",
        grade.map_or("  ", Grade::sign),
        shortened(&it.service, SERVICE_COLUMNS),
        shortened(&it.server, width),
        short(it.answers),
        short(failures),
        short(it.outstanding),
        time(enough(0.5, it.answers, it.response_p50_ns)),
        time(enough(0.99, it.answers, it.response_p99_ns)),
        time(it.response_max_ns),
    );
    Row { text, grade, connection: Some(of.id), ..Row::default() }
}

/// Row of an association that was refused or aborted.
fn ended(of: &Services, room: Room) -> Option<Row> {
    let cause = of.cause_in_words()?;
    let grade = Some(Grade::Look);
    let columns = room.columns.saturating_sub(14 + cause.chars().count());
    let ends = shortened_ends(&of.ends, columns.clamp(11, 60));
    let text = format!("{} {} {ends}: {cause}", Grade::Look.sign(), of.state);
    Some(Row { text, grade, connection: Some(of.id), ..Row::default() })
}

/// Row of a control block.
fn block(id: u32, it: &Block, room: Room) -> Row {
    let name = it.name.as_deref().unwrap_or("a control block");
    let name = shortened(name, room.columns.saturating_sub(52).max(12));
    let reports = counted(it.reports, "report");
    let mean = it.interval_total_ns.checked_div(it.intervals);
    let text = match mean.zip(it.interval_max_ns) {
        None => format!("   {name}: {reports}"),
        Some((mean, max)) => {
            let [mean, max] = [mean, max].map(span);
            format!("   {name}: {reports}, interval mean {mean}, max {max}")
        }
    };
    Row { connection: Some(id), ..Row::plain(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Symbols;
    use crate::tui::page::fed::fed;
    use records::Named;

    fn answered(name: &str, p99_ns: u64, errors: u64) -> Service {
        Service {
            service: name.into(),
            server: "10.0.0.2:102".into(),
            requests: 150,
            answers: 150,
            errors,
            failed_accesses: 0,
            rejects: 0,
            unanswered: 0,
            outstanding: 1,
            response_total_ns: 50_000_000,
            response_min_ns: Some(500_000),
            response_p50_ns: Some(1_000_000),
            response_p99_ns: Some(p99_ns),
            response_max_ns: Some(p99_ns),
            failures: Named::default(),
        }
    }

    #[test]
    fn the_slowest_service_comes_first_and_a_failing_one_is_marked() {
        let mut model = fed(&[], &[], None, 9);
        let of = Services {
            id: 4,
            ends: ["10.0.0.1:1024".into(), "10.0.0.2:102".into()],
            user: "MMS".into(),
            state: "aborted".into(),
            inferred: false,
            set_up_ns: None,
            cause: Some("ACSE user".to_owned()),
            outstanding: 2,
            most_outstanding: 3,
            odd: 0,
            dropped: 0,
            services: vec![answered("write", 2_000_000, 0), answered("read", 9_000_000, 7)],
        };
        model.associations.insert(4, of);
        let sheet = sheet(&model, Room { columns: 80, rows: 20, symbols: Symbols::Ascii });
        let texts: Vec<&str> = sheet.rows.iter().map(|row| row.text.as_str()).collect();
        assert!(texts[0].starts_with("!! read"), "{texts:?}");
        assert!(texts[1].starts_with("   write") && texts[1].ends_with("2.00ms  2.00ms"));
        assert_eq!(texts[2], "!  aborted 10.0.0.1:1024>10.0.0.2:102: ACSE user");
        assert!(texts.iter().chain([&sheet.heading.as_deref().unwrap()]).all(|it| it.len() <= 80));
    }

    #[test]
    fn the_page_of_a_connection_names_the_failures_of_its_services() {
        let mut model = fed(&[], &[], None, 9);
        let failures = Named(vec![("object-non-existent".into(), 7), ("error access/2".into(), 1)]);
        let of = Services {
            id: 4,
            ends: ["10.0.0.1:1024".into(), "10.0.0.2:102".into()],
            user: "MMS".into(),
            state: "aborted".into(),
            inferred: false,
            set_up_ns: Some(2_000_000),
            cause: Some("transport".to_owned()),
            outstanding: 0,
            most_outstanding: 3,
            odd: 0,
            dropped: 0,
            services: vec![Service { failures, unanswered: 2, ..answered("read", 9_000_000, 8) }],
        };
        model.associations.insert(4, of);
        let room = Room { columns: 80, rows: 20, symbols: Symbols::Ascii };
        let rows = of_connection(&model, 4, room);
        let [state, counts, heading, read, failures] = &rows[..] else { panic!("{}", rows.len()) };
        let ended = "its transport connection ended without a release";
        assert_eq!(state.text, format!("   association aborted: {ended}"));
        assert_eq!(counts.text, "   set up in 2.00 ms, 0 outstanding, at most 3");
        assert!(heading.text.starts_with("   service") && read.text.starts_with("!! read"));
        let named = "7 x object-non-existent, 1 x error access/2, 2 unanswered";
        assert_eq!(failures.text, format!("      {named}"));
        assert_eq!(of_connection(&model, 5, room).len(), 0);
    }
}

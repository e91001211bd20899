//! Contents of the monitor as plain data: every word and the length of every bar.

use super::controls::{Bars, Scales};
use super::gather::Snapshot;
use super::sample::{Count, Rates};
use crate::output::printable;
use crate::quantity::{self, significant};
use crate::tui::losses::Losses;
use crate::tui::page::overview::delay;
use crate::tui::page::{Room, Sheet, digest};
use bench::scenario::Span;
use core::time::Duration;
use meter::measure::Summary as Delays;
use meter::observation::DelayKind;
use records::state::Model;
use records::{Counts, calendar};

/// Width below which the screen has fewer words.
pub(in crate::tui) const WIDE_COLUMNS: usize = 72;

/// Contents of the page.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::tui) struct Charts {
    /// Notices, oldest first.
    pub(super) notices: Vec<String>,
    /// Packets, then bits.
    pub(super) charts: [Chart; 2],
    /// Names of the figures below the charts, with the sampling interval for their units.
    pub(super) titles: [String; 5],
    /// Acknowledgement delays and skipped redraws.
    pub(super) delays: String,
    /// TPDUs by kind, and the busiest connections.
    pub(super) digest: Sheet,
}

/// A bar chart and its line of figures.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Chart {
    /// Samples as fractions of the full scale, oldest first; above 1 if a sample exceeds it.
    pub(super) bars: Vec<f64>,
    /// Current, average, peak, unit, full scale.
    pub(super) figures: [String; 5],
}

impl Charts {
    /// Returns the charts of a snapshot, with what the model has below them, for a body of this size;
    /// redraws of `skipped` samples were skipped.
    pub(in crate::tui) fn of(
        model: &Model,
        seen: &Snapshot,
        bars: &Bars,
        room: Room,
        skipped: u64,
    ) -> Self {
        let is_wide = room.columns >= WIDE_COLUMNS;
        Self {
            notices: seen
                .notices
                .iter()
                .map(|notice| format!("{}  {}", clock(notice.at), notice.text))
                .collect(),
            charts: charts(seen, bars.scales, is_wide),
            titles: [
                "current".to_owned(),
                "average".to_owned(),
                "peak".to_owned(),
                Span(seen.interval.span()).to_string(),
                if is_wide { "full scale" } else { "full" }.to_owned(),
            ],
            delays: match seen.is_of_records {
                true => delay(&model.measures(), DelayKind::Acknowledgement)
                    .unwrap_or_else(|| "no AK delay".to_owned()),
                false => delays(&seen.delays, &model.measures(), Form { skipped, is_wide }),
            },
            digest: digest(model, room),
        }
    }
}

/// Returns source and filter for the left; for the right time and state, in as many words as leave
/// the left complete.
pub(in crate::tui) fn header(
    seen: &Snapshot,
    bars: &Bars,
    losses: Losses,
    columns: usize,
) -> [String; 2] {
    let left = match seen.is_of_records {
        true => printable(format!("{}  records", seen.name)),
        false => printable(format!("{}  filter: {}", seen.name, seen.filter)),
    };
    // A narrow screen has room for losses above zero only.
    let [all, above_zero] = losses.words();
    let losses = if columns >= WIDE_COLUMNS { all } else { above_zero };
    let taken = left.chars().count() + losses.chars().count();
    let room = columns.saturating_sub(taken + 2);
    let words = match bars.until {
        Some(until) => {
            let at = clock(until.min(seen.elapsed));
            let goes_on = format!("PAUSED {at}, recording");
            [goes_on, format!("PAUSED {at}"), "PAUSED".to_owned()]
        }
        None => {
            let mut day = calendar::time_of_day(seen.origin.unwrap_or_default() + seen.elapsed);
            day.truncate("00:00:00".len());
            let state = seen.state;
            let short = format!("{}  {state}", clock(seen.elapsed));
            [format!("{day}Z  {short}"), short, state.to_owned()]
        }
    };
    let [.., shortest] = &words;
    let right = words.iter().find(|words| words.chars().count() <= room).unwrap_or(shortest);
    [left, format!("{losses}{right}")]
}

fn charts(seen: &Snapshot, scales: Scales, is_wide: bool) -> [Chart; 2] {
    let chart = |of: fn(Rates) -> f64, scale: f64, unit: &str| Chart {
        bars: seen
            .samples
            .iter()
            .map(|sample: &Count| of(seen.interval.rates(*sample, 1)) / scale)
            .collect(),
        figures: [
            amount(of(seen.current)),
            amount(of(seen.average)),
            amount(of(seen.peak)),
            unit.to_owned(),
            amount(scale),
        ],
    };
    let packets = if is_wide { "packets/s" } else { "pkt/s" };
    let bits = if seen.has_lpdus_alone { "LPDU bit/s" } else { "bit/s" };
    [
        chart(|rates| rates.packets, scales.packets, packets),
        chart(|rates| rates.bits, scales.bits, bits),
    ]
}

/// Form of the line of delays.
#[derive(Clone, Copy)]
struct Form {
    skipped: u64,
    is_wide: bool,
}

/// Returns the acknowledgement delays on the screen; where there are none, as of class 0, the response times of the whole.
fn delays(delays: &Delays, measures: &Counts, form: Form) -> String {
    let Form { skipped, is_wide } = form;
    let responses = DelayKind::Response;
    let n = measures.count(responses.count());
    if delays.count == 0 && n > 0 {
        let of = |share, nanos| quantity::quantile(share, n, measures.get(nanos));
        let [p50, p99] = [of(0.5, responses.p50()), of(0.99, responses.p99())];
        let max = quantity::span(measures.count(responses.maximum()));
        return match is_wide {
            true => format!(
                "response  p50 {p50}  p99 {p99}  max {max}  n {n}    redraws skipped {skipped}"
            ),
            false => format!("resp. p50 {p50} max {max} n {}", amount(n as f64)),
        };
    }
    let ([median, p99, longest], count) = (quantiles(delays), delays.count);
    if is_wide {
        format!(
            "AK delay  p50 {median}  p99 {p99}  max {longest}  n {count}    \
             redraws skipped {skipped}"
        )
    } else {
        let [count, skipped] = [count as f64, skipped as f64].map(amount);
        format!("AK p50 {median} p99 {p99} n {count} skip {skipped}")
    }
}

/// Formats median, 99th percentile and maximum; `n/a` for each that needs more delays.
pub(super) fn quantiles(delays: &Delays) -> [String; 3] {
    let Delays { count, p50_ns, p99_ns, max_ns, .. } = *delays;
    let max = if count == 0 { "n/a".to_owned() } else { quantity::span(max_ns) };
    let [p50, p99] = [(0.5, p50_ns), (0.99, p99_ns)]
        .map(|(share, nanos)| quantity::quantile(share, count, Some(nanos)));
    [p50, p99, max]
}

/// Formats a number to three digits with the prefix that suits it: `58`, `0.25`, `39.2k`.
pub(super) fn amount(value: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // A value that would round up to a thousand of the smaller unit uses the greater unit.
    let found = PREFIXES.into_iter().find(|(each, _)| value >= each * 0.9995);
    let (each, prefix) = found.unwrap_or((1.0, ""));
    let value = value / each;
    let text = if value < 0.001 { "0".to_owned() } else { significant(value, 3) };
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return format!("{text}{prefix}");
    }
    format!("{text}{prefix}")
}

/// Formats the time since the start as hours, minutes, seconds and tenths: `0:01:23.4`.
pub(super) fn clock(since: Duration) -> String {
    let seconds = since.as_secs();
    let (hours, minutes, tenths) =
        (seconds / 3_600, seconds / 60 % 60, since.subsec_millis() / 100);
    format!("{hours}:{minutes:02}:{:02}.{tenths}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::monitor::{Gather, Growth, Interval, Window};
    use wire::filter::Filter;
    use wire::time::Instant;

    #[test]
    fn amounts_have_three_digits_and_a_prefix() {
        for (value, text) in [
            (0.0, "0"),
            (0.000_4, "0"),
            (0.25, "0.25"),
            (58.0, "58"),
            (99.96, "100"),
            (999.4, "999"),
            (999.6, "1k"),
            (39_200.0, "39.2k"),
            (1e6, "1M"),
            (9_999_999.0, "10M"),
            (1_488_095.2, "1.49M"),
            (1e12, "1T"),
        ] {
            assert_eq!(amount(value), text);
        }
    }

    #[test]
    fn the_header_gives_up_words_before_it_cuts_the_filter() {
        let interval = Interval::new(Duration::from_secs(1)).unwrap();
        let scales = Scales { packets: 1.0, bits: 1.0 };
        let growth = Growth::default();
        let mut bars = Bars { interval, scales, growth, until: None };
        let filter: Filter = "from 02:02:02:02:02:02".parse().unwrap();
        let mut gather = Gather::new("eth1".to_owned(), interval, filter);
        gather.begin(Instant::ZERO);
        gather.advance(Instant::from_nanos(83_000_000_000));
        let seen = gather.snapshot(Window { samples: 10, until: None });
        let losses = Losses { dropped: Some(0), ..Losses::default() };
        let mut right = |columns, until| {
            bars.until = until;
            let [left, right] = header(&seen, &bars, losses, columns);
            // 4 + 2 + 8 + 22 columns.
            assert_eq!(left, "eth1  filter: from 02:02:02:02:02:02");
            right
        };
        assert_eq!(right(80, None), "0 dropped, 0 unassigned  0:01:23.0  live");
        assert_eq!(right(60, None), "0:01:23.0  live");
        assert_eq!(right(40, None), "live");
        let at = Some(Duration::from_secs(2));
        assert_eq!(right(80, at), "0 dropped, 0 unassigned  PAUSED 0:00:02.0");
        assert_eq!(right(120, at), "0 dropped, 0 unassigned  PAUSED 0:00:02.0, recording");
        assert_eq!(right(60, at), "PAUSED 0:00:02.0");
        assert_eq!(right(40, at), "PAUSED");
    }

    #[test]
    fn a_clock_tells_tenths() {
        assert_eq!(clock(Duration::from_millis(83_450)), "0:01:23.4");
        assert_eq!(clock(Duration::from_secs(100 * 3_600)), "100:00:00.0");
    }
}

//! `tidewire show`: a stream of measures in, screens or lines out.

use super::pace::{self, Pace};
use super::page::LivePage;
use super::screen_keys;
use crate::args::Screen;
use crate::args::measuring::{MONITOR_BITS_SCALE, MONITOR_PACKETS_SCALE, Show};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::quantity;
use crate::record_folder::MEASURES as RECORDS;
use crate::runs;
use crate::stream::Lines;
use crate::threaded_reader::Pipe;
use crate::tui::{
    self, Bars, Gather, Growth, Kept, Look, Page, Scales, Shared, Start, Surroundings, Tempo,
};
use bench::scenario::Rate;
use records::state::Model;
use records::{Reader, Record};
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use wire::time::Instant;

type Stream = Reader<Box<dyn BufRead + Send>>;

pub(crate) fn run(options: &Show, output: &Output) -> anyhow::Result<Exit> {
    if options.print_keys {
        return screen_keys::print(options.keys.as_deref(), output);
    }
    let keys = screen_keys::read(options.keys.as_deref())?;
    let line = screen_keys::line(options.terminal_rate.as_deref())?;
    let speed = options.speed.as_deref().map(pace::speed).transpose()?.flatten();
    let tempo = speed.map(Tempo::new);
    let is_plain =
        options.plain || output.json || options.page.web.is_some() || !io::stdout().is_terminal();
    if is_plain {
        return plain(options, tempo, output);
    }
    tui::check_screen()?;
    let file = file(options, output);
    let (name, from) = open(file.as_deref())?;
    let (reader, head) =
        Reader::open(from).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    let samples = Gather::of_records(&head);
    let bars = samples.as_ref().map(bars).transpose()?;
    let page = match (options.screen, &samples) {
        (Screen::Measures, _) => Page::Overview,
        (Screen::Monitor, Some(_)) => Page::Monitor,
        (Screen::Monitor, None) => return Err(no_bars(&name).into()),
    };
    let (model, samples) = (Shared::new(Model::new(head)), samples.map(Shared::new));
    let (to, bars_to) = (model.clone(), samples.clone());
    let played = tempo.clone();
    let reading = std::thread::spawn(move || {
        let exit = read(reader, &name, played, |record| {
            if let Some(samples) = &bars_to {
                samples.lock().take(&record);
            }
            to.lock().take(record);
            Ok(!interrupt::requested())
        });
        if let Some(samples) = &bars_to {
            samples.lock().conclude(exit.as_ref().err().map(ToString::to_string));
        }
        exit
    });
    let around = Surroundings::of_process();
    let start = Start {
        model: model.clone(),
        samples,
        bars,
        page,
        keys,
        look: Look::new(options.theme, options.symbols, &around),
        line,
        folder: folder(file.as_deref()),
        tempo,
        keeps_run: false,
        meters_frames: false,
    };
    let exit = tui::show(start, reading);
    if !output.quiet {
        let intervals = match &model.lock() {
            all if all.end.is_some() => Some(all.intervals()),
            _ => file.as_deref().and_then(intervals),
        };
        let kept = file.map_or(Kept::Passed, Kept::File);
        tui::print_summary(&model, tui::Source::Records { intervals }, &kept, output)?;
    }
    exit
}

/// Refusal of the monitor for records that it cannot draw.
fn no_bars(name: &str) -> Failure {
    let message =
        format!("--screen monitor: {name} has no samples, and --only left its octets out");
    Failure::failed(message).with_fix("leave --screen monitor out, or meter again with --sample")
}

/// Settings of the monitor for these samples.
fn bars(samples: &Gather) -> Result<Bars, Failure> {
    let Rate(bits) = quantity::option("--bits-scale", MONITOR_BITS_SCALE)?;
    Ok(Bars {
        interval: samples.interval(),
        scales: Scales { packets: MONITOR_PACKETS_SCALE, bits: bits.bits_per_second() as f64 },
        growth: Growth { packets: true, bits: true },
        until: None,
    })
}

/// Counts the complete intervals of a file, of which a replay may have shown a part; none if it cannot be read to its
/// end, or an interrupt ends the count.
fn intervals(file: &Path) -> Option<u64> {
    let (_, from) = open(Some(file)).ok()?;
    let (mut reader, head) = Reader::open(from).ok()?;
    let mut all = Model::new(head);
    while let Some(record) = reader.next_record().ok()? {
        if interrupt::requested() {
            return None;
        }
        if matches!(record, Record::Interval(_)) {
            all.take(record);
        }
    }
    Some(all.intervals())
}

/// Folder of exported screens: that of a run whose records are shown, or else the current one.
fn folder(file: Option<&Path>) -> PathBuf {
    let of_file = file.and_then(Path::parent);
    let of_run = of_file.filter(|folder| folder.join("run.json").is_file());
    of_run.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Prints a stream as lines or records. After an interrupt a pipe is still read to the writer's end record; a
/// file is not read further.
fn plain(options: &Show, tempo: Option<Tempo>, output: &Output) -> anyhow::Result<Exit> {
    output::install_interrupts()?;
    let file = file(options, output);
    let (name, from) = open(file.as_deref())?;
    let (reader, head) = match Reader::open(from) {
        Ok(opened) => opened,
        Err(_) if interrupt::requested() => return Ok(Exit::Interrupted),
        Err(error) => return Err(Failure::failed(format!("{name}: {error}")).into()),
    };
    let page = LivePage::open(&options.page, head.clone(), output)?;
    output.record(&Record::Stream(head.clone()))?;
    let mut lines = Lines::new(head);
    let reads_on = file.is_none() && tempo.is_none();
    let exit = read(reader, &name, tempo, |record| {
        let goes_on = reads_on || !interrupt::requested();
        if goes_on {
            output.record(&record)?;
            lines.tell(&record, output)?;
            if let Some(page) = &page {
                page.take(record);
            }
        }
        Ok(goes_on)
    });
    if let Some(page) = page {
        page.close(file.is_some(), output);
    }
    if interrupt::requested() { Ok(Exit::Interrupted) } else { exit }
}

/// Reads records to the end, each when it is due, or until no more are wanted.
fn read(
    mut reader: Stream,
    name: &str,
    tempo: Option<Tempo>,
    mut tell: impl FnMut(Record) -> io::Result<bool>,
) -> anyhow::Result<Exit> {
    let mut pace = tempo.map(Pace::new);
    let mut exit = Exit::Ok;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(exit),
            Err(_) if interrupt::requested() => return Ok(Exit::Interrupted),
            Err(error) => return Err(Failure::failed(format!("{name}: {error}")).into()),
        };
        if let (Some(pace), Some(end)) = (&mut pace, end(&record)) {
            // The first is due at once: until its end a replay would have nothing to show.
            pace.begin(end);
            while !pace.wait(end) {}
        }
        if let Record::End(end) = &record
            && (!end.complete || end.dropped_by_kernel.is_some_and(|dropped| dropped > 0))
        {
            exit = Exit::Undecided;
        }
        if !tell(record)? {
            return Ok(exit);
        }
    }
}

/// End of the time that a record covers, if it has one.
fn end(record: &Record) -> Option<Instant> {
    let (start, length) = match record {
        Record::Sample(sample) => (sample.start_ns, sample.length_ns),
        Record::Interval(interval) => (interval.start_ns, interval.length_ns),
        _ => return None,
    };
    Some(Instant::from_nanos(start.saturating_add(length)))
}

/// Returns the file that is read; none for standard input. A run folder stands for the records in it, and a folder of
/// runs for the latest.
fn file(options: &Show, output: &Output) -> Option<PathBuf> {
    let path = options.file.as_deref().filter(|file| file.as_os_str() != "-")?;
    if !path.is_dir() {
        return Some(path.to_owned());
    }
    let folder = runs::latest(path, runs::Kept::Any, output);
    let records = folder.join(RECORDS);
    Some(if records.is_file() { records } else { folder })
}

/// Input, and its name in messages.
fn open(file: Option<&Path>) -> Result<(String, Box<dyn BufRead + Send>), Failure> {
    let Some(file) = file else {
        let from = BufReader::new(Pipe::lasting(io::stdin()));
        return Ok(("standard input".to_owned(), Box::new(from)));
    };
    let name = file.display().to_string();
    if file.is_dir() {
        let failure = Failure::failed(format!("{name}: a folder without {RECORDS}"));
        let fix =
            "name a folder of `watch -o`; `tidewire report` shows those of predict and measure";
        return Err(failure.with_fix(fix));
    }
    let opened = interrupt::open(file)
        .map_err(|error| Failure::failed(format!("cannot open {name}: {error}")))?;
    Ok((name, Box::new(BufReader::new(opened))))
}

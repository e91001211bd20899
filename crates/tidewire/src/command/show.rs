//! `tidewire show`: a stream of measures in, screens or lines out.

use super::pace::{self, Pace};
use super::page::LivePage;
use super::screen_keys;
use crate::args::measuring::Show;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::stream::Lines;
use crate::threaded_reader::Pipe;
use crate::tui::{self, Look, Page, Shared, Start, Surroundings};
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
    let speed = options.speed.as_deref().map(pace::speed).transpose()?.flatten();
    let is_plain =
        options.plain || output.json || options.page.web.is_some() || !io::stdout().is_terminal();
    if is_plain {
        return plain(options, speed, output);
    }
    tui::check_screen()?;
    let (name, from) = open(options)?;
    let (reader, head) =
        Reader::open(from).map_err(|error| Failure::failed(format!("{name}: {error}")))?;
    let model = Shared::new(Model::new(head));
    let to = model.clone();
    let reading = std::thread::spawn(move || {
        read(reader, &name, speed, |record| {
            to.lock().take(record);
            Ok(!interrupt::requested())
        })
    });
    let start = Start {
        model,
        samples: None,
        bars: None,
        page: Page::Overview,
        keys,
        look: Look::new(options.theme, options.symbols, &Surroundings::of_process()),
        folder: folder(options),
    };
    tui::show(start, reading)
}

/// Folder of exported screens: that of a run whose records are shown, or else the current one.
fn folder(options: &Show) -> PathBuf {
    let of_file = options.file.as_deref().and_then(Path::parent);
    let of_run = of_file.filter(|folder| folder.join("run.json").is_file());
    of_run.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Prints a stream as lines or records. After an interrupt a pipe is still read to the writer's end record; a
/// file is not read further.
fn plain(options: &Show, speed: Option<f64>, output: &Output) -> anyhow::Result<Exit> {
    output::install_interrupts()?;
    let (name, from) = open(options)?;
    let (reader, head) = match Reader::open(from) {
        Ok(opened) => opened,
        Err(_) if interrupt::requested() => return Ok(Exit::Interrupted),
        Err(error) => return Err(Failure::failed(format!("{name}: {error}")).into()),
    };
    let page = LivePage::open(&options.page, head.clone(), output)?;
    output.record(&Record::Stream(head.clone()))?;
    let mut lines = Lines::new(head);
    let reads_on = is_standard(options) && speed.is_none();
    let exit = read(reader, &name, speed, |record| {
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
        page.close(!is_standard(options), output);
    }
    if interrupt::requested() { Ok(Exit::Interrupted) } else { exit }
}

/// Reads records to the end, each when it is due, or until no more are wanted.
fn read(
    mut reader: Stream,
    name: &str,
    speed: Option<f64>,
    mut tell: impl FnMut(Record) -> io::Result<bool>,
) -> anyhow::Result<Exit> {
    let mut pace = speed.map(Pace::new);
    let mut exit = Exit::Ok;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(exit),
            Err(_) if interrupt::requested() => return Ok(Exit::Interrupted),
            Err(error) => return Err(Failure::failed(format!("{name}: {error}")).into()),
        };
        if let (Some(pace), Some((start, end))) = (&mut pace, span(&record)) {
            pace.begun(start);
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

/// Begin and end of the time that a record covers, if it has one.
fn span(record: &Record) -> Option<(Instant, Instant)> {
    let (start, length) = match record {
        Record::Sample(sample) => (sample.start_ns, sample.length_ns),
        Record::Interval(interval) => (interval.start_ns, interval.length_ns),
        _ => return None,
    };
    Some((Instant::from_nanos(start), Instant::from_nanos(start.saturating_add(length))))
}

/// True if the stream comes from standard input.
fn is_standard(options: &Show) -> bool {
    options.file.as_deref().is_none_or(|file| file.as_os_str() == "-")
}

/// Input, and its name in messages.
fn open(options: &Show) -> Result<(String, Box<dyn BufRead + Send>), Failure> {
    let Some(file) = options.file.as_deref().filter(|_| !is_standard(options)) else {
        let from = BufReader::new(Pipe::lasting(io::stdin()));
        return Ok(("standard input".to_owned(), Box::new(from)));
    };
    let name = file.display().to_string();
    let opened = interrupt::open(file)
        .map_err(|error| Failure::failed(format!("cannot open {name}: {error}")))?;
    Ok((name, Box::new(BufReader::new(opened))))
}

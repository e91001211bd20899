//! The loop of the screen: draws and reads keys until the operator leaves.

use super::canvas::{Canvas, text_of};
use super::controls::{Controls, Shown};
use super::draw;
use super::effect::Effect;
use super::export;
use super::line::Line;
use super::monitor::replayed;
use super::monitor::{Interval, Snapshot};
use super::page::Page;
use super::passed::{Newest, Passed};
use super::terminal::Session;
use super::theme::Look;
use super::view::{Contents, View};
use super::{Gather, Shared, Start, Tempo};
use crate::exit::Exit;
use crate::interrupt::{self, LOOK_UP};
use crate::quantity;
use core::time::Duration;
use live::clock;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self as terminal_event, Event, KeyEventKind};
use ratatui::layout::Rect;
use records::state::Model;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::thread::JoinHandle;

/// Longest wait for the last report of frames that come from a pipe without an end.
const LAST_REPORT: Duration = Duration::from_millis(500);

/// Shows pages until the operator leaves, and returns the result of the thread that fills them if it
/// has ended. An operator who leaves earlier gets no verdict, and a silent source is not waited for, unless a run
/// is kept: then the source is stopped as by an interrupt.
pub(crate) fn show(
    start: Start,
    filling: JoinHandle<anyhow::Result<Exit>>,
) -> anyhow::Result<Exit> {
    let (model, keeps_run) = (start.model.clone(), start.keeps_run);
    let meters_frames = start.meters_frames;
    let session = Session::begin()?;
    let left = Screen::new(start).show();
    drop(session);
    let left = left?;
    if let Left::Keeping(text) = &left {
        io::stdout().write_all(text.as_bytes())?;
    }
    let is_interrupted = left == Left::Interrupted || interrupt::requested();
    let is_over = filling.is_finished();
    if !is_over && (keeps_run || meters_frames) {
        interrupt::request();
    }
    if !is_over && meters_frames {
        let latest = clock::now() + LAST_REPORT;
        while !filling.is_finished() && clock::now() < latest {
            clock::sleep_until((clock::now() + LOOK_UP).min(latest));
        }
    }
    // The end of a run is written before the process ends.
    let ended = (keeps_run || is_over)
        .then(|| filling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    match ended {
        Some(Err(error)) if keeps_run || !is_interrupted => return Err(error),
        _ if is_interrupted => return Ok(Exit::Interrupted),
        Some(ended) if is_over => return ended,
        Some(_) | None => {}
    }
    // Dropped frames are in no measure, so none of the measures is valid.
    let has_dropped = model.lock().dropped().is_some_and(|dropped| dropped > 0);
    Ok(if has_dropped { Exit::Undecided } else { Exit::Ok })
}

/// End of the display.
#[derive(PartialEq, Eq)]
enum Left {
    /// By the operator.
    Quit,
    /// By the operator, who keeps this text of the screen.
    Keeping(String),
    /// By an interrupt.
    Interrupted,
}

/// State of the display.
struct Screen {
    model: Shared<Model>,
    samples: Option<Shared<Gather>>,
    /// Model shown while the display is frozen.
    frozen: Option<Box<Model>>,
    /// TPDUs listed while the display is frozen.
    frozen_newest: Option<Box<Newest>>,
    /// The earlier interval that is shown alone.
    past: Option<Box<Model>>,
    controls: Controls,
    look: Look,
    line: Line,
    /// Folder of exported screens.
    folder: PathBuf,
    /// Speed of a replay.
    tempo: Option<Tempo>,
    /// Interval and number of samples at the last redraw of the monitor.
    drawn: Option<(Interval, u64)>,
    /// Samples that ended between two redraws and had none of their own.
    skipped: u64,
}

impl Screen {
    fn new(start: Start) -> Self {
        let Start { model, samples, bars, page, keys, look, line, folder, tempo, .. } = start;
        let controls = Controls::new(page, keys, bars);
        let (frozen, frozen_newest, past, drawn) = (None, None, None, None);
        Self {
            model,
            samples,
            frozen,
            frozen_newest,
            past,
            controls,
            look,
            line: Line::new(line),
            folder,
            tempo,
            drawn,
            skipped: 0,
        }
    }

    /// Draws and applies keys until the operator leaves, or an interrupt ends it.
    fn show(&mut self) -> io::Result<Left> {
        let (mut canvas, mut drawn) = (Canvas::new()?, None);
        while !interrupt::requested() {
            let area = canvas.area()?;
            let room = match self.controls.page {
                Page::Monitor => usize::from(area.width) * self.look.samples_a_column(),
                _ => 0,
            };
            let seen = self.seen(room);
            let passed = self.passed();
            let view = self.view(seen.as_ref(), passed.as_deref(), area);
            // A slow line gets octets only where something changed.
            let began = clock::now();
            if self.line.is_free(began) && drawn.as_ref() != Some(&(area, view.clone())) {
                let octets = canvas.draw(|frame| draw::draw(frame, &view, &self.look))?;
                self.line.sent(octets, [began, clock::now()]);
                drawn = Some((area, view.clone()));
            }
            match self.read_key(&view, seen.as_ref(), room)? {
                Effect::Quit => return Ok(Left::Quit),
                Effect::Keep => {
                    let cells = canvas.cells(|frame| draw::draw(frame, &view, &self.look))?;
                    return Ok(Left::Keeping(text_of(&cells)));
                }
                Effect::Export => {
                    let cells = canvas.cells(|frame| draw::draw(frame, &view, &self.look))?;
                    self.controls.exported = Some(self.export(&view, seen.as_ref(), &cells));
                }
                Effect::Interrupt => return Ok(Left::Interrupted),
                effect => self.apply(effect),
            }
        }
        Ok(Left::Interrupted)
    }

    /// Copies the samples to show.
    fn seen(&mut self, room: usize) -> Option<Snapshot> {
        let window = self.controls.bars.as_ref()?.look(room);
        let mut seen = self.samples.as_ref()?.lock().snapshot(window);
        if seen.is_of_records && self.controls.page == Page::Monitor {
            self.of_shown(|model| add_events(&mut seen, model));
        }
        let bars = self.controls.bars.as_mut()?;
        if self.controls.page == Page::Monitor {
            bars.grow(&seen);
            self.count_skipped(&seen);
        } else {
            self.drawn = None;
        }
        Some(seen)
    }

    /// Copies the TPDUs to list; none without frames.
    fn passed(&self) -> Option<Vec<Passed>> {
        let mut samples = self.samples.as_ref()?.lock();
        let chosen = self.controls.chosen.filter(|_| self.controls.page == Page::Passed);
        let newest = samples.newest()?;
        newest.list(chosen);
        let newest = self.frozen_newest.as_deref().unwrap_or(newest);
        Some(chosen.map_or_else(Vec::new, |chosen| newest.of(chosen)))
    }

    /// Counts samples without a redraw of their own. A frozen screen needs none.
    fn count_skipped(&mut self, seen: &Snapshot) {
        let before = self.drawn.replace((seen.interval, seen.end));
        if self.controls.is_paused {
            return;
        }
        if let Some((interval, end)) = before
            && interval == seen.interval
        {
            self.skipped += seen.end.saturating_sub(end + 1);
        }
    }

    fn view(&self, seen: Option<&Snapshot>, passed: Option<&[Passed]>, area: Rect) -> View {
        let of = |model: &Model| {
            let contents = Contents { model, seen, skipped: self.skipped, passed };
            View::of(contents, &self.controls, area, &self.look)
        };
        match self.past.as_deref().or(self.frozen.as_deref()) {
            Some(model) => of(model),
            None => of(&self.model.lock()),
        }
    }

    /// Reads keys until the next redraw; a key that changes something triggers it.
    fn read_key(
        &mut self,
        view: &View,
        seen: Option<&Snapshot>,
        room: usize,
    ) -> io::Result<Effect> {
        let due = self.line.next(clock::now());
        while terminal_event::poll(due.since(clock::now()))? {
            let Event::Key(key) = terminal_event::read()? else { return Ok(Effect::None) };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let ids =
                self.of_shown(|model| model.connections.keys().copied().collect::<Vec<u32>>());
            let intervals = self.of_all(|model| model.history.intervals());
            let (sheet, rows) = (view.sheet(), view.rows());
            let shown = Shown { sheet, rows, ids: &ids, intervals, seen, room };
            return Ok(self.controls.press(&key, &shown));
        }
        Ok(Effect::None)
    }

    /// Writes the screen to files, and returns the result in words.
    fn export(&self, view: &View, seen: Option<&Snapshot>, cells: &Buffer) -> String {
        let page = self.controls.page;
        let written = self.of_shown(|model| {
            export::export(export::Shown { page, view, model, seen }, cells, &self.folder)
        });
        let folder = self.folder.display();
        match written {
            Ok(names) if self.folder.as_os_str() == "." => format!("written: {names}"),
            Ok(names) => format!("written: {folder}/{names}"),
            Err(error) => format!("cannot write into {folder}: {error}"),
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Interval(interval) => self.order(|samples| samples.set_interval(interval)),
            Effect::Filter(filter) => self.order(|samples| samples.set_filter(filter)),
            Effect::Restart => self.order(Gather::restart),
            Effect::Pause => {
                let is_paused = self.controls.is_paused;
                self.frozen = is_paused.then(|| Box::new(self.model.lock().clone()));
                self.frozen_newest = self.newest().filter(|_| is_paused);
                self.step();
            }
            Effect::Step => self.step(),
            Effect::Slower => self.replay_at(0.5),
            Effect::Faster => self.replay_at(2.0),
            Effect::None | Effect::Export | Effect::Quit | Effect::Keep | Effect::Interrupt => {}
        }
    }

    /// Copies the newest TPDUs, if they are kept.
    fn newest(&self) -> Option<Box<Newest>> {
        self.samples.as_ref()?.lock().newest().map(|newest| Box::new(newest.clone()))
    }

    /// Changes the speed of a replay, and tells it until the next key.
    fn replay_at(&mut self, times: f64) {
        let told = match &self.tempo {
            Some(tempo) => format!("replay at {}x", quantity::trimmed(tempo.multiply(times), 6)),
            None => "no replay: --speed N shows a file at N times its own speed".to_owned(),
        };
        self.controls.exported = Some(told);
    }

    fn order(&self, order: impl FnOnce(&mut Gather)) {
        if let Some(samples) = &self.samples {
            order(&mut samples.lock());
        }
    }

    /// Selects the requested interval.
    fn step(&mut self) {
        let model = self.controls.past.and_then(|at| self.of_all(|model| model.past(at)));
        self.past = model.map(Box::new);
    }

    /// Inspects the model of all intervals: frozen, or current.
    fn of_all<T>(&self, inspect: impl FnOnce(&Model) -> T) -> T {
        match self.frozen.as_deref() {
            Some(model) => inspect(model),
            None => inspect(&self.model.lock()),
        }
    }

    /// Inspects the model on display: an earlier interval, frozen, or current.
    fn of_shown<T>(&self, inspect: impl FnOnce(&Model) -> T) -> T {
        match self.past.as_deref() {
            Some(model) => inspect(model),
            None => self.of_all(inspect),
        }
    }
}

/// Adds the events of the records to the notices of a snapshot, up to the end of its window.
fn add_events(seen: &mut Snapshot, model: &Model) {
    let end = seen.interval.times(seen.first + seen.samples.len() as u64);
    let events = replayed::events(model, seen.origin.unwrap_or_default());
    seen.notices.extend(events.into_iter().filter(|event| event.at <= end));
    seen.notices.sort_by_key(|notice| notice.at);
}

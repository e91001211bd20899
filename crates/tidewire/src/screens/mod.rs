//! Screens of measures: the problems of a network, and where they are.
//!
//! They show only the contents of the stream, so their numbers are the same whether the stream
//! comes from this process or through a pipe. NBSIR 85-3104 had displays of connectivity,
//! connections by host, TPDUs by type and octets by host. These screens have them, and in addition
//! findings, one connection in depth, and losses during collection.
//!
//! ```text
//! records (a thread) -> Model -> page: rows of text -> View -> draw
//!                                 ^ controls <- keys
//! ```

mod controls;
mod draw;
#[cfg(test)]
mod fed;
mod page;

use crate::canvas::Canvas;
use crate::exit::Exit;
use crate::interrupt;
use crate::tui::{Look, Session};
pub(crate) use records::findings::Findings;
use records::{Head, Record};

use controls::{Controls, Effect, Shown};
use core::time::Duration;
use draw::View;
use live::clock;
use ratatui::crossterm::event::{self as terminal_event, Event, KeyEventKind};
use records::state::Model;
use std::io;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

/// Minimum time between two redraws.
const REDRAW: Duration = Duration::from_millis(100);
/// Maximum time spent on records before keys are read again.
const TAKE: Duration = Duration::from_millis(80);
/// Maximum time between two records of a file that is read at full speed.
const FOLLOWS: Duration = Duration::from_millis(2);

/// Shows the records of a thread until the operator leaves, and returns the result of the thread if
/// it has ended. An operator who leaves earlier gets no verdict, and a silent pipe is not waited
/// for.
pub(crate) fn show(
    head: Head,
    (records, teller): (Receiver<Record>, JoinHandle<anyhow::Result<Exit>>),
    look: &Look,
) -> anyhow::Result<Exit> {
    let is_interrupted = draw_until_left(head, &records, look)?;
    drop(records);
    if is_interrupted || interrupt::requested() {
        return Ok(Exit::Interrupted);
    }
    if !teller.is_finished() {
        return Ok(Exit::Ok);
    }
    teller.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Shows records until the operator leaves; returns true if that was by an interrupt.
fn draw_until_left(head: Head, records: &Receiver<Record>, look: &Look) -> anyhow::Result<bool> {
    let session = Session::begin()?;
    let mut screen = Screen {
        model: Model::new(head),
        frozen: None,
        past: None,
        controls: Controls::new(),
        look: *look,
    };
    let left = screen.show(records);
    drop(session);
    Ok(left?)
}

/// State of the display.
struct Screen {
    model: Model,
    /// Model shown while the display is frozen.
    frozen: Option<Box<Model>>,
    /// The earlier interval that is shown alone.
    past: Option<Box<Model>>,
    controls: Controls,
    look: Look,
}

impl Screen {
    fn show(&mut self, records: &Receiver<Record>) -> io::Result<bool> {
        let mut canvas = Canvas::new()?;
        while !interrupt::requested() {
            self.take(records);
            let shown = self.shown();
            let size = canvas.area()?;
            let size = (size.width, size.height);
            let view = View::of(shown, &self.controls, size, &self.look);
            canvas.draw(|frame| draw::draw(frame, &view, &self.look))?;
            match self.obey(&view)? {
                Effect::Quit => return Ok(false),
                Effect::Interrupt => return Ok(true),
                Effect::Pause => {
                    let is_paused = self.controls.is_paused;
                    self.frozen = is_paused.then(|| Box::new(self.model.clone()));
                    self.step();
                }
                Effect::Step => self.step(),
                Effect::None => {}
            }
        }
        Ok(true)
    }

    /// Returns the model on display: an earlier interval, the frozen model, or the current one.
    fn shown(&self) -> &Model {
        self.past.as_deref().or(self.frozen.as_deref()).unwrap_or(&self.model)
    }

    /// Selects the requested interval.
    fn step(&mut self) {
        let frozen = self.frozen.as_deref().unwrap_or(&self.model);
        let model = self.controls.past.and_then(|at| frozen.history.model(&frozen.head, at));
        self.past = model.map(Box::new);
    }

    /// Applies waiting records and those that follow immediately, for at most [`TAKE`], so that
    /// keys are not delayed.
    fn take(&mut self, records: &Receiver<Record>) {
        let until = clock::now() + TAKE;
        while let Ok(record) = records.recv_timeout(FOLLOWS) {
            self.model.take(record);
            if clock::now() >= until {
                return;
            }
        }
    }

    /// Reads keys until the next redraw; a key that changes something triggers it.
    fn obey(&mut self, view: &View) -> io::Result<Effect> {
        let due = clock::now() + REDRAW;
        let intervals = self.frozen.as_deref().unwrap_or(&self.model).history.intervals();
        while terminal_event::poll(due.since(clock::now()))? {
            let Event::Key(key) = terminal_event::read()? else { return Ok(Effect::None) };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let ids: Vec<u32> = self.shown().connections.keys().copied().collect();
            let (sheet, rows) = (&view.sheet, view.rows);
            return Ok(self.controls.press(&key, &Shown { sheet, rows, ids: &ids, intervals }));
        }
        Ok(Effect::None)
    }
}

//! The screens of measures: what is wrong on a network, and where.
//!
//! They show what the stream says and nothing else, so their numbers are those of the stream,
//! whether it comes from this process or through a pipe. NBSIR 85-3104 had displays of connectivity,
//! connections by host, TPDUs by type and octets by host; these are here, beside what was found to be
//! wrong, one connection in depth, and how well frames came in.
//!
//! ```text
//! records (a thread) -> Model -> page: rows of text -> View -> draw
//!                                 ^ controls <- keys
//! ```

mod controls;
mod course;
mod draw;
mod event;
mod finding;
mod history;
mod known;
mod model;
mod page;
mod sum;

use crate::canvas::Canvas;
use crate::exit::Exit;
use crate::interrupt;
use crate::stream::{Head, Record};
use crate::tui::{Look, Session};
pub(crate) use finding::Findings;

use controls::{Controls, Effect, Shown};
use core::time::Duration;
use draw::View;
use live::clock;
use model::Model;
use ratatui::crossterm::event::{self as terminal_event, Event, KeyEventKind};
use std::io;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

/// From one redraw to the next, at the least.
const REDRAW: Duration = Duration::from_millis(100);
/// How long records are taken in before keys are looked at again.
const TAKE: Duration = Duration::from_millis(80);
/// Within this time a record follows the one before it where a file is read as fast as it can be.
const FOLLOWS: Duration = Duration::from_millis(2);

/// Shows what a thread tells until somebody leaves, and how that thread ended if it has. Whoever leaves
/// before has no verdict of it, and a silent pipe is not waited for.
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

/// Shows what is told until somebody leaves; whether that was by an interrupt.
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

/// What is shown and how.
struct Screen {
    model: Model,
    /// What is shown while it stands still.
    frozen: Option<Box<Model>>,
    /// The interval that has been stepped back to, by itself.
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

    /// What is shown: an interval, what stands still, or what is told now.
    fn shown(&self) -> &Model {
        self.past.as_deref().or(self.frozen.as_deref()).unwrap_or(&self.model)
    }

    /// Turns to the interval that is asked for.
    fn step(&mut self) {
        let frozen = self.frozen.as_deref().unwrap_or(&self.model);
        let model = self.controls.past.and_then(|at| frozen.history.model(&frozen.head, at));
        self.past = model.map(Box::new);
    }

    /// Takes in what has been told since and what follows it at once, as long as that does not keep keys waiting.
    fn take(&mut self, records: &Receiver<Record>) {
        let until = clock::now() + TAKE;
        while let Ok(record) = records.recv_timeout(FOLLOWS) {
            self.model.take(record);
            if clock::now() >= until {
                return;
            }
        }
    }

    /// Reads keys until it is time to draw; a key that changed something makes it so.
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

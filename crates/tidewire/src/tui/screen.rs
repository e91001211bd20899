//! The terminal: takes it over, draws and reads keys until the operator leaves, and always restores
//! it.

use super::controls::{Controls, Effect, Order};
use super::draw::{self, LEAST_COLUMNS, LEAST_ROWS};
use super::gather::{Gather, Snapshot};
use super::sample::Interval;
use super::source::Source;
use super::theme::Look;
use super::view::{Surface, View};
use super::worker::{self, Outcome, Update};
use super::{Ended, Settings};
use crate::canvas::Canvas;
use crate::exit::Failure;
use crate::interrupt;
use core::time::Duration;
use live::clock;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::{cursor, execute, terminal};
use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::{self, Receiver, Sender};

/// Minimum time between two redraws.
const REDRAW: Duration = Duration::from_millis(100);
/// Maximum time to wait for a snapshot before keys are read again.
const ANSWER: Duration = Duration::from_millis(500);

/// Checks that there is a terminal with enough room.
///
/// # Errors
/// Names what is missing, and an option that works without it.
pub(super) fn check() -> Result<(), Failure> {
    const FIX: &str = "--plain writes a line per sampling interval instead";
    if !io::stdout().is_terminal() {
        return Err(Failure::usage("--screen needs a terminal on standard output").with_fix(FIX));
    }
    let (columns, rows) = terminal::size().map_err(|error| {
        Failure::failed(format!("the terminal does not tell its size: {error}"))
    })?;
    if columns < LEAST_COLUMNS || rows < LEAST_ROWS {
        return Err(Failure::usage(format!(
            "--screen needs {LEAST_COLUMNS} columns and {LEAST_ROWS} rows: \
             here are {columns} and {rows}"
        ))
        .with_fix(FIX));
    }
    Ok(())
}

/// The terminal while the monitor owns it.
pub(crate) struct Session;

impl Session {
    /// Takes over the terminal, and ensures that it is restored even after an interrupt or a panic.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        interrupt::install_with(end_without_terminal, leave)?;
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            hook(panic);
        }));
        Ok(Self::enter()?)
    }

    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on it is restored even if the next line fails.
        let session = Self;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(session)
    }
}

/// Ends the process if the terminal is gone: otherwise the key reader would loop without end.
fn end_without_terminal() {
    if !io::stdin().is_terminal() {
        std::process::exit(130);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal; a second call has no effect.
fn leave() {
    // A failure here cannot be handled.
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = io::stdout().flush();
}

/// Shows the monitor until the operator leaves.
pub(super) fn run(source: Source, settings: &Settings) -> anyhow::Result<Ended> {
    let gather = Gather::new(settings.interval, settings.filter.clone());
    let (orders, to_obey) = mpsc::channel();
    let (to_show, updates) = mpsc::sync_channel(1);
    let session = Session::begin()?;
    let gatherer = std::thread::spawn(move || worker::work(source, gather, &to_obey, &to_show));
    let left = Screen::new(settings).show(&orders, &updates);
    drop((orders, session));
    let outcome = gatherer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let is_interrupted = left?;
    let Outcome { gather, dropped_by_kernel, failure } = outcome;
    Ok(Ended { gather, dropped_by_kernel, failure, is_interrupted })
}

/// State of the display.
struct Screen<'a> {
    settings: &'a Settings,
    look: Look,
    controls: Controls,
    /// Interval and number of samples at the last redraw.
    drawn: Option<(Interval, u64)>,
    skipped: u64,
}

impl<'a> Screen<'a> {
    fn new(settings: &'a Settings) -> Self {
        let Settings { keys, interval, scales, growth, look, .. } = settings;
        let controls = Controls::new(keys.clone(), *interval, *scales).growing(*growth);
        Self { settings, look: *look, controls, drawn: None, skipped: 0 }
    }

    /// Draws and applies keys until the operator leaves; returns true if that was by an interrupt.
    fn show(&mut self, orders: &Sender<Order>, updates: &Receiver<Update>) -> io::Result<bool> {
        let mut canvas = Canvas::new()?;
        let mut seen = None;
        while !interrupt::requested() {
            let columns = usize::from(canvas.area()?.width);
            let room = columns * self.look.samples_a_column();
            if orders.send(Order::Look(self.controls.look(room))).is_err() {
                // The gathering thread has ended; joining it returns the reason.
                return Ok(false);
            }
            if let Ok(update) = updates.recv_timeout(ANSWER) {
                self.count_skipped(&update.snapshot);
                let surface = Surface {
                    source: &self.settings.name,
                    state: update.state,
                    skipped: self.skipped,
                    columns,
                };
                self.controls.grow(&update.snapshot);
                let view = View::of(&update.snapshot, &self.controls, surface);
                canvas.draw(|frame| draw::draw(frame, frame.area(), &view, &self.look))?;
                seen = Some(update.snapshot);
            }
            match self.obey(seen.as_ref(), room, orders)? {
                Effect::Quit => return Ok(false),
                Effect::Interrupt => return Ok(true),
                Effect::None | Effect::Order(_) => {}
            }
        }
        Ok(true)
    }

    /// Reads keys until the next redraw; a key that changes something triggers it.
    fn obey(
        &mut self,
        seen: Option<&Snapshot>,
        room: usize,
        orders: &Sender<Order>,
    ) -> io::Result<Effect> {
        let due = clock::now() + REDRAW;
        while event::poll(due.since(clock::now()))? {
            let Event::Key(key) = event::read()? else { return Ok(Effect::None) };
            let Some(seen) = seen.filter(|_| key.kind != KeyEventKind::Release) else { continue };
            let effect = self.controls.press(&key, seen, room);
            if let Effect::Order(order) = &effect {
                // If the gathering thread has ended, the next request for a snapshot detects it.
                let _ = orders.send(order.clone());
            }
            return Ok(effect);
        }
        Ok(Effect::None)
    }

    /// Counts samples without a redraw of their own. A frozen screen needs none.
    fn count_skipped(&mut self, seen: &Snapshot) {
        let before = self.drawn.replace((seen.interval, seen.end));
        if self.controls.paused_at.is_some() {
            return;
        }
        if let Some((interval, end)) = before
            && interval == seen.interval
        {
            self.skipped += seen.end.saturating_sub(end + 1);
        }
    }
}

//! The terminal: takes it over, draws and reads keys until somebody leaves, and gives it back as it
//! was, whatever happens.

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

/// From one redraw to the next, at the least.
const REDRAW: Duration = Duration::from_millis(100);
/// How long a snapshot may take before keys are looked at again.
const ANSWER: Duration = Duration::from_millis(500);

/// Whether there is a terminal, and room enough on it.
///
/// # Errors
/// Says what is missing, and what goes without.
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

/// The terminal, while it is ours.
pub(crate) struct Session;

impl Session {
    /// Takes it over, and sees to it that it is given back even after an interrupt or a panic.
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
        // From here on it is given back even where the next line fails.
        let session = Self;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(session)
    }
}

/// Ends the process where the terminal is gone: whoever reads keys then looks for them without end.
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

/// Gives the terminal back; doing so twice does no harm.
fn leave() {
    // Nothing is left to be done where this fails.
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = io::stdout().flush();
}

/// Shows the monitor until somebody leaves.
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

/// What is shown and how.
struct Screen<'a> {
    settings: &'a Settings,
    look: Look,
    controls: Controls,
    /// Samples there were at the last redraw, and their interval.
    drawn: Option<(Interval, u64)>,
    skipped: u64,
}

impl<'a> Screen<'a> {
    fn new(settings: &'a Settings) -> Self {
        let Settings { keys, interval, scales, look, .. } = settings;
        let controls = Controls::new(keys.clone(), *interval, *scales);
        Self { settings, look: *look, controls, drawn: None, skipped: 0 }
    }

    /// Draws and obeys until somebody leaves; whether that was by an interrupt.
    fn show(&mut self, orders: &Sender<Order>, updates: &Receiver<Update>) -> io::Result<bool> {
        let mut canvas = Canvas::new()?;
        let mut seen = None;
        while !interrupt::requested() {
            let columns = usize::from(canvas.area()?.width);
            let room = columns * self.look.samples_a_column();
            if orders.send(Order::Look(self.controls.look(room))).is_err() {
                // The one who gathers is gone, and joining it says why.
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

    /// Reads keys until it is time to draw; a key that changed something makes it so.
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
                // Where nobody obeys any more, the next look finds out.
                let _ = orders.send(order.clone());
            }
            return Ok(effect);
        }
        Ok(Effect::None)
    }

    /// Each sample is due a redraw; those between two redraws had none. On a frozen screen none is
    /// due.
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

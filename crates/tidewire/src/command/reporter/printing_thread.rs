//! Records of files, made and printed by a thread of their own while the next frames are metered.

use super::printer::{Content, Printer};
use records::Item;
use records::findings::Findings;
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Items that are handed over together, so that waking the thread costs little of each.
const TOGETHER_ITEMS: usize = 64;
/// Batches that wait at most; then metering waits, too.
const WAITING_BATCHES: usize = 4;

/// Destination of items before the end of the frames.
pub(super) struct Destination {
    pub(super) printer: Printer,
    pub(super) content: Content,
    /// Judges the whole, if that is asked for.
    pub(super) findings: Option<Findings>,
    /// True if records have only what lines and findings need.
    pub(super) is_brief: bool,
}

impl Destination {
    fn take(&mut self, batch: &[Item]) -> io::Result<()> {
        let Self { printer, content, findings, is_brief } = self;
        for item in batch {
            let record = if *is_brief { content.brief(item) } else { content.record(item) };
            printer.print(&record)?;
            if let Some(findings) = findings
                && findings.judges(item)
            {
                content.judge(findings, item, record);
            }
        }
        printer.flush()
    }

    /// Takes batches until their sender is gone.
    fn take_all(mut self: Box<Self>, batches: &Receiver<Vec<Item>>) -> io::Result<Box<Self>> {
        batches.iter().try_for_each(|batch| self.take(&batch))?;
        Ok(self)
    }
}

/// A thread that takes batches of items.
struct Running {
    batches: SyncSender<Vec<Item>>,
    thread: JoinHandle<io::Result<Box<Destination>>>,
}

impl Running {
    fn start(to: Box<Destination>) -> io::Result<Self> {
        let (batches, received) = mpsc::sync_channel(WAITING_BATCHES);
        let run = move || to.take_all(&received);
        let thread = thread::Builder::new().name("records".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot start a thread for the records: {error}"))
        })?;
        Ok(Self { batches, thread })
    }

    /// Waits until all batches are taken.
    fn end(self) -> io::Result<Box<Destination>> {
        let Self { batches, thread } = self;
        drop(batches);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Place of the destination.
enum Place {
    /// Here: there were few items.
    Here(Box<Destination>),
    Thread(Running),
    /// In no place: printing failed.
    Lost,
}

/// Hands items over to a thread, which is started as soon as there are many.
pub(super) struct PrintingThread {
    /// Items that are not handed over yet.
    batch: Vec<Item>,
    place: Place,
}

impl PrintingThread {
    /// Creates a destination that has no thread yet.
    pub(super) fn new(to: Destination) -> Self {
        Self { batch: Vec::new(), place: Place::Here(Box::new(to)) }
    }

    /// Takes an item.
    ///
    /// # Errors
    /// Errors of standard output with this item or one before it; the thread cannot be started.
    pub(super) fn put(&mut self, item: Item) -> io::Result<()> {
        self.batch.push(item);
        if self.batch.len() < TOGETHER_ITEMS {
            return Ok(());
        }
        let batch = core::mem::take(&mut self.batch);
        self.place = match core::mem::replace(&mut self.place, Place::Lost) {
            Place::Here(to) => Place::Thread(Running::start(to)?),
            place => place,
        };
        match &self.place {
            Place::Thread(running) if running.batches.send(batch).is_ok() => Ok(()),
            // The thread ends before its batches only if it cannot print.
            _ => self.end().map(drop),
        }
    }

    /// Waits until all items are printed, and returns where they went; none if that failed before.
    ///
    /// # Errors
    /// Errors of standard output.
    pub(super) fn end(&mut self) -> io::Result<Option<Box<Destination>>> {
        let mut to = match core::mem::replace(&mut self.place, Place::Lost) {
            Place::Here(to) => to,
            Place::Thread(running) => running.end()?,
            Place::Lost => return Ok(None),
        };
        to.take(&core::mem::take(&mut self.batch))?;
        Ok(Some(to))
    }
}

impl Drop for PrintingThread {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end().ok();
        }
    }
}

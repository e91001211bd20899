//! The terminal program of `watch` and `show`: the monitor is its first page, pages of measures follow.
//!
//! Pages of measures show only the contents of the stream, so their numbers are the same whether the
//! stream comes from this process or through a pipe. NBSIR 85-3104 had displays of connectivity,
//! connections by host, TPDUs by type and octets by host. These pages have them, and in addition
//! findings, one connection in depth, and losses during collection.
//!
//! ```text
//! frame -> meter -> records -> Model  -> page: rows of text ─┬─ View -> draw
//!            └───── remarks -> Gather -> Snapshot: charts ───┘
//!                                           ^ controls <- keys
//! ```
//!
//! The meter takes precedence over drawing: another thread fills the model and the samples, which
//! are locked only while a picture is made of them, and not while it is drawn.

mod canvas;
mod controls;
mod draw;
mod effect;
mod export;
mod keys;
mod line;
mod losses;
mod monitor;
mod page;
mod passed;
mod picture;
mod screen;
mod shared;
mod summary;
mod tempo;
mod terminal;
mod text;
mod theme;
mod view;

pub(crate) use keys::Keys;
pub(crate) use monitor::{
    Bars, Gather, Growth, Interval, KEPT_SAMPLES, SampleLines, Scales,
    summary as summary_of_samples,
};
pub(crate) use page::Page;
pub(crate) use screen::show;
pub(crate) use shared::Shared;
pub(crate) use summary::{Kept, NOTHING_KEPT, Source, print as print_summary};
pub(crate) use tempo::{GREATEST as FASTEST, LEAST as SLOWEST, Tempo};
pub(crate) use terminal::check_screen;
pub(crate) use theme::{Look, Surroundings, Symbols, Theme};

use records::state::Model;
use std::path::PathBuf;
use wire::units::BitRate;

/// Contents and initial settings of the screen.
pub(crate) struct Start {
    pub(crate) model: Shared<Model>,
    /// Samples for the monitor; none without frames.
    pub(crate) samples: Option<Shared<Gather>>,
    /// Settings of the monitor, if there are samples.
    pub(crate) bars: Option<Bars>,
    /// The page that is shown first.
    pub(crate) page: Page,
    /// Assignment of keys to actions.
    pub(crate) keys: Keys,
    /// Colours and signs.
    pub(crate) look: Look,
    /// Rate of the line to the terminal; none without a limit.
    pub(crate) line: Option<BitRate>,
    /// Folder of exported screens.
    pub(crate) folder: PathBuf,
    /// Speed of a replay; none where everything is shown at once, or as it comes.
    pub(crate) tempo: Option<Tempo>,
    /// True if a run folder is written, whose end is awaited when the operator leaves.
    pub(crate) keeps_run: bool,
    /// True if frames are metered: their last report is awaited for a short time when the operator leaves, so that the
    /// summary has measures and samples of the same frames.
    pub(crate) meters_frames: bool,
}

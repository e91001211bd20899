//! Reports of runs: one model for predicted, measured, watched and reproduced runs, and its forms.
//!
//! ```text
//! samples ─ of_study ─┐              ┌─ html, with figures as SVG
//! measures ─ of_stream ─ Document ───┼─ markdown
//! rows ───── of_rows ─┤              ├─ junit
//! .hgrm ─ of_percentiles ─┤          └─ github
//! layers ──── layers ─────┘
//! ```
//!
//! A report is a function of its run: nothing here reads a clock, opens a file or asks a network. All text of a
//! document is bounded and printable ([`text::Text`]), because names come from captures and folders.
#![forbid(unsafe_code)]

mod difference;
pub mod document;
pub mod figure;
pub mod github;
pub mod glossary;
pub mod hgrm;
pub mod html;
pub mod junit;
pub mod layers;
pub mod markdown;
mod next;
pub mod of_percentiles;
pub mod of_rows;
pub mod of_stream;
pub mod of_study;
pub mod provenance;
mod series;
pub mod study;
pub mod sweep;
pub mod tail;
pub mod text;
pub mod timeline;
pub mod tool;

pub use document::Document;

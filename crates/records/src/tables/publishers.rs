//! Publishers as declared and as seen, as rows.

use super::table::{Cell, Kind, Layout};
use crate::Publisher;

/// Columns of a publisher.
const PUBLISHER: [(&str, Kind); 10] = [
    ("protocol", Kind::Text),
    ("ied", Kind::Text),
    ("name", Kind::Text),
    ("state", Kind::Text),
    ("differences", Kind::Text),
    ("without_tag", Kind::Count),
    ("source", Kind::Text),
    ("destination", Kind::Text),
    ("appid", Kind::Count),
    ("frames", Kind::Count),
];

/// Returns the columns of publishers.
pub fn layout() -> Layout {
    Layout::new("publishers", &PUBLISHER)
}

/// Returns the row of a publisher.
pub fn row(of: &Publisher) -> Vec<Cell> {
    let Publisher { protocol, ied, name, state, without_tag, source, .. } = of;
    vec![
        Cell::Text(protocol.clone()),
        Cell::of(ied.clone(), Cell::Text),
        Cell::Text(name.clone()),
        Cell::Text(state.word().to_owned()),
        Cell::Text(of.differences_text()),
        Cell::Count((*without_tag).into()),
        Cell::of(source.clone(), Cell::Text),
        Cell::of(of.destination.clone(), Cell::Text),
        Cell::of(of.appid, |appid| Cell::Count(appid.into())),
        Cell::Count(of.frames),
    ]
}

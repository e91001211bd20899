//! The traffic that a paper measured, as a capture.

use crate::args::reproduce::TapPlace;
use crate::exit::Failure;
use crate::output_file::{self, Created, Placing};
use papers::nbsir_85_3104::{PAPER, origin, trace};
use papers::published::Paper;
use std::io::{self, BufWriter};
use std::path::Path;
use wire::dissect::Link;
use wire::encapsulation::EXPORTED;
use wire::pcapng::Writer;

/// Writes the traffic of a paper that has some.
pub(super) fn write(paper: &Paper, tap: TapPlace, path: &Path) -> Result<(), Failure> {
    if paper.name != PAPER.name {
        let failure =
            Failure::usage(format!("--capture: {} has no traffic of its own", paper.name));
        return Err(failure.with_fix(format!("tidewire reproduce {} --capture FILE", PAPER.name)));
    }
    write_trace(tap, path).map_err(|error| Failure::cannot_write(path, &error))
}

fn write_trace(tap: TapPlace, path: &Path) -> io::Result<()> {
    let Created { file, pending: _pending } = output_file::create(path, Placing::AtTheEnd)?;
    let mut writer = Writer::new(BufWriter::new(file))?;
    let (link, name) = match tap {
        TapPlace::Lan => (Link::Ethernet, "NCC 1984"),
        TapPlace::TestCentre => (Link::Other(EXPORTED), "test centre"),
    };
    let interface = writer.interface(link, name)?;
    for passage in trace(origin()) {
        let octets = match tap {
            TapPlace::Lan => passage.frame(),
            TapPlace::TestCentre => passage.exported(),
        };
        writer.write(interface, passage.at, &octets, octets.len(), "")?;
    }
    writer.flush()
}

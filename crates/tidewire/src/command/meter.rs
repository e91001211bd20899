//! `tidewire meter`: captures in, the stream of measures out. Nothing is ever sent.

use super::measuring::Measuring;
use super::reporter::{Reporter, conclude};
use super::side_outputs::SideOutputs;
use super::watch;
use crate::args::measuring::Meter;
use crate::exit::Exit;
use crate::output::{self, Output};
use records::{Origin, json_schema};
use std::io::Write as _;
use std::path::PathBuf;

pub(crate) fn run(options: &Meter, output: &Output) -> anyhow::Result<Exit> {
    if options.schema {
        std::io::stdout().lock().write_all(json_schema().as_bytes())?;
        return Ok(Exit::Ok);
    }
    let measuring = Measuring::of(&options.measuring, None)?;
    output::install_interrupts()?;
    Measuring::announce_memory(&options.measuring, output);
    let output = &Output { json: true, quiet: output.quiet };
    let standard_input = [PathBuf::from("-")];
    let files = if options.files.is_empty() { &standard_input } else { options.files.as_slice() };
    let head = measuring.head(Origin::files(files, watch::name_of));
    let outputs = SideOutputs { histograms: options.measuring.hdr, ..SideOutputs::default() };
    let mut teller = Reporter::begin(output, head, measuring.only.clone(), outputs)?;
    let mut recorder = measuring.recorder();
    let mut frames = watch::FramePipeline::default();
    let captures = watch::Captures { paths: files, follow: false };
    let heard = watch::file::meter(captures, &mut recorder, &mut frames, &mut teller, output)?;
    conclude(heard, &mut recorder, &mut teller)
}

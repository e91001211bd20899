//! `tidewire completions` and `tidewire man`: files for shells and for `man`, made from the command line's own description.

use super::help;
use crate::args::Cli;
use crate::args::shell::{self, Completions};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;

pub(crate) fn completions(options: &Completions, output: &Output) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "tidewire", &mut script);
    let script = String::from_utf8(script)?;
    let shell = options.shell.to_string();
    output.record(&json!({ "type": "completions", "shell": shell, "text": script }))?;
    output.line(script.trim_end())?;
    Ok(Exit::Ok)
}

pub(crate) fn man(options: &shell::Man, output: &Output) -> anyhow::Result<Exit> {
    let mut whole = Cli::command();
    whole.build();
    if let Some(folder) = &options.output {
        fs::create_dir_all(folder).map_err(|error| Failure::no_folder(folder, &error))?;
        let cannot = |error: io::Error| Failure::cannot_write(folder, &error);
        let pages = write_all(&whole, folder).map_err(cannot)?;
        output.record(&json!({ "type": "man", "folder": folder, "pages": pages }))?;
        output.remark(format_args!("{pages} pages in {}", folder.display()));
        return Ok(Exit::Ok);
    }
    let mut command = &whole;
    for verb in &options.verb {
        let below = command.get_subcommands().find(|below| below.get_name() == verb);
        command = below.ok_or_else(|| Failure::usage(format!("no verb {verb:?}")))?;
    }
    let page = page(command)?;
    output.record(&json!({ "type": "man", "verb": options.verb.join(" "), "text": page }))?;
    output.line(page.trim_end())?;
    Ok(Exit::Ok)
}

/// Writes the page of a command and of all below it, which is `tidewire-VERB.1`; returns their number.
fn write_all(command: &Command, folder: &Path) -> io::Result<usize> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set());
    shown.map(|below| write_all(below, folder)).try_fold(1, |pages, more| Ok(pages + more?))
}

/// The page of a command; that of the whole program ends with the exit codes.
fn page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    let source = format!("tidewire {}", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).manual("tidewire").render(&mut page)?;
    if command.get_name() == "tidewire"
        && let Some(codes) = help::topic("exit-codes")
    {
        let mut section = Roff::new();
        section.control("SH", ["EXIT STATUS"]);
        section.control("nf", []);
        // Behind its title.
        let lines = codes.lines().skip(2).map(|line| roman(format!("{line}\n")));
        section.text(lines.collect::<Vec<_>>());
        section.control("fi", []);
        section.to_writer(&mut page)?;
    }
    String::from_utf8(page).map_err(io::Error::other)
}

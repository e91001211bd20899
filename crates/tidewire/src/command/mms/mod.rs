//! `tidewire measure mms`: the steps of an MMS client against a server of any make; `serve mms` and
//! `calibrate`.

mod calibrate;
mod print;
mod serve;

pub(super) use calibrate::run as calibrate;
pub(super) use serve::serve;

use crate::args::mms::MeasureMms;
use crate::command::foreign::tsap;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::{interrupt, port_options, quantity};
use bench::mms::Item;
use bench::scenario::Span;
use bench::session::mms::{Inquiry, Selectors, inquire};

pub(crate) fn measure(options: &MeasureMms, output: &Output) -> anyhow::Result<Exit> {
    let inquiry = inquiry(options)?;
    let stop = output::install_interrupts()?;
    let found = inquire(&inquiry, stop).map_err(port_options::explain)?;
    let interrupted = interrupt::requested();
    if let (Some(path), Some(file)) = (&options.save, &found.file)
        && file.taken.is_some()
    {
        let wrong = |error| Failure::failed(format!("{}: {error}", path.display()));
        std::fs::write(path, &file.octets).map_err(wrong)?;
    }
    output.record(&print::record(&inquiry, &found, !interrupted))?;
    print::print(&inquiry, &found, output)?;
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    if let (0, Some(why)) = (found.opened, &found.failure) {
        let message = format!("no association with iso-tcp://{} opened: {why}", inquiry.remote);
        return Err(Failure::failed(message).into());
    }
    Ok(Exit::Ok)
}

fn inquiry(options: &MeasureMms) -> anyhow::Result<Inquiry> {
    check_writable(&options.allow_write)?;
    if let Some(block) = &options.report_block {
        check_report(block, &options.allow_write)?;
    }
    let period = options.period.as_deref();
    let period = period.map(|text| quantity::option::<Span>("--period", text)).transpose()?;
    let selectors = |name: &str, text: &str| -> Result<Selectors, Failure> {
        Ok(Selectors { transport: tsap(name, text)?, ..Selectors::usual() })
    };
    Ok(Inquiry {
        remote: port_options::over(&options.over)?,
        calling: selectors("--calling", &options.calling)?,
        called: selectors("--called", &options.called)?,
        associations: options.associations,
        messages: options.messages,
        period: period.map(|span| span.0),
        per_second: options.max_requests,
        patience: quantity::option::<Span>("--time-out", &options.time_out)?.0,
        items: options.item.clone(),
        list: options.dataset.clone(),
        file: options.file.clone(),
        report: options.report_block.clone(),
        reporting: quantity::option::<Span>("--reporting", &options.reporting)?.0,
        writable: options.allow_write.clone(),
        outstanding: options.outstanding.clone(),
    })
}

/// Checks that no item is one of control or settings.
fn check_writable(items: &[Item]) -> Result<(), Failure> {
    for item in items {
        item.check_write().map_err(|forbidden| {
            Failure::usage(forbidden.to_string()).with_fix("leave it out of --allow-write")
        })?;
    }
    Ok(())
}

/// To enable reports is to write to the server, so the block has to be named twice.
fn check_report(block: &Item, writable: &[Item]) -> Result<(), Failure> {
    if !matches!(block.constraint(), Some("RP" | "BR")) {
        let message = format!("--report-block {block}: no report control block, of $RP$ or $BR$");
        return Err(Failure::usage(message).with_fix("name one, as in LD0/LLN0$RP$urcb01"));
    }
    if !writable.contains(block) {
        let message = format!("--report-block {block} writes to the server, to enable the reports");
        return Err(Failure::usage(message).with_fix(format!("add --allow-write '{block}'")));
    }
    Ok(())
}

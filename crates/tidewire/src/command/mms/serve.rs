//! `tidewire serve mms`: an MMS server for clients of any make. It sends nothing but answers, and reports
//! that a client has asked for.

use crate::args::mms::ServeMms;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::quantity::{self, counted};
use crate::{interrupt, port_options};
use bench::mms::{BUILT_IN, files, model};
use bench::scenario::Span;
use bench::session::mms::{MmsServer, Offer, Served};
use live::clock;
use serde_json::json;
use std::io::Read as _;
use std::path::Path;
use wire::time::Instant;

/// Most octets that are read of a file: one more than an SCL file may have.
const MOST_OCTETS: u64 = 100_000_001;

pub(crate) fn serve(options: &ServeMms, output: &Output) -> anyhow::Result<Exit> {
    let text = match &options.scl {
        Some(path) => read(path)?,
        None => BUILT_IN.as_bytes().to_vec(),
    };
    let name =
        options.scl.as_ref().map_or_else(|| "built-in".to_owned(), |it| it.display().to_string());
    let model = model(&text, options.ied.as_deref())
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let mut offer = Offer::from(model);
    extend(&mut offer, options)?;
    let address = port_options::over(&options.over)?;
    let stop = output::install_interrupts()?;
    let until = match &options.time {
        Some(text) => clock::now() + quantity::option::<Span>("--time", text)?.0,
        None => Instant::MAX,
    };
    let domains: Vec<String> = offer.model.domains.keys().cloned().collect();
    let count = offer.files.len();
    let mut server = MmsServer::open(address, offer).map_err(port_options::explain)?;
    let (size, address) = (server.size(), server.address().unwrap_or(address));
    output.record(&json!({
        "type": "listening", "port": format!("iso-tcp://{address}"), "model": name,
        "domains": domains, "items": size.leaves, "lists": size.lists,
        "files": count,
    }))?;
    output.line(format_args!(
        "serving {name} on iso-tcp://{address}: {}, {}, {}, {}; Ctrl-C ends it",
        domains.join(", "),
        counted(size.leaves as u64, "item"),
        counted(size.lists as u64, "data set"),
        counted(count as u64, "file")
    ))?;
    let (mut opened, mut closed, mut writes) = (0_u64, 0_u64, 0_u64);
    let served = server.serve(until, stop, &mut |event| match event {
        Served::Opened => opened += 1,
        Served::Closed => closed += 1,
        Served::Written(_) => writes += 1,
    });
    served.map_err(port_options::explain)?;
    let (interrupted, requests) = (interrupt::requested(), server.served());
    output.record(&json!({
        "type": "end", "complete": !interrupted, "associations": opened, "ended": closed,
        "requests": requests, "writes": writes, "odd": server.odd(),
    }))?;
    let odd = match server.odd() {
        0 => String::new(),
        odd => format!("; {}, answered with a reject or ignored", counted(odd, "odd PDU")),
    };
    let (requests, opened) = (counted(requests, "request"), counted(opened, "association"));
    output.line(format_args!("{requests} answered in {opened}{odd}"))?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Adds the variables that clients may write, and the files.
fn extend(offer: &mut Offer, options: &ServeMms) -> Result<(), Failure> {
    super::check_writable(&options.allow_write)?;
    for item in &options.allow_write {
        if !offer.permit(item) {
            let message = format!("--allow-write {item}: the model has no such leaf");
            return Err(Failure::usage(message).with_fix("name a leaf, as measure mms prints them"));
        }
    }
    if let Some(folder) = &options.files {
        let wrong = |error| Failure::usage(format!("--files {}: {error}", folder.display()));
        offer.files = files(folder).map_err(wrong)?;
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let wrong = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let file = interrupt::open(path).map_err(wrong)?;
    let mut text = Vec::new();
    file.take(MOST_OCTETS).read_to_end(&mut text).map_err(wrong)?;
    Ok(text)
}

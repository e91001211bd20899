//! The live page of `watch` and `show`.

use crate::args::page::PageOptions;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::{Output, say};
use crate::page;
use crate::tui::Shared;
use core::time::Duration;
use live::clock;
use records::state::Model;
use records::{Head, Record};
use web::Server;

/// Longest wait for a browser that is slow to take the last numbers.
const PATIENCE: Duration = Duration::from_secs(1);

/// A page that is being served.
pub(super) struct LivePage {
    model: Shared<Model>,
    server: Server,
}

impl LivePage {
    /// Serves the page, if requested, and prints its URL.
    ///
    /// # Errors
    /// An address that cannot be used, or of other hosts without their permission.
    pub(super) fn open(
        options: &PageOptions,
        head: Head,
        output: &Output,
    ) -> Result<Option<Self>, Failure> {
        let Some(at) = options.web else { return Ok(None) };
        let reach = page::reach(at, options.web_anywhere)?;
        let model = Shared::new(Model::new(head));
        let server = Server::start(at, reach, model.state())
            .map_err(|error| Failure::failed(format!("cannot serve a page at {at}: {error}")))?;
        say(format_args!("page at {}", server.url()));
        page::warn(reach, output);
        Ok(Some(Self { model, server }))
    }

    /// Shows a record.
    pub(super) fn take(&self, record: Record) {
        self.model.lock().take(record);
    }

    /// Stops serving. A page of files stays until Ctrl-C: they are read in less time than a browser
    /// takes to open it.
    pub(super) fn close(self, is_of_files: bool, output: &Output) {
        if is_of_files && !interrupt::requested() {
            // Tables may have moved the first line with the URL off the screen.
            let url = self.server.url();
            output.remark(format_args!("read to the end; until Ctrl-C the page stays at {url}"));
            while !interrupt::requested() {
                clock::sleep_until(clock::now() + interrupt::LOOK_UP);
            }
        }
        self.server.finish(PATIENCE);
    }
}

//! Pages for browsers: the address that they are served at, and those of runs under way.

mod paper;
mod study;

pub(crate) use paper::{PaperPage, PaperState};
pub(crate) use study::{Plan, StudyPage, StudyState};

use crate::args::page::PageOptions;
use crate::exit::Failure;
use crate::output::{Output, say};
use core::time::Duration;
use records::findings::quoted;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use web::{Ongoing, Reach, Server};

/// Longest wait for a browser that is slow to take the last numbers.
const PATIENCE: Duration = Duration::from_secs(1);

/// Machines that may open a page at this address.
///
/// # Errors
/// An address of other machines, without their permission.
pub(crate) fn reach(at: SocketAddr, is_anywhere: bool) -> Result<Reach, Failure> {
    match (is_anywhere, at.ip().is_loopback()) {
        (true, _) => Ok(Reach::Anywhere),
        (false, true) => Ok(Reach::Loopback),
        (false, false) => {
            let failure = Failure::usage(format!("--web {at}: other hosts could open it"));
            Err(failure.with_fix("--web 127.0.0.1:8080, or add --web-anywhere"))
        }
    }
}

/// Warns that a page leaves this host, if it does.
pub(crate) fn warn(reach: Reach, output: &Output) {
    if reach == Reach::Anywhere {
        output.remark(
            "warning: every host that reaches this one can ask for the page: its URL holds the \
             only key, and nothing encrypts it",
        );
    }
}

/// Refuses the address of a page early, before a port is opened.
///
/// # Errors
/// As [`reach`].
pub(crate) fn check(options: &PageOptions) -> Result<(), Failure> {
    options.web.map_or(Ok(()), |at| reach(at, options.web_anywhere).map(|_| ()))
}

/// Words of a command line without the options of a page, which change no result.
pub(crate) fn without_page(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words = words.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--web-anywhere" => {}
            "--web" => drop(words.next_if(|next| next.parse::<SocketAddr>().is_ok())),
            word if word.starts_with("--web=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// Page of runs under way.
pub(crate) struct Page<T> {
    state: Arc<T>,
    server: Server,
}

impl<T: Ongoing> Page<T> {
    /// Serves the page, if requested, and prints its URL.
    ///
    /// # Errors
    /// An address that cannot be used, or of other machines without their permission.
    pub(crate) fn open(
        options: &PageOptions,
        state: impl FnOnce() -> T,
        output: &Output,
    ) -> Result<Option<Self>, Failure> {
        let Some(at) = options.web else { return Ok(None) };
        let reach = reach(at, options.web_anywhere)?;
        let state = Arc::new(state());
        let server = Server::of_progress(at, reach, Arc::clone(&state) as Arc<dyn Ongoing>)
            .map_err(|error| Failure::failed(format!("cannot serve a page at {at}: {error}")))?;
        say(format_args!("page at {}", server.url()));
        warn(reach, output);
        Ok(Some(Self { state, server }))
    }

    /// State that the page shows.
    pub(crate) const fn state(&self) -> &Arc<T> {
        &self.state
    }

    /// Sends the last state to the browsers that watch, and serves it no longer.
    pub(crate) fn close(self) {
        self.server.finish(PATIENCE);
    }
}

/// Sentences on where results are once their page is served no longer.
fn afterwards(folder: Option<&Path>) -> Vec<String> {
    let Some(folder) = folder else {
        return vec!["This page ends with the run, and nothing is saved.".to_owned()];
    };
    let of_folder = |path: &Path| quoted(&path.display().to_string());
    let root = folder.parent().filter(|root| !root.as_os_str().is_empty());
    let root = root.unwrap_or(Path::new("."));
    vec![
        "This page ends with the run. Then these commands show it:".to_owned(),
        format!(
            "tidewire report {} writes {}",
            of_folder(folder),
            folder.join("report.html").display()
        ),
        format!("tidewire web {} serves all runs there", of_folder(root)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_repeat_a_run_has_no_page() {
        let check = |words: &str, expected: &str| {
            let words = words.split(' ').map(str::to_owned);
            assert_eq!(without_page(words).join(" "), expected);
        };
        check("tidewire predict --web a.toml", "tidewire predict a.toml");
        check("tidewire predict a.toml --web 127.0.0.1:80 -n 3", "tidewire predict a.toml -n 3");
        check("tidewire predict a.toml --web=127.0.0.1:80", "tidewire predict a.toml");
        check("tidewire predict a --web 0.0.0.0:0 --web-anywhere", "tidewire predict a");
        // The verb has the name of the option.
        check("tidewire web runs", "tidewire web runs");
    }
}

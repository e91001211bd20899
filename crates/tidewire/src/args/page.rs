//! Options of the live page.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Options of the live page.
#[derive(clap::Args, Clone, Default, Debug)]
pub(crate) struct PageOptions {
    /// Serve a live page to browsers and print its URL; without an address on 127.0.0.1 and a free port.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<SocketAddr>,
    /// Let other hosts open --web: with the token in its URL, but without encryption.
    #[arg(long, requires = "web")]
    pub(crate) web_anywhere: bool,
}

/// `web`
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  tidewire web                                      the runs in ./runs\n  tidewire web /srv/runs --web 127.0.0.1:8080       at a port of your choice\n  tidewire web --web 0.0.0.0:8080 --web-anywhere    for other hosts too"
)]
pub(crate) struct Web {
    /// Folder of run folders.
    #[arg(default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Address at which the pages are served.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) web: SocketAddr,
    /// Let other hosts open --web: with the token in its URL, but without encryption.
    #[arg(long)]
    pub(crate) web_anywhere: bool,
}

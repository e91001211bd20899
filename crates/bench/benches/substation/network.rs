//! Two network namespaces, and the servers in one of them.

use super::{Failed, run};
use core::time::Duration;
use live::clock;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Number of servers.
pub(crate) const SERVERS: usize = 8;
const INTERFACE: &str = "w0";

/// Namespaces of the clients and of the servers, removed with this value.
pub(crate) struct Network {
    program: PathBuf,
    pub(crate) folder: PathBuf,
    clients: String,
    servers: String,
    running: Vec<Child>,
}

impl Network {
    /// Makes both; `None`, with a printed reason, where this process may not.
    pub(crate) fn make(program: PathBuf, folder: &Path) -> Result<Option<Self>, Failed> {
        let name = |end| format!("tidewire-substation-{}{end}", std::process::id());
        let (clients, servers) = (name("a"), name("b"));
        let added = Command::new("ip").args(["netns", "add", &clients]).output();
        if !added.is_ok_and(|output| output.status.success()) {
            println!("skipped: cannot make a network namespace (root and iproute2 are needed)");
            return Ok(None);
        }
        let folder = folder.to_owned();
        let made = Self { program, folder, clients, servers, running: Vec::new() };
        let (a, b) = (&made.clients, &made.servers);
        let ip = |arguments: &str| run(Command::new("ip").args(arguments.split(' ')));
        ip(&format!("netns add {b}"))?;
        ip(&format!("-n {a} link add {INTERFACE} type veth peer name {INTERFACE} netns {b}"))?;
        ip(&format!("-n {a} addr add 10.77.0.1/24 dev {INTERFACE}"))?;
        for server in 0..SERVERS {
            let address = Self::address(server);
            ip(&format!("-n {b} addr add {address}/24 dev {INTERFACE}"))?;
        }
        for namespace in [a, b] {
            ip(&format!("-n {namespace} link set {INTERFACE} up"))?;
        }
        Ok(Some(made))
    }

    /// Address of a server.
    pub(crate) fn address(server: usize) -> String {
        format!("10.77.0.{}", 11 + server)
    }

    /// The program in the namespace of the clients.
    pub(crate) fn at_clients(&self, arguments: &[&str]) -> Command {
        self.command(&self.clients, arguments)
    }

    /// The program in no namespace.
    pub(crate) fn alone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).args(arguments).stdin(Stdio::null());
        command
    }

    fn command(&self, namespace: &str, arguments: &[&str]) -> Command {
        // `ip` becomes the program, which so has the process that is started here.
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(&self.program).args(arguments);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    pub(crate) fn start_servers(&mut self) -> Result<(), Failed> {
        for server in 0..SERVERS {
            let url = format!("iso-tcp://{}", Self::address(server));
            let arguments = ["serve", "mms", "--scl", "feeder.cid", "--over", &url];
            let mut command = self.command(&self.servers, &arguments);
            let mut child = command.stdout(Stdio::piped()).spawn()?;
            let mut line = String::new();
            let output = child.stdout.take().ok_or("no output")?;
            self.running.push(child);
            BufReader::new(output).read_line(&mut line)?;
            if !line.starts_with("serving") {
                return Err(format!("server {server} does not listen: {line}").into());
            }
        }
        Ok(())
    }

    /// Time for which all servers together have waited for a processor, in microseconds.
    pub(crate) fn waited(&self) -> f64 {
        self.running.iter().filter_map(waited).sum()
    }

    /// Writes the frames that pass the clients until [`Capturing::end`].
    pub(crate) fn capture(&self, path: &Path) -> Result<Capturing, Failed> {
        let path = path.display().to_string();
        let arguments = ["capture", "-i", INTERFACE, "--full", "-q", "-w", &path];
        let child = self.at_clients(&arguments).stderr(Stdio::null()).spawn()?;
        // The port needs a moment to open.
        wait(Duration::from_millis(300));
        Ok(Capturing(child))
    }
}

pub(crate) fn wait(time: Duration) {
    clock::sleep_until(clock::now() + time);
}

/// Capture under way.
pub(crate) struct Capturing(Child);

impl Capturing {
    pub(crate) fn end(mut self) -> Result<(), Failed> {
        wait(Duration::from_millis(100));
        run(Command::new("kill").args(["-INT", &self.0.id().to_string()]))?;
        self.0.wait()?;
        Ok(())
    }
}

/// Time for which a process has waited for a processor, in microseconds: the second number of schedstat.
pub(crate) fn waited(child: &Child) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).ok()?;
    let nanos: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(nanos / 1e3)
}

impl Drop for Network {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        for namespace in [&self.clients, &self.servers] {
            let _ = Command::new("ip").args(["netns", "del", namespace]).output();
        }
    }
}

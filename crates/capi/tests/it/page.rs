//! Commands of `docs/c-library.md`, run as they stand there.

use crate::c_compiler::{library_folder, runs};
use crate::exchange::Running;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Shell lines of the page, with continued lines joined.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let joined = blocks.collect::<String>().replace("\\\n", " ");
    joined.lines().map(str::to_owned).collect()
}

/// Folder that looks like a checkout after `cargo build --release -p tidewire-capi`.
fn checkout(root: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    symlink(root.join("crates"), folder.path().join("crates")).unwrap();
    let release: PathBuf = folder.path().join("target/release");
    std::fs::create_dir_all(&release).unwrap();
    for library in ["libtidewire.so", "libtidewire.a"] {
        symlink(library_folder().join(library), release.join(library)).unwrap();
    }
    folder
}

#[test]
fn the_commands_of_the_page_build_examples_that_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let page = std::fs::read_to_string(root.join("docs/c-library.md")).unwrap();
    if !runs("cc") {
        println!("skipped: no C compiler (cc)");
        return;
    }
    let folder = checkout(&root);
    // On ports that are free here.
    let free = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [receiver, sender] = free.map(|socket| socket.local_addr().unwrap().port().to_string());
    let (mut listening, mut is_said) = (None, false);
    for command in commands(&page) {
        let ports = command.replace(":5001", &format!(":{receiver}"));
        let ports = ports.replace(":5002", &format!(":{sender}"));
        // The shell becomes the program, so that killing it ends the program.
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {ports}")]).current_dir(folder.path());
        shell.env("LD_LIBRARY_PATH", "target/release").stdout(Stdio::piped());
        match command.split_whitespace().next() {
            Some("cargo") => assert_eq!(command, "cargo build --release -p tidewire-capi"),
            Some("export") => assert_eq!(command, "export LD_LIBRARY_PATH=target/release"),
            Some("target/receive") => {
                let mut running = Running(shell.spawn().unwrap());
                let mut first = String::new();
                let mut said = BufReader::new(running.0.stdout.take().unwrap());
                said.read_line(&mut first).unwrap();
                assert_eq!(first, "listening\n");
                listening = Some((running, said));
            }
            _ => {
                let output = shell.output().unwrap();
                assert!(output.status.success(), "{command}");
                is_said |= output.stdout == b"100 of 100 acknowledged\n";
            }
        }
    }
    let (mut running, said) = listening.expect("the page starts the receiver");
    assert_eq!((said.lines().count(), is_said), (100, true));
    assert!(running.0.wait().unwrap().success());
}

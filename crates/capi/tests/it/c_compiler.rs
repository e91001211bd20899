//! Compiles C programs against the library, as documented.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folder of the library of this build: next to the test itself.
pub(crate) fn library_folder() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.parent().unwrap().to_owned()
}

/// Returns whether a program of this name can be run.
pub(crate) fn runs(program: &str) -> bool {
    let mut ask = Command::new(program);
    let status = ask.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Compiled program, removed with its folder.
pub(crate) struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    /// Compiles a file of this crate against the shared library; `None`, and a printed reason, if
    /// there is no C compiler.
    pub(crate) fn compile(source: &str, flags: &[&str]) -> Option<Self> {
        let folder = library_folder();
        let shared = ["-L", folder.to_str().unwrap(), "-ltidewire", "-lpthread"];
        Self::link(source, &[&shared[..], flags].concat())
    }

    fn link(source: &str, flags: &[&str]) -> Option<Self> {
        if !runs("cc") {
            println!("skipped: no C compiler (cc)");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut cc = Command::new("cc");
        cc.args([
            "-std=c11",
            "-D_POSIX_C_SOURCE=200809L",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
        ]);
        cc.arg("-I").arg(here).arg(here.join(source)).arg("-o").arg(folder.path().join("it"));
        cc.args(flags);
        let output = cc.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { folder })
    }

    /// Program as a command, run by `launcher` if there is one.
    pub(crate) fn command(&self, launcher: &[&str]) -> Command {
        let mut words: Vec<OsString> = launcher.iter().map(OsString::from).collect();
        words.push(self.folder.path().join("it").into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("LD_LIBRARY_PATH", library_folder());
        command
    }
}

/// Runs a command to its end; returns its output.
#[track_caller]
fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

const EVERY_CALL: &str = "tests/c/every_call.c";
const EXPECTED: &str = "every call: 200 exchanges\n";

#[test]
fn every_call_behaves_as_the_header_documents() {
    let Some(program) = Program::compile(EVERY_CALL, &[]) else { return };
    assert_eq!(printed(program.command(&[])), EXPECTED);
}

#[test]
fn valgrind_finds_no_fault_and_no_leak() {
    if !runs("valgrind") {
        println!("skipped: valgrind is not installed");
        return;
    }
    let Some(program) = Program::compile(EVERY_CALL, &["-g"]) else { return };
    let definite = "--errors-for-leak-kinds=definite";
    let launcher = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", definite];
    assert_eq!(printed(program.command(&launcher)), EXPECTED);
    println!("seen: {EVERY_CALL} under valgrind without complaint");
}

#[test]
fn the_sanitizers_find_no_fault() {
    let trial = "echo 'int main(void) { return 0; }' | \
                 cc -fsanitize=address,undefined -xc - -o /dev/null";
    let probe = Command::new("sh").args(["-c", trial]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: the C compiler has no sanitizers");
        return;
    }
    let flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let Some(program) = Program::compile(EVERY_CALL, &flags) else { return };
    assert_eq!(printed(program.command(&[])), EXPECTED);
    println!("seen: {EVERY_CALL} with the address and undefined sanitizers without complaint");
}

#[test]
fn a_program_linked_with_the_static_library_needs_no_shared_one() {
    let archive = library_folder().join("libtidewire.a");
    let flags = [archive.to_str().unwrap(), "-lm", "-lpthread"];
    let Some(program) = Program::link(EVERY_CALL, &flags) else { return };
    let mut command = program.command(&[]);
    command.env_remove("LD_LIBRARY_PATH");
    assert_eq!(printed(command), EXPECTED);
}

//! Completions and manual pages have every option of every verb.

use crate::{check_code, records, run, run_in, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Options that `help --json` lists: the verb, and the long name.
fn options() -> Vec<(String, String)> {
    let listed = records(&run(&["help", "--json"]));
    let word = |record: &Value, key: &str| record[key].as_str().map(str::to_owned);
    let options: Vec<_> =
        listed.iter().filter_map(|it| Some((word(it, "verb")?, word(it, "option")?))).collect();
    assert!(options.len() > 300, "{}", options.len());
    options
}

#[test]
fn manual_pages_have_every_option() {
    let folder = tempfile::tempdir().unwrap();
    check_code(&run_in(folder.path(), &["man", "--output", "man1"]), 0);
    for (verb, option) in options() {
        let name = format!("man1/tidewire-{}.1", verb.replace(' ', "-"));
        let page = fs::read_to_string(folder.path().join(&name)).unwrap();
        let escaped = format!("\\fB{}\\fR", option.replace('-', "\\-"));
        assert!(page.contains(&escaped), "{name} has no {option}");
    }
    let whole = fs::read_to_string(folder.path().join("man1/tidewire.1")).unwrap();
    assert!(whole.contains(".SH \"EXIT STATUS\"\n") && whole.contains("130"), "{whole}");
    // One page at a time is the same.
    let one = run(&["man", "measure", "mms"]);
    let page = fs::read_to_string(folder.path().join("man1/tidewire-measure-mms.1")).unwrap();
    assert_eq!(stdout(&one).trim_end(), page.trim_end());
    let unknown = run(&["man", "wach"]);
    check_code(&unknown, 2);
    assert!(stderr(&unknown).contains("no verb \"wach\""), "{}", stderr(&unknown));
}

#[test]
fn bash_completes_every_option() {
    let output = run(&["completions", "bash"]);
    check_code(&output, 0);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("tidewire.bash");
    fs::write(&script, stdout(&output)).unwrap();
    let mut asked = format!("source {}\n", script.display());
    let options = options();
    for (verb, option) in &options {
        let count = verb.split(' ').count() + 1;
        asked += &format!(
            "COMP_WORDS=(tidewire {verb} {option}); COMP_CWORD={count}; COMPREPLY=()\n\
             _tidewire tidewire {option} {}; echo \"${{COMPREPLY[*]}}\"\n",
            verb.rsplit(' ').next().unwrap()
        );
    }
    let bash = Command::new("bash").arg("-c").arg(asked).output().unwrap();
    let answers = String::from_utf8(bash.stdout).unwrap();
    assert_eq!(answers.lines().count(), options.len(), "{}", String::from_utf8_lossy(&bash.stderr));
    for (answer, (verb, option)) in answers.lines().zip(&options) {
        assert!(answer.split(' ').any(|word| word == option), "{verb} {option}: {answer:?}");
    }
}

#[test]
fn other_shells_have_completions_too() {
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        check_code(&output, 0);
        assert!(stdout(&output).contains("until-decided"), "{shell}");
    }
    let output = run(&["completions", "tcsh"]);
    check_code(&output, 2);
}

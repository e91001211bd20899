//! Messages on standard error: details, records, and repeated messages counted.

use crate::{check_code, run, stderr};
use serde_json::Value;

const PREDICT: [&str; 5] = ["predict", "status-short", "-n", "8", "--no-save"];

fn messages(more: &[&str]) -> String {
    let output = run(&[&PREDICT[..], more].concat());
    check_code(&output, 0);
    stderr(&output)
}

#[test]
fn details_name_the_command_each_run_and_the_time() {
    let text = messages(&["-v"]);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("detail: ")).collect();
    assert!(lines[0].contains("predict status-short -n 8"), "{text}");
    assert!(lines[1].contains("1 point, 8 runs of each"), "{text}");
    assert_eq!(lines.iter().filter(|line| line.contains("repetition")).count(), 8, "{text}");
    assert!(lines.last().unwrap().contains("exit code 0 after "), "{text}");
    assert!(!messages(&[]).contains("detail: "));
    let output = run(&["doctor", "-v", "-q"]);
    check_code(&output, 2);
}

#[test]
fn messages_are_records_on_request() {
    let text = messages(&["-v", "--log-format", "json"]);
    let records: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert!(records.iter().all(|it| it["type"] == "log" && it["message"].is_string()), "{text}");
    assert!(records.iter().filter(|it| it["level"] == "detail").count() > 9, "{text}");
    let output = run(&["predict", "status-shrt", "--log-format", "json"]);
    check_code(&output, 2);
    let error: Value = serde_json::from_str(stderr(&output).trim()).unwrap();
    assert_eq!(error["level"], "error");
    assert!(error["message"].as_str().unwrap().starts_with("no scenario file"), "{error}");
}

#[test]
fn repeated_messages_are_counted_and_not_repeated() {
    let text = messages(&["-v", "--log-limit", "3"]);
    let repeated = text.lines().filter(|line| line.starts_with("detail: point")).count();
    assert_eq!(repeated, 3, "{text}");
    // Seeds are numbers as well.
    let left_out = "5 more messages like: detail: point N, repetition N, seed N: N";
    assert!(text.contains(left_out) && text.contains("(--log-limit)"), "{text}");
}

//! Lint of the command line: a letter stands for one option in all verbs, and an option reads its value in
//! one way.

use super::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory as _};
use std::collections::{BTreeMap, BTreeSet};

/// Options whose value is read in two ways, each with the reason.
const VALUES: [(&str, &str); 3] = [
    ("format", "forms of a report are documents, those of the rows of a paper are tables"),
    ("read", "dissect takes one capture; watch and capture take several, one after the other"),
    ("require", "requirements of flows in runs, and of measures of watched traffic"),
];

#[test]
fn a_letter_stands_for_one_option_in_all_verbs() {
    let mut letters: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    for (_, argument) in arguments() {
        for letter in argument.get_short_and_visible_aliases().unwrap_or_default() {
            letters.entry(letter).or_default().insert(name(&argument));
        }
    }
    assert!(letters.len() > 10, "{letters:?}");
    letters.retain(|_, options| options.len() > 1);
    assert!(letters.is_empty(), "{letters:#?}");
}

#[test]
fn an_option_has_its_letter_in_every_verb() {
    let mut options: BTreeMap<String, BTreeSet<Option<char>>> = BTreeMap::new();
    for (_, argument) in arguments() {
        options.entry(name(&argument)).or_default().insert(argument.get_short());
    }
    options.retain(|_, letters| letters.len() > 1);
    assert!(options.is_empty(), "{options:#?}");
}

#[test]
fn an_alias_is_not_the_name_of_another_option() {
    let names: BTreeSet<String> = arguments().iter().map(|(_, it)| name(it)).collect();
    for (verb, argument) in arguments() {
        for alias in argument.get_all_aliases().unwrap_or_default() {
            assert!(!names.contains(alias), "{verb}: --{alias} is --{}", name(&argument));
        }
    }
}

#[test]
fn an_option_reads_its_value_in_one_way() {
    let mut options: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (verb, argument) in arguments() {
        let ways = options.entry(name(&argument)).or_default();
        ways.entry(way(&argument)).or_default().push(verb);
    }
    options.retain(|_, ways| ways.len() > 1);
    assert!(VALUES.iter().all(|(_, reason)| !reason.is_empty()), "an exception has a reason");
    let excepted: BTreeSet<&str> = VALUES.into_iter().map(|(option, _)| option).collect();
    let found: BTreeSet<&str> = options.keys().map(String::as_str).collect();
    assert_eq!(found, excepted, "{options:#?}");
}

#[test]
fn a_value_has_one_name_which_is_a_word() {
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (verb, argument) in arguments().into_iter().filter(|(_, it)| it.get_action().takes_values())
    {
        for value in argument.get_value_names().unwrap_or_default() {
            // clap derives a name from the option's where none is given.
            assert!(!value.contains('_'), "{verb} --{}: {value}", name(&argument));
            names.entry(name(&argument)).or_default().insert(value.to_string());
        }
    }
    let all: BTreeSet<String> = names.values().flatten().cloned().collect();
    // FORMAT next to FORM is a second name of one thing; SIZES are several of SIZE.
    let is_second = |of: &str, value: &str| {
        let derived = of.to_uppercase() == value;
        let shorter = |it: &&String| {
            it.len() > 2
                && value.strip_prefix(it.as_str()).is_some_and(|rest| !["", "S"].contains(&rest))
        };
        derived && all.iter().find(shorter).is_some()
    };
    // The output of a report is a file, that of a run a folder of runs.
    names.remove("output");
    names.retain(|of, values| values.len() > 1 || values.iter().any(|it| is_second(of, it)));
    assert!(names.is_empty(), "{names:#?}");
}

/// Type that a value is read as, and whether it may be a list; of a flag its action.
fn way(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return format!("{:?}", argument.get_action());
    }
    let is_list = matches!(argument.get_action(), ArgAction::Append);
    let separator = argument.get_value_delimiter();
    format!("{:?}, list: {is_list} {separator:?}", argument.get_value_parser().type_id())
}

/// Options of all verbs, the hidden ones too.
fn arguments() -> Vec<(String, Arg)> {
    let mut whole = Cli::command();
    whole.build();
    let mut found = Vec::new();
    collect(&whole, "", &mut found);
    found
}

fn collect(command: &Command, above: &str, found: &mut Vec<(String, Arg)>) {
    let verb = format!("{above} {}", command.get_name());
    let options = command.get_arguments().filter(|it| it.get_long().is_some());
    found.extend(options.map(|option| (verb.trim().to_owned(), option.clone())));
    for below in command.get_subcommands() {
        collect(below, &verb, found);
    }
}

fn name(argument: &Arg) -> String {
    argument.get_long().unwrap_or_default().to_owned()
}

//! End of a command: the documented exit codes, and errors with their fix.

use crate::pointer;
use bench::paragraph::wrapped;
use bench::scenario::ScenarioError;
use std::fmt;
use std::io;
use std::path::Path;

/// Exit of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Ok,
    /// It could not.
    Failed,
    /// It was asked for something that makes no sense.
    Usage,
    /// A requirement was not met.
    RequirementNotMet,
    /// The result is not valid, or does not decide.
    Undecided,
    /// A permission is missing.
    PermissionMissing,
    /// It was interrupted; what it had is written.
    Interrupted,
}

impl Exit {
    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::RequirementNotMet => 3,
            Self::Undecided => 4,
            Self::PermissionMissing => 5,
            Self::Interrupted => 130,
        }
    }
}

/// An error with the exit code it leads to, and what would mend it.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    /// The mistake within the command line, with carets.
    pointer: Option<String>,
    fix: Option<String>,
    scenario: Option<Box<ScenarioError>>,
}

impl Failure {
    /// Exit code that it leads to.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// It could not be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
            pointer: None,
            fix: None,
            scenario: None,
        }
    }

    /// It was asked for wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
            pointer: None,
            fix: None,
            scenario: None,
        }
    }

    /// A file that the command line names is wrong.
    pub(crate) fn scenario_is_wrong(message: impl Into<String>, error: ScenarioError) -> Self {
        Self { scenario: Some(Box::new(error)), ..Self::usage(message) }
    }

    /// A permission is missing.
    pub(crate) fn permission(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::PermissionMissing,
            message: message.into(),
            pointer: None,
            fix: None,
            scenario: None,
        }
    }

    /// A file could not be written.
    pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Self {
        Self::failed(format!("cannot write {}: {error}", path.display()))
    }

    /// A folder could not be made.
    pub(crate) fn no_folder(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Self::failed(format!("{} is a file, not a folder", path.display()))
                    .with_fix("name a folder, which need not exist yet")
            }
            _ => Self::cannot_write(path, error),
        }
    }

    /// True if a permission is missing.
    pub(crate) fn is_permission(&self) -> bool {
        self.exit == Exit::PermissionMissing
    }

    /// Description of the failure.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Fix of the failure.
    pub(crate) fn fix(&self) -> Option<&str> {
        self.fix.as_deref()
    }

    /// The problems of the file that is wrong.
    pub(crate) fn scenario(&self) -> Option<&ScenarioError> {
        self.scenario.as_deref()
    }

    /// With the option and the value that the mistake is in, and the topic of help on such values.
    pub(crate) fn within(mut self, option: &str, value: &str) -> Self {
        self.pointer = Some(pointer::under(option, value));
        if let Some(topic) = pointer::topic(option) {
            self.fix.get_or_insert_with(|| format!("tidewire help {topic}"));
        }
        self
    }

    /// With what would mend it.
    pub(crate) fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(pointer) = &self.pointer {
            write!(f, "\n{pointer}")?;
        }
        match &self.fix {
            // Choices are words; anything else may be a command, which is copied as one line.
            Some(fix) if fix.starts_with("one of ") => write!(f, "\n{}", wrapped("  fix: ", fix)),
            Some(fix) => write!(f, "\n  fix: {fix}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// The exit code an error leads to.
pub(crate) fn exit_of(error: &anyhow::Error) -> Exit {
    let broken_pipe = error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    if broken_pipe {
        return Exit::Ok;
    }
    error.downcast_ref::<Failure>().map_or(Exit::Failed, |failure| failure.exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_fit_a_terminal_and_commands_stay_whole() {
        let shown = |fix: &str| Failure::usage("no topic").with_fix(fix).to_string();
        let choices = shown(&format!("one of {}", vec!["requirements"; 20].join(", ")));
        assert!(choices.lines().count() > 3 && choices.lines().all(|line| line.len() <= 80));
        let command = format!("sudo ip link set {} up", "x".repeat(90));
        assert_eq!(shown(&command).lines().nth(1), Some(&*format!("  fix: {command}")));
    }
}

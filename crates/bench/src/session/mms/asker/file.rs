//! Reading of a file: open, parts one after the other, close.

use super::Asker;
use crate::mms::services;
use crate::mms::{FileRead, Rung};
use crate::session::mms::ends::{count, explain_end};
use crate::session::mms::plan::{Reading, Stage, Task};
use core::time::Duration;
use stack::mms::client::{Call, End};
use wire::mms::Response;
use wire::time::Instant;

/// Longest file that is read, in octets.
const MOST_OCTETS: usize = 64 << 20;

impl Asker {
    /// Begins to read a file, with three steps of its own.
    pub(super) fn read_file(&mut self, name: &str) -> Reading {
        let rung = self.found.rungs.len();
        self.found.rungs.extend(["file open", "file read", "file close"].map(Rung::new));
        self.found.file = Some(FileRead::new(name));
        let stage = Stage::Opening;
        Reading { name: name.to_owned(), stage, rung, began: Instant::ZERO }
    }

    /// Makes the next call, once it is due.
    pub(super) fn proceed_file(&mut self, now: Instant, mut reading: Reading) {
        if self.sent.is_empty() && self.is_due(now, 1) {
            let patience = self.inquiry.patience;
            let call: Call = match reading.stage {
                Stage::Opening => {
                    reading.began = now;
                    services::file_open(&reading.name, patience)
                }
                Stage::Reading(machine) => services::file_read(machine, patience),
                Stage::Closing(machine) => services::file_close(machine, patience),
            };
            self.call(now, call);
            self.next_at = now + self.pace.period();
        }
        self.current = Some(Task::File(reading));
    }

    /// Processes the end of a call; the task is over after the close or a failure.
    pub(super) fn file_ended(
        &mut self,
        now: Instant,
        taken: Duration,
        end: &End,
        mut reading: Reading,
    ) {
        let Some(rung) = self.found.rungs.get_mut(reading.rung + reading.stage.place()) else {
            return;
        };
        count(rung, taken, end);
        let Some(file) = &mut self.found.file else { return };
        let response = match end {
            End::Response(pdu) => services::service(pdu),
            other => Err(explain_end(other)),
        };
        let next = match (reading.stage, response) {
            (Stage::Opening, Ok(Response::FileOpen(opened))) => {
                file.size_octets = Some(opened.attributes.size_octets.into());
                Stage::Reading(opened.machine)
            }
            (Stage::Reading(machine), Ok(Response::FileRead(part))) => {
                let is_too_long = file.octets.len() + part.octets.len() > MOST_OCTETS;
                // A part without octets does not bring the end nearer.
                let is_stuck = part.octets.is_empty() && part.more_follows != Some(false);
                if is_too_long || is_stuck {
                    let reason = if is_too_long { "longer than 64 MiB" } else { "an empty part" };
                    file.failure = Some(reason.to_owned());
                    Stage::Closing(machine)
                } else {
                    file.octets.extend_from_slice(part.octets);
                    file.parts += 1;
                    // Absent, more follows (ISO 9506-2).
                    if part.more_follows == Some(false) {
                        file.taken = Some(now - reading.began);
                        Stage::Closing(machine)
                    } else {
                        Stage::Reading(machine)
                    }
                }
            }
            (Stage::Closing(_), Ok(_)) => return,
            (stage, other) => {
                let reason = other.err().unwrap_or_else(|| "another service answered".to_owned());
                file.failure = Some(reason);
                match stage {
                    Stage::Reading(machine) => Stage::Closing(machine),
                    Stage::Opening | Stage::Closing(_) => return,
                }
            }
        };
        reading.stage = next;
        self.current = Some(Task::File(reading));
    }
}

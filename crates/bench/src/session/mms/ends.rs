//! Ends of calls and associations: counts, reasons, names.

use crate::mms::Item;
use crate::mms::Rung;
use crate::mms::services;
use core::time::Duration;
use stack::acse::{Rejection, Source};
use stack::mms::client::{End, Loss, Refusal};
use stack::presentation;
use wire::acse::Diagnostic;

/// Variables chosen from the names of a server.
const CHOSEN: usize = 5;

/// Counts the end of a call.
pub(super) fn count(rung: &mut Rung, taken: Duration, end: &End) {
    let result = match end {
        End::Response(pdu) => services::service(pdu).and_then(|it| services::check(&it)),
        other => Err(explain_end(other)),
    };
    match result {
        Ok(()) => rung.times.record(taken),
        Err(reason) => {
            if matches!(end, End::TimedOut | End::Unanswered) {
                rung.unanswered += 1;
            } else {
                rung.failed += 1;
            }
            rung.reason = Some(reason);
        }
    }
}

pub(super) fn explain_end(end: &End) -> String {
    match end {
        End::Response(_) => "answered".to_owned(),
        End::Error(pdu) => services::service(pdu).err().unwrap_or_default(),
        End::Rejected(reject) => format!("rejected: {reject}"),
        End::Wrong => "the response is of another service".to_owned(),
        End::TimedOut => "no response in time".to_owned(),
        End::Unanswered => "the association ended".to_owned(),
        End::Refused => "not sent".to_owned(),
    }
}

pub(super) fn explain(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Rejected { rejection, error: Some(error) } => {
            format!(
                "{}, {}",
                rejected(*rejection),
                wire::mms::Pdu::decode(error)
                    .map_or_else(|malformed| malformed.to_string(), |pdu| pdu.to_string(),)
            )
        }
        Refusal::Rejected { rejection, error: None } => rejected(*rejection),
        Refusal::NotInitiated => "no acceptable initiate response".to_owned(),
        Refusal::Lost(loss) => explain_loss(*loss),
        Refusal::TimedOut => "no answer in time".to_owned(),
    }
}

/// Layer that rejected an association, and its reason.
fn rejected(rejection: Rejection) -> String {
    match rejection {
        Rejection::Association { is_transient, diagnostic } => {
            let until = if is_transient { "for now" } else { "permanently" };
            let diagnostic = match diagnostic {
                Some(Diagnostic::User(reason)) => format!(", diagnostic {reason} of the user"),
                Some(Diagnostic::Provider(reason)) => {
                    format!(", diagnostic {reason} of the provider")
                }
                None => String::new(),
            };
            format!("rejected {until} by ACSE of the server{diagnostic}")
        }
        Rejection::Below(refused) => match refused {
            presentation::Refusal::User => "by the user of the server's session layer".to_owned(),
            presentation::Refusal::Presentation(reason) => {
                format!("by the server's presentation layer, reason {reason}")
            }
            presentation::Refusal::Session(reason) => {
                format!("by the server's session layer, reason {reason}")
            }
        },
    }
}

/// Reason why an association ended.
pub(super) fn explain_loss(loss: Loss) -> String {
    match loss {
        Loss::Aborted(Source::User) => "aborted by the server".to_owned(),
        Loss::Aborted(Source::Provider) => "aborted for an ACSE protocol error".to_owned(),
        Loss::Provider(presentation::Reason::Session(reason)) => reason.text().to_owned(),
        Loss::Provider(presentation::Reason::ProtocolError) => {
            "aborted for a presentation protocol error of the server".to_owned()
        }
        Loss::Provider(presentation::Reason::ByPeer(reason)) => {
            let reason = reason.map_or_else(String::new, |reason| format!(", reason {reason}"));
            format!("aborted by the server's presentation layer{reason}")
        }
        Loss::ReleasedByPeer => "released by the server".to_owned(),
        Loss::TimedOut => "the release was not answered".to_owned(),
    }
}

pub(super) fn names(end: &End) -> Vec<String> {
    let End::Response(pdu) = end else { return Vec::new() };
    services::service(pdu).map(|response| services::names_of(&response)).unwrap_or_default()
}

/// Chooses leaves of measured values and states: names that no other name continues.
pub(super) fn choose(domain: &str, mut names: Vec<String>) -> Vec<Item> {
    names.sort();
    let is_leaf = |place: usize| {
        let prefix = format!("{}$", names[place]);
        !names.get(place + 1).is_some_and(|next| next.starts_with(&prefix))
    };
    let wanted = |name: &String| {
        matches!(name.split('$').nth(1), Some("MX" | "ST")) && name.split('$').count() > 3
    };
    let places = (0..names.len()).filter(|place| wanted(&names[*place]) && is_leaf(*place));
    let chosen = places.map(|place| Item { domain: domain.to_owned(), item: names[place].clone() });
    chosen.take(CHOSEN).collect()
}

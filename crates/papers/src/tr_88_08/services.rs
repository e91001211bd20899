//! Figure 3 of TR-88-08: the time diagrams of Send Data with No Acknowledge (SDN) and Send Data with Acknowledge (SDA).
//!
//! The picture itself is not at hand; the text says what it defines: request, confirm and indication. Here one short
//! message between two simulated PCs is followed through host, MAC and ring. Left out: the user's program, which takes
//! no time, so that LLCxmit returns when it is called.

use super::context::{Context, Machine, SHORT};
use super::figures::{ACK, PC_LLC, PLAIN};
use crate::layers::Service;
use crate::layers::simulated::{self, Course, OnTheRing};
use crate::published::Unavailable;
use crate::published::diagram::{Interval, Moment, Span, TimeDiagram};
use sim::host::Work;
use std::collections::BTreeSet;
use wire::time::Instant;

/// Lanes from the top.
const LANES: [&str; 7] = [
    "sender, user",
    "sender, host",
    "sender, MAC",
    "ring",
    "receiver, MAC",
    "receiver, host",
    "receiver, user",
];
/// Places of lanes: users, hosts and MACs of sender and receiver, and the ring.
const USERS: [usize; 2] = [0, 6];
const HOSTS: [usize; 2] = [1, 5];
const MACS: [usize; 2] = [2, 4];
const RING: usize = 3;

/// Both diagrams; a measured time is an input if the model was calibrated on one of its rows.
pub(super) fn diagrams(
    context: &Context,
    inputs: &BTreeSet<String>,
) -> Result<[TimeDiagram; 2], Unavailable> {
    let is_input = |rows: &[&str]| rows.iter().any(|row| inputs.contains(*row));
    let course = |service| course(context, service);
    let sdn = diagram(
        ("3a", "Figure 3, SDN", "Send Data with No Acknowledge (SDN) on the PC"),
        &course(PLAIN)?,
        [is_input(PC_LLC), is_input(&["S003-042"])],
    );
    let sda = diagram(
        ("3b", "Figure 3, SDA", "Send Data with Acknowledge (SDA) on the PC"),
        &course(ACK)?,
        [is_input(&["S003-030"]), false],
    );
    Ok([sdn, sda])
}

fn course(context: &Context, service: Service) -> Result<Course, Unavailable> {
    let profile = context.profile((Machine::Pc, 0))?;
    simulated::follow(profile, service, SHORT, context.options.seed)
        .map_err(|error| Unavailable(format!("a message of {SHORT} octets: {error}")))
}

/// Diagram of a course; `are_inputs` are the flags of the times to the confirm and to the
/// indication.
fn diagram(
    (number, place, title): (&'static str, &'static str, &'static str),
    course: &Course,
    are_inputs: [bool; 2],
) -> TimeDiagram {
    let time = |at: Instant| at.since(course.request).as_secs_f64() * 1e3;
    let mut spans = spans(course, &time);
    spans.sort_by(|one, other| one.begin.total_cmp(&other.begin).then(one.lane.cmp(&other.lane)));
    let moment = |lane, name: &str, at| Moment { lane, name: name.to_owned(), at: time(at) };
    let [sender, receiver] = USERS;
    let interval = |name: &str, is_input, end| Interval {
        name: name.to_owned(),
        is_input,
        begin: 0.0,
        end: time(end),
    };
    let [confirm, indication] = are_inputs;
    TimeDiagram {
        number,
        place,
        title,
        observed: format!(
            "One message of {SHORT} octets, followed in the simulation. Request: LLCxmit is called. \
             Confirm: LLCstatus shows the sender that it is over. Indication: LLCstatus shows the receiver the \
             message. Tasks last as long as the calibrated profile pc-pronet says."
        ),
        lanes: LANES.to_vec(),
        spans,
        moments: vec![
            moment(sender, "request", course.request),
            moment(sender, "confirm", course.confirm),
            moment(receiver, "indication", course.indication),
        ],
        intervals: vec![
            interval("request to confirm", confirm, course.confirm),
            interval("request to indication", indication, course.indication),
        ],
    }
}

/// Work of a course: tasks of both machines, waits for the token, and frames on the ring.
fn spans(course: &Course, time: &impl Fn(Instant) -> f64) -> Vec<Span> {
    let mut spans = Vec::new();
    for (machine, all) in course.work.iter().enumerate() {
        for Work { task, on_processor, begin, end, .. } in all {
            let lane = if *on_processor { HOSTS[machine] } else { MACS[machine] };
            spans.push(Span { lane, name: task.clone(), begin: time(*begin), end: time(*end) });
        }
    }
    for OnTheRing { is_message, begin, end } in &course.frames {
        let machine = usize::from(!is_message);
        let name = if *is_message { "message on the ring" } else { "acknowledgement on the ring" };
        let (begins, ends) = (time(*begin), time(*end));
        // The frame is in the interface's buffer when the last task before it ends.
        let written = course.work[machine].iter().map(|work| time(work.end));
        let written = written.filter(|at| *at <= begins).fold(f64::MIN, f64::max);
        let lane = MACS[machine];
        if written < begins && written >= 0.0 {
            let name = "wait for the token".to_owned();
            spans.push(Span { lane, name, begin: written, end: begins });
        }
        spans.push(Span { lane: RING, name: name.to_owned(), begin: begins, end: ends });
    }
    spans
}

//! Figures 4 to 8 of TR-88-08, from the modelled machines.

use super::context::{Context, LEAST, LONGEST_FRAME, LONGEST_MESSAGE, Machine, SHORT};
use crate::layers::{Operation, Service};
use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style, means_at_each_point};
use std::collections::BTreeSet;

/// Curve: machine, operation, and the rows that give points of it.
type Wanted = (&'static str, Machine, Operation, Service, &'static [&'static str]);

pub(super) const PLAIN: Service = Service { acknowledgement: false, crc: false };
pub(super) const ACK: Service = Service { acknowledgement: true, crc: false };
const CRC: Service = Service { acknowledgement: false, crc: true };
const BOTH: Service = Service { acknowledgement: true, crc: true };

/// Rows that give points of the PC's curves, and of the AT's. Write and read of a buffer take the
/// times that those of MAC transmit leave.
const PC_MAC: &[&str] = &["S003-022", "S003-024"];
pub(super) const PC_LLC: &[&str] = &["S003-026", "S003-027"];
const AT_MAC: &[&str] = &["S003-035"];
const AT_LLC: &[&str] = &["S003-002", "S003-036"];

const PC: Machine = Machine::Pc;
const FIGURE_4: [Wanted; 4] = [
    ("end to end", PC, Operation::MacEndToEnd, PLAIN, &[]),
    ("buffer read", PC, Operation::BufferRead, PLAIN, PC_MAC),
    ("buffer write", PC, Operation::BufferWrite, PLAIN, PC_MAC),
    ("buffer transmit", PC, Operation::BufferTransmit, PLAIN, &[]),
];
const FIGURE_5: [Wanted; 3] = [
    ("end to end", PC, Operation::LlcEndToEnd, PLAIN, &["S003-042"]),
    ("transmit", PC, Operation::LlcTransmit, PLAIN, PC_LLC),
    ("receive", PC, Operation::LlcReceive, PLAIN, &[]),
];
const FIGURE_6: [Wanted; 3] = [
    ("LLC transmit", PC, Operation::LlcTransmit, PLAIN, PC_LLC),
    ("MAC transmit", PC, Operation::MacTransmit, PLAIN, PC_MAC),
    ("PHY transmit", PC, Operation::BufferTransmit, PLAIN, &[]),
];
const FIGURE_7: [Wanted; 4] = [
    ("ACK+CRC", PC, Operation::LlcTransmit, BOTH, &["S003-033"]),
    ("CRC", PC, Operation::LlcTransmit, CRC, &[]),
    ("ACK", PC, Operation::LlcTransmit, ACK, &["S003-030"]),
    ("plain", PC, Operation::LlcTransmit, PLAIN, PC_LLC),
];
const FIGURE_8A: [Wanted; 2] = [
    ("PC", PC, Operation::MacTransmit, PLAIN, PC_MAC),
    ("PC/AT", Machine::At, Operation::MacTransmit, PLAIN, AT_MAC),
];
const FIGURE_8B: [Wanted; 2] = [
    ("PC", PC, Operation::LlcTransmit, PLAIN, PC_LLC),
    ("PC/AT", Machine::At, Operation::LlcTransmit, PLAIN, AT_LLC),
];

const FIGURES: [(&str, &str, &[Wanted]); 6] = [
    ("4", "MAC operations of the PC", &FIGURE_4),
    ("5", "LLC operations of the PC", &FIGURE_5),
    ("6", "Transmit times of the PC's layers", &FIGURE_6),
    ("7", "LLC transmit of the PC with its options", &FIGURE_7),
    ("8a", "MAC transmit of PC and PC/AT", &FIGURE_8A),
    ("8b", "LLC transmit of PC and PC/AT", &FIGURE_8B),
];

/// Draws all figures; a curve is an input if the model was calibrated on one of its rows.
pub(super) fn all(
    context: &mut Context,
    inputs: &BTreeSet<String>,
) -> Result<Vec<Plot>, Unavailable> {
    let mut plots = Vec::with_capacity(FIGURES.len());
    for (number, title, wanted) in FIGURES {
        let mut curves = Vec::with_capacity(wanted.len());
        for (name, machine, operation, service, rows) in wanted {
            let mut points = Vec::new();
            for octets in sizes(*operation) {
                let time = context.time(*machine, *operation, *service, octets)?;
                let (low, high) = (time.low, time.high);
                let observations = time.observations;
                points.push(Point { x: octets as f64, y: time.value, low, high, observations });
            }
            let is_input = rows.iter().any(|row| inputs.contains(*row));
            let name = (*name).to_owned();
            curves.push(Curve { name, is_input, style: Style::Points, points });
        }
        plots.push(Plot {
            number,
            place: format!("Figure {number}"),
            title,
            horizontal: ("packet size", "octets"),
            vertical: ("time", "ms"),
            observed: means_at_each_point(context.options.messages),
            curves,
            published: Vec::new(),
        });
    }
    Ok(plots)
}

/// Sizes at which an operation is drawn: every 200 octets, and denser at bends of the curves.
fn sizes(operation: Operation) -> Vec<usize> {
    let longest = match operation {
        Operation::BufferWrite
        | Operation::BufferTransmit
        | Operation::BufferRead
        | Operation::MacEndToEnd
        | Operation::MacTransmit => LONGEST_FRAME,
        // None of these is in the paper.
        Operation::TransportEndToEnd
        | Operation::SessionEndToEnd
        | Operation::CaseEndToEnd
        | Operation::MmsEndToEnd => LONGEST_MESSAGE,
        Operation::LlcTransmit | Operation::LlcReceive | Operation::LlcEndToEnd => LONGEST_MESSAGE,
    };
    let mut sizes = vec![LEAST, 64, SHORT, 150];
    sizes.extend((200..=2_000).step_by(200));
    sizes.push(longest);
    sizes
}

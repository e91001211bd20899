//! Files of a scenario over a port: written to and read from a responder, octet for octet.

use crate::session::both_ends;
use bench::scenario::{self, Study};
use bench::session::initiator::Measured;
use bench::session::responder::Served;

fn study(flow: &str) -> Study {
    let text = format!(
        "version = 1\ntitle = \"files\"\nstop = {{ after = \"120 s\", warmup = \"none\" }}\n\
         medium = {{ kind = \"ideal\", rate = \"100 Mbit/s\" }}\n\
         transport = {{ t1 = \"20 ms\", n = 100, acknowledge = \"each\", checksum = false }}\n\
         stations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"files\"\n\
         from = \"s-1\"\nto = \"s-2\"\nservice = \"file\"\npattern = {{ kind = \"bulk\" }}\n\
         size = \"1 MB\"\nmessages = 2\n{flow}\n"
    );
    scenario::load(&text, "files.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// Transfers both files of a flow to a responder, at which each frame is lost with a probability.
fn transfer(flow: &str, loss: f64) -> (Measured, Served) {
    let (measured, served) = both_ends(&study(flow).points[0], loss);
    assert!(measured.failure.is_none() && served.complete, "{:?}", measured.failure);
    (measured, served)
}

#[test]
fn files_cross_a_port_octet_for_octet_both_ways() {
    for direction in ["write", "read"] {
        for (eot, loss) in [("each", 0.0), ("last", 0.0), ("last", 0.01)] {
            let flow = format!("direction = \"{direction}\"\neot = \"{eot}\"");
            let (measured, served) = transfer(&flow, loss);
            let flow = &measured.sample.flows[0];
            // A responder compares the octets that are written, and an initiator those that it reads.
            let counts = (flow.sent, flow.delivered, flow.lost, flow.failed, flow.delivered_octets);
            assert_eq!(counts, (2, 2, 0, 0, 2_000_000), "{flow:?}");
            assert!(flow.done && flow.delay.count == 2, "{flow:?}");
            assert_eq!((measured.peer.delivered, measured.peer.octets), (2, 2_000_000));
            let files = served.files;
            assert_eq!((files.files, files.octets, files.failed), (2, 2_000_000, 0));
            println!(
                "seen: 1 Mbyte over a port, {direction}, eot {eot}, loss {loss}: {:.3} s",
                flow.delay.mean_ns.unwrap() / 1e9
            );
        }
    }
}

#[test]
fn a_file_that_shrinks_over_a_port_is_counted_at_both_ends() {
    let (measured, served) = transfer("shrinks-to = \"400 kB\"", 0.0);
    let flow = &measured.sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.failed), (2, 0, 2), "{flow:?}");
    let failures: Vec<_> = flow.failures.iter().map(|(why, n)| (why.as_str(), *n)).collect();
    assert_eq!(failures, [("the file became shorter while it was written", 2)]);
    assert_eq!((served.files.files, served.files.failed), (0, 2));
    assert!(flow.done, "the next file follows, and the flow ends in order");
}

//! UADP, AVTP, CC-Link IE Field Basic, POWERLINK and SOME/IP: captures with known losses, and tshark's fields.

use crate::capture::shared;
use crate::cyclic::{nanos, streams};
use core::time::Duration;
use meter::{Meter, Protocol, Settings, StreamReport};
use std::path::Path;
use std::process::{Command, Stdio};
use wire::dissect::Link;
use wire::someip;
use wire::time::Instant;

fn of(all: &[StreamReport], protocol: Protocol, name: &str) -> StreamReport {
    let is_it =
        |it: &&StreamReport| it.key.protocol == protocol && *it.key.name == *name.as_bytes();
    all.iter().find(is_it).unwrap_or_else(|| panic!("{name} of {all:?}")).clone()
}

/// Fields of the frames that match, as tshark has them; none without it.
fn by_tshark(path: &Path, wanted: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", wanted, "-T", "fields"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = tshark.arg("-r").arg(path).stderr(Stdio::null()).output() else {
        println!("skipped: no tshark to compare AVTP and POWERLINK with");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    Some(text.lines().map(line).collect())
}

#[test]
fn losses_of_made_network_messages_are_found() {
    let Some(path) = shared("captures", "cyclic/opcua-pubsub/own-uadp.pcapng") else { return };
    let all = streams(&path);
    let fast = of(&all, Protocol::Uadp, "2234/100/1");
    // Messages 700, 1400 and 1401 are missing; 1000 is late by 0.6 ms.
    assert_eq!((fast.frames, fast.order.missing, fast.order.repeated), (1_997, 3, 0));
    let late = fast.deviations.unwrap().late.max_ns;
    assert!((590_000..610_000).contains(&late), "{late}");
    let transit = fast.extra.clock.unwrap().transit.unwrap();
    assert!((590_000..610_000).contains(&transit.late.max_ns), "{transit:?}");
    assert_eq!((fast.tag.unwrap().priority(), fast.extra.clock.unwrap().stamps), (7, 1_997));
    let slow = of(&all, Protocol::Uadp, "9001/7/0");
    assert_eq!((slow.frames, slow.order.missing, slow.extra.clock), (19, 1, None));
    assert_eq!((slow.key.source.to_string().as_str(), slow.key.identifier), ("192.0.2.6", 7));
}

#[test]
fn losses_of_a_made_audio_stream_are_found() {
    let Some(path) = shared("captures", "cyclic/avtp/own-aaf-crf.pcapng") else { return };
    let all = streams(&path);
    let audio = of(&all, Protocol::Avtp, "0200000005010001");
    // 500 and 1200 to 1202 are missing; 2500 arrives behind 2501 and 2502.
    let order = audio.order;
    assert_eq!((audio.frames, order.missing, order.out_of_order), (3_196, 4, 1));
    assert_eq!(
        (audio.unsynchronised, order.state_changes, audio.period_ns.unwrap() / 1_000),
        (10, 1, 124)
    );
    let clock = of(&all, Protocol::Avtp, "0200000005010002");
    assert_eq!((clock.frames, clock.order.missing, clock.key.identifier), (200, 0, 4));
    assert_eq!(clock.extra.clock.unwrap().stamps, 200);
    let fields = ["aaf.seqnum", "aaf.tufield"];
    let Some(theirs) = by_tshark(&path, "aaf.seqnum", &fields) else { return };
    let numbers: Vec<i64> = theirs.iter().map(|line| line[0].parse().unwrap()).collect();
    let (mut at, mut seen) = (numbers[0], std::collections::BTreeSet::from([numbers[0]]));
    for number in &numbers[1..] {
        let ahead = (number - at).rem_euclid(256);
        let here = at + if ahead > 128 { ahead - 256 } else { ahead };
        seen.insert(here);
        at = at.max(here);
    }
    let missing = seen.last().unwrap() - seen.first().unwrap() + 1 - seen.len() as i64;
    assert_eq!((theirs.len(), missing), (3_196, 4));
    let uncertain = theirs.iter().filter(|line| matches!(line[1].as_str(), "1" | "True")).count();
    assert_eq!(uncertain, 10);
}

#[test]
fn slaves_of_cc_link_answer_their_master() {
    let Some(path) = shared("captures", "cyclic/cclink/cclink_ief_basic_only.pcap") else { return };
    let all = streams(&path);
    let [request, response] = ["request", "response"].map(|name| of(&all, Protocol::CcLink, name));
    assert_eq!(
        (request.frames, request.order.missing, request.allowed_ns),
        (222, 0, 1_500_000_000)
    );
    assert_eq!((response.frames, response.order.missing, response.invalid), (222, 0, 0));
    let answers = response.extra.answers.unwrap();
    // By a reader of its own: mean 92.8 ms, at most 129.1.
    let mean = answers.round_trips.total_ns / answers.round_trips.count;
    let tenths = |nanos: u64| (nanos + 50_000) / 100_000;
    assert_eq!((answers.round_trips.count, tenths(mean)), (222, 928));
    assert_eq!(tenths(answers.round_trips.max_ns), 1_291);
    assert_eq!(request.extra.clock.unwrap().stamps, 222);
}

#[test]
fn polls_of_powerlink_have_the_responses_of_tshark() {
    let Some(path) = shared("captures", "cyclic/powerlink/eplexample.pcap") else { return };
    let all = streams(&path);
    let fields = ["frame.time_epoch", "epl.mtyp", "epl.dest", "epl.src"];
    let Some(theirs) = by_tshark(&path, "epl.mtyp", &fields) else { return };
    let (mut counts, mut open, mut took) = ([0_u64; 6], None, Vec::new());
    let mut cycles = Vec::new();
    for line in &theirs {
        let (at, kind) =
            (nanos(&line[0]), line[1].trim_start_matches("0x").parse::<usize>().unwrap());
        counts[kind.min(5)] += u64::from(kind < 6);
        match kind {
            1 => cycles.push(at),
            3 => open = Some(at),
            4 => took.extend(open.take().map(|sent| at - sent)),
            _ => {}
        }
    }
    let poll = of(&all, Protocol::Powerlink, "PReq 17");
    let cycle = of(&all, Protocol::Powerlink, "SoC 240");
    let found = [cycle.frames, poll.frames, of(&all, Protocol::Powerlink, "PRes 17").frames];
    assert_eq!(found, [counts[1], counts[3], counts[4]]);
    assert_eq!(of(&all, Protocol::Powerlink, "SoA 240").frames, counts[5]);
    assert_eq!((counts[1], counts[3]), (249, 242));
    let answers = poll.extra.answers.unwrap();
    assert_eq!((answers.round_trips.count, answers.lost), (242, 0));
    assert_eq!(answers.round_trips.total_ns, took.iter().sum::<u64>());
    assert_eq!(answers.round_trips.max_ns, *took.iter().max().unwrap());
    assert_eq!(cycle.gaps.total_ns, cycles.last().unwrap() - cycles[0]);
    let mut gaps: Vec<u64> = cycles.windows(2).take(64).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    assert_eq!(cycle.period_ns, Some(gaps[32]));
}

#[test]
fn messages_of_someip_are_those_of_tshark() {
    let Some(folder) = shared("captures", "cyclic/someip") else { return };
    for (name, frames) in [
        ("SomeIpSd.pcapng", 3),
        ("someip-udp-method-call.pcapng", 3),
        ("someip1.pcap", 3),
        // One request in nine segments.
        ("someip-tp.pcap", 1),
    ] {
        let all = streams(&folder.join(name));
        let found = all.iter().filter(|it| it.key.protocol == Protocol::SomeIp);
        assert_eq!(found.map(|it| it.frames).sum::<u64>(), frames, "{name}");
    }
    let path = folder.join("someip-udp-method-call.pcapng");
    let all = streams(&path);
    let request = of(&all, Protocol::SomeIp, "1234.0008 v1 request");
    let answers = request.extra.answers.unwrap();
    let Some(theirs) = by_tshark(&path, "ip.src", &["frame.time_epoch", "udp.payload"]) else {
        return;
    };
    let at = |kind: &str| {
        let is_it =
            |line: &&Vec<String>| line[1].starts_with("12340008") && &line[1][28..30] == kind;
        nanos(&theirs.iter().find(is_it).unwrap()[0])
    };
    assert_eq!((answers.round_trips.count, answers.round_trips.max_ns), (1, at("80") - at("00")));
}

#[test]
fn lost_late_and_repeated_events_are_found() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    // Every 10 ms; the session begins at 65,500 and skips 0 where it rolls over.
    let session = |n: u32| (65_499 + n) % 65_535 + 1;
    let mut send = |at_us: u64, n: u32, method: u16, session: u16| {
        let pdu = someip::Pdu {
            service: 0x0101,
            method,
            client: 0,
            session,
            interface: 1,
            kind: someip::Kind::Notification,
            return_code: 0,
            is_continued: false,
        };
        let octets = datagram(40_000, &pdu.encode(&n.to_be_bytes()));
        meter.observe(Instant::from_nanos(at_us * 1_000), Link::Ethernet, &octets, octets.len());
    };
    for n in 0..300_u32 {
        let late = if n == 200 { 4_000 } else { 0 };
        let at_us = u64::from(n) * 10_000 + late;
        if !matches!(n, 50 | 120 | 121) {
            send(at_us, n, 0x8001, session(n) as u16);
        }
        if n == 250 {
            send(at_us + 3_000, n, 0x8001, session(n) as u16);
        }
        // An event without sessions.
        send(at_us + 5, n, 0x8002, 0);
    }
    meter.finish();
    let all = meter.each_stream();
    let event = of(&all, Protocol::SomeIp, "0101.8001 v1 event");
    assert_eq!((event.frames, event.order.missing, event.order.repeated), (298, 3, 1));
    assert_eq!((event.period_ns, event.silences), (Some(10_000_000), 0));
    // The frame behind the late one is early; the frame behind the repeated one, too.
    let deviations = event.deviations.unwrap();
    assert_eq!([deviations.late.max_ns, deviations.early.max_ns], [4_000_000; 2]);
    let other = of(&all, Protocol::SomeIp, "0101.8002 v1 event");
    assert_eq!((other.frames, other.order.missing, other.period_ns), (300, 0, Some(10_000_000)));
}

/// Datagram of UDP to this port.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let ports = [port.to_be_bytes(), port.to_be_bytes()].concat();
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let udp = [&ports[..], &length, &[0, 0], payload].concat();
    let [high, low] = (udp.len() as u16 + 20).to_be_bytes();
    let head = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&[2; 12][..], &[8, 0], &head, &udp].concat()
}

//! Associations by title between hosts on a LAN without delay and loss.

use core::time::Duration;
use stack::clnp;
use stack::directory::{CacheParams, Directory, Entry, Resolver, ResolverParams};
use stack::host::{Host, HostParams};
use stack::load::{Eot, Event, Flow, FlowId, Pattern, Record, Service};
use stack::messaging::Priority;
use stack::station::{Station, Transmission, destination};
use stack::tp4::Params;
use std::collections::BTreeMap;
use wire::addr::{Mac, Nsap};
use wire::time::Instant;

const CALLER: u32 = 1;
const WELDER: u32 = 2;
const DIRECTORY: u32 = 3;
/// Accepts nothing.
const STRANGER: u32 = 4;

fn host(number: u32, flows: Vec<Flow>) -> Host {
    let params = HostParams {
        address: Mac::local(number),
        transport: Params::lan(),
        network: clnp::Params::inactive(Nsap::of_station(Mac::local(number))),
        last_reference: 0,
        accepts: number != STRANGER,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, flows)
}

fn resolver() -> Resolver {
    Resolver::new(ResolverParams {
        directory: Mac::local(DIRECTORY),
        cache: CacheParams::DEFAULT,
        patience: Duration::from_secs(2),
        only: None,
    })
}

/// A message each second to these titles, the first at once.
fn caller(titles: &[&str], resolver: Resolver) -> Host {
    let flow = |number: usize| Flow {
        id: FlowId(number as u16),
        peer: Mac::local(STRANGER),
        service: Service::Case { eot: Eot::Last },
        priority: Priority::LOWEST,
        pattern: Pattern::Bulk,
        size_octets: 20,
        messages: Some(1),
        start: Instant::ZERO + Duration::from_secs(number as u64),
        seed: 1,
    };
    let titles = titles.iter().enumerate();
    let of_flows: BTreeMap<_, _> =
        titles.map(|(number, title)| (FlowId(number as u16), (*title).to_owned())).collect();
    host(CALLER, (0..of_flows.len()).map(flow).collect()).with_titles(resolver, of_flows)
}

fn directory() -> Host {
    let mut directory = Directory::default();
    directory.insert("welder".to_owned(), Entry::Station(Mac::local(WELDER)));
    directory.insert("here".to_owned(), Entry::Alias("there".to_owned()));
    directory.insert("there".to_owned(), Entry::Alias("here".to_owned()));
    directory.insert("false".to_owned(), Entry::Station(Mac::local(STRANGER)));
    host(DIRECTORY, Vec::new()).with_directory(directory)
}

/// Results of a run: the caller's records, its host, and the number of frames to the directory.
struct Ran {
    records: Vec<Record>,
    caller: Host,
    asked: usize,
}

/// Runs the caller against the welder, this directory and a stranger for a minute.
fn run(caller: Host, directory: Host) -> Ran {
    let mut hosts = [caller, host(WELDER, Vec::new()), directory, host(STRANGER, Vec::new())];
    let (mut records, mut asked, mut now) = (Vec::new(), 0, Instant::ZERO);
    let end = now + Duration::from_secs(60);
    while let Some(deadline) = hosts.iter().filter_map(Station::deadline).min()
        && deadline.at <= end
    {
        now = now.max(deadline.at);
        hosts.iter_mut().for_each(|host| host.expire(now));
        let mut is_busy = true;
        while is_busy {
            is_busy = false;
            for of in 0..hosts.len() {
                let Some(frame) = hosts[of].poll() else { continue };
                is_busy = true;
                hosts[of].transmitted(now, 0, Transmission::Sent);
                let to = destination(&frame);
                asked += usize::from(to == Some(Mac::local(DIRECTORY)));
                if let Some(to) = hosts.iter().position(|host| Some(host.addr()) == to) {
                    hosts[to].receive(now, frame);
                }
            }
        }
        records.extend(core::iter::from_fn(|| hosts[0].record()));
    }
    let [caller, ..] = hosts;
    Ran { records, caller, asked }
}

/// End of each flow in the order of their numbers.
fn ends(ran: &Ran) -> Vec<&'static str> {
    let of = |record: &Record| match record.event {
        Event::Ended { reason, .. } => Some((record.flow, reason)),
        _ => None,
    };
    let ends: BTreeMap<FlowId, &str> = ran.records.iter().filter_map(of).collect();
    ends.into_values().collect()
}

#[test]
fn a_title_is_asked_for_once_and_then_known() {
    let ran = run(caller(&["welder", "welder", "welder"], resolver()), directory());
    assert_eq!(ends(&ran), ["all sent"; 3]);
    let counts = ran.caller.resolver().unwrap().cache.counts();
    assert_eq!((counts.misses, counts.hits), (1, 2));
    let once = run(caller(&["welder"], resolver()), directory()).asked;
    assert_eq!(ran.asked, once, "frames to the directory");
}

#[test]
fn titles_without_a_station_end_their_flows_and_are_kept() {
    let titles = ["absent", "absent", "here", "welder"];
    let ran = run(caller(&titles, resolver()), directory());
    let unknown = "title unknown to the directory";
    assert_eq!(ends(&ran), [unknown, unknown, unknown, "all sent"]);
    let counts = ran.caller.resolver().unwrap().cache.counts();
    assert_eq!((counts.misses, counts.unknown), (3, 1));
    let unresolved =
        ran.records.iter().filter(|it| matches!(it.event, Event::Unresolved { .. })).count();
    assert_eq!(unresolved, 3);
}

#[test]
fn a_false_entry_is_refused_and_not_asked_for_again() {
    let ran = run(caller(&["false"], resolver()), directory());
    assert_eq!(ends(&ran).len(), 1);
    assert_ne!(ends(&ran), ["all sent"]);
    assert_eq!(ran.caller.resolver().unwrap().cache.counts().misses, 1);
}

#[test]
fn a_cached_station_that_refuses_is_asked_for_again() {
    let mut stale = resolver();
    stale.cache.put(Instant::ZERO, "welder", Some(Mac::local(STRANGER)));
    let ran = run(caller(&["welder"], stale), directory());
    assert_eq!(ends(&ran), ["all sent"]);
    assert!(ran.asked > 0);
}

#[test]
fn a_station_without_a_directory_and_a_silent_one_end_the_flow() {
    let ran = run(caller(&["welder"], resolver()), host(DIRECTORY, Vec::new()));
    assert_eq!(ends(&ran), ["no association with the directory"]);
    // No station has this address, and the query gives up before the transport does.
    let patience = Duration::from_millis(100);
    let params = ResolverParams { directory: Mac::local(9), patience, ..resolver().params };
    let ran = run(caller(&["welder"], Resolver::new(params)), directory());
    assert_eq!(ends(&ran), ["no answer of the directory"]);
}

#[test]
fn a_title_is_asked_for_again_after_a_restart() {
    let restart = Instant::ZERO + Duration::from_millis(1_500);
    let titles = ["welder", "welder", "welder"];
    let ran = run(caller(&titles, resolver().restarting([restart])), directory());
    assert_eq!(ends(&ran), ["all sent"; 3]);
    let counts = ran.caller.resolver().unwrap().cache.counts();
    assert_eq!((counts.misses, counts.hits), (2, 1));
}

#[test]
fn no_association_goes_to_a_station_that_has_not_agreed() {
    let only = |number| ResolverParams { only: Some(Mac::local(number)), ..resolver().params };
    let ran = run(caller(&["welder"], Resolver::new(only(WELDER))), directory());
    assert_eq!(ends(&ran), ["all sent"]);
    let ran = run(caller(&["welder"], Resolver::new(only(STRANGER))), directory());
    assert_eq!(ends(&ran), ["its title is that of a station that has not agreed"]);
}

#[test]
fn a_directory_survives_the_restart_of_its_station() {
    let mut restarted = directory();
    restarted.restart(7);
    let ran = run(caller(&["welder"], resolver()), restarted);
    assert_eq!(ends(&ran), ["all sent"]);
}

#[test]
fn an_answer_that_expired_is_asked_for_again() {
    let quick = ResolverParams {
        cache: CacheParams { known: Duration::from_millis(500), ..CacheParams::DEFAULT },
        ..resolver().params
    };
    let ran = run(caller(&["welder", "welder"], Resolver::new(quick)), directory());
    assert_eq!(ends(&ran), ["all sent"; 2]);
    assert_eq!(ran.caller.resolver().unwrap().cache.counts().misses, 2);
}

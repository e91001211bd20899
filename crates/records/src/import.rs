//! A scenario of what a substation configuration file declares, to be simulated.
//!
//! ```text
//! GSEControl ─ data set, MaxTime, VLAN priority ───────────────┐
//! SampledValueControl ─ data set, smpRate, nofASDU, priority ──┼─ [[flow]]
//! ReportControl ─ data set, integrity period, ClientLN ────────┘
//! ```
//!
//! Stations are devices (IEDs). Sizes are the longest that the types of a data set allow. The file states
//! neither links and switches nor the rates of other MMS traffic, nor how often states change.

use crate::plant::{
    self, Flows, LONGEST_RUN, MOST_FLOWS, MOST_SAMPLES, MOST_VLAN, STAMP_OCTETS, SUBSCRIBERS,
    decimal, is_visible, of_nanos,
};
use crate::quantity::counted;
use bench::scenario::{self, Flow, Pattern, Published, Service, Size};
use core::time::Duration;
use scl::view::{Shape, View};
use scl::{
    AccessPoint, Document, Error, GooseControl, LogicalDevice, LogicalNode, Multicast,
    ReportControl, SampleMode, SampledControl,
};
use wire::addr::Mac;
use wire::printable::Printable;
use wire::{goose, sampled_values};

const NANOS_PER_MS: u64 = 1_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Octets of MAC addresses, VLAN tag and EtherType.
const FRAME_OCTETS: u64 = 18;
/// Longest data behind an EtherType.
const MOST_DATA_OCTETS: u64 = 1_500;
/// Least length of a frame without FCS.
const LEAST_OCTETS: u64 = 60;
/// Longest time between frames where the file has no MaxTime, in milliseconds.
const MAX_MS: u32 = 1_000;
/// Nominal frequency of the power system, for rates of samples in a period.
const HZ: u64 = 50;
/// Octets of a report in front of its values: presentation, MMS, and the name of the list.
const REPORT_OCTETS: u64 = 48;
/// Messages in a run.
const MESSAGES: f64 = 40_000.0;
/// Place of the trigger of integrity reports.
const PERIOD: usize = 4;
/// Names in a comment.
const SHOWN: usize = 4;

/// Scenario of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The scenario.
    pub text: String,
    /// Number of flows.
    pub flows: usize,
}

/// Counts of what a scenario is made of.
#[derive(Default)]
struct Counts {
    goose: u64,
    sampled: u64,
    reports: u64,
    /// Publishers without an address, an APPID or a data set.
    incomplete: u64,
    /// Report control blocks without a period or a client.
    without_rate: u64,
    left_out: u64,
}

/// Import in progress.
#[derive(Default)]
struct Import {
    flows: Flows,
    messages_per_second: f64,
    counts: Counts,
}

/// Makes a scenario of the publishers and reports that an SCL file declares. `source` names the file.
///
/// # Errors
/// The file is no SCL, a type of a data set is not there, or nothing of it has a period.
pub fn import(octets: &[u8], source: &str) -> Result<Imported, Error> {
    let document = Document::read(octets)?;
    let mut import = Import::default();
    for ied in &document.ieds {
        for point in ied.access_points.iter().filter(|point| !point.devices.is_empty()) {
            let view = View::of(point).map_err(|error| of_device(&ied.name, &error))?;
            import.point(&ied.name, point, &view)?;
        }
    }
    for publisher in document.publishers() {
        let is_complete = publisher.is_complete() && publisher.address().is_some_and(has_appid);
        import.counts.incomplete += u64::from(!is_complete);
    }
    let flows = import.counts.all();
    if flows == 0 {
        let reason =
            "nothing in the file has a period: no GOOSE, Sampled Values or integrity reports";
        return Err(Error { place: None, reason: reason.to_owned() });
    }
    let head = import.head(source);
    let text = import.flows.below(head);
    plant::check(&text).map_err(|reason| Error { place: None, reason })?;
    Ok(Imported { text, flows })
}

fn of_device(ied: &str, error: &Error) -> Error {
    Error { place: error.place, reason: format!("device {ied}: {}", error.reason) }
}

impl Counts {
    fn all(&self) -> usize {
        usize::try_from(self.goose + self.sampled + self.reports).unwrap_or(usize::MAX)
    }
}

impl Import {
    fn point(&mut self, ied: &str, point: &AccessPoint, view: &View) -> Result<(), Error> {
        for device in &point.devices {
            for node in &device.nodes {
                let sets = Sets { ied, device, node, view };
                for control in &node.goose {
                    self.goose(&sets, control)?;
                }
                for control in &node.sampled {
                    self.sampled(&sets, control)?;
                }
                for control in &node.reports {
                    self.reports(&sets, control)?;
                }
            }
        }
        Ok(())
    }

    /// True if there is room for one more flow; else it is counted.
    fn has_room(&mut self) -> bool {
        let has_room = self.counts.all() < MOST_FLOWS;
        self.counts.left_out += u64::from(!has_room);
        has_room
    }

    fn goose(&mut self, sets: &Sets<'_>, control: &GooseControl) -> Result<(), Error> {
        let GooseControl { name, data_set: Some(set), address: Some(address), .. } = control else {
            return Ok(());
        };
        if !has_appid(*address) || !self.has_room() {
            return Ok(());
        }
        let max_ms = control.max_ms.unwrap_or(MAX_MS).max(1);
        let period_ns = u64::from(max_ms) * NANOS_PER_MS;
        let values = sets.shapes(set)?;
        let values = values.iter().map(|shape| shape.data_octets()).fold(0, u64::saturating_add);
        let octets = sets.goose_octets(control, set, max_ms, values);
        let max = match control.max_ms {
            Some(max_ms) => format!("every MaxTime of {max_ms} ms"),
            None => format!("MaxTime is not in the file: {MAX_MS} ms assumed"),
        };
        let min =
            control.min_ms.map(|min_ms| format!(", from MinTime of {min_ms} ms after a change"));
        let about = format!(
            "GOOSE {}: {max}{}{}{}",
            sets.reference("GO", name),
            min.unwrap_or_default(),
            vlan(address.vlan),
            to(&control.subscribers)
        );
        let period = of_nanos(period_ns);
        let min_time = control.min_ms.map(|min_ms| of_nanos(u64::from(min_ms) * NANOS_PER_MS));
        let pattern = Pattern::Retransmission {
            min_time: min_time.filter(|it| it.0 > Duration::ZERO).unwrap_or(period).min(period),
            max_time: period,
            mean_interval: None,
        };
        // The validity time is not in the file; twice MaxTime is common.
        let deadline_ns = 2 * period_ns;
        let published = Published {
            control_block: Some(sets.reference("GO", name)).filter(|it| is_visible(it)),
            revision: (control.revision != 1).then_some(control.revision.into()),
            time_allowed_to_live: Some(of_nanos(deadline_ns)),
            ..published(address)
        };
        self.publishes(Publisher {
            about,
            name: format!("{}-{name}", sets.ied),
            from: sets.ied,
            priority: address.priority.unwrap_or(4),
            service: Service::Goose,
            pattern,
            published,
            octets,
            deadline_ns,
        });
        self.counts.goose += 1;
        Ok(())
    }

    fn sampled(&mut self, sets: &Sets<'_>, control: &SampledControl) -> Result<(), Error> {
        let SampledControl { name, data_set: Some(set), address: Some(address), .. } = control
        else {
            return Ok(());
        };
        let (rate, asdus) = (u64::from(control.rate).max(1), u64::from(control.asdus).max(1));
        let (period_ns, unit) = match control.mode {
            SampleMode::PerSecond => (NANOS_PER_SECOND * asdus / rate, "samples/s"),
            SampleMode::PerPeriod => {
                (NANOS_PER_SECOND * asdus / (rate * HZ), "samples in a period of 50 Hz")
            }
            SampleMode::SecondsPerSample => (
                NANOS_PER_SECOND.saturating_mul(rate).saturating_mul(asdus),
                "s from one sample to the next",
            ),
        };
        if !has_appid(*address) || !self.has_room() {
            return Ok(());
        }
        let period_ns = period_ns.max(1_000);
        let values = sets.shapes(set)?;
        let values = values.iter().map(|shape| shape.sample_octets()).fold(0, u64::saturating_add);
        let about = format!(
            "SV {}: {rate} {unit}, {} in a frame{}{}",
            sets.reference("MS", name),
            asdus,
            vlan(address.vlan),
            to(&control.subscribers)
        );
        let published = Published {
            sv_id: Some(control.id.clone()).filter(|it| is_visible(it)),
            revision: (control.revision != 1).then_some(control.revision.into()),
            samples: (2..=MOST_SAMPLES).contains(&asdus).then_some(asdus),
            ..published(address)
        };
        self.publishes(Publisher {
            about,
            name: format!("{}-{name}", sets.ied),
            from: sets.ied,
            priority: address.priority.unwrap_or(4),
            service: Service::SampledValues,
            pattern: Pattern::Cyclic { period: of_nanos(period_ns) },
            published,
            octets: sampled_octets(control, values),
            deadline_ns: period_ns.saturating_mul(3),
        });
        self.counts.sampled += 1;
        Ok(())
    }

    fn publishes(&mut self, publisher: Publisher<'_>) {
        let Publisher { about, from, service, pattern, published, octets, .. } = publisher;
        let name = self.flows.name(&publisher.name);
        let ends = [station(from), SUBSCRIBERS.to_owned()];
        let data_octets = octets.saturating_sub(FRAME_OCTETS).min(MOST_DATA_OCTETS);
        let mut flow = Flow {
            priority: Some(publisher.priority.into()),
            deadline: Some(of_nanos(publisher.deadline_ns)),
            stream: published,
            ..Flow::new(name, ends, service, pattern, Size(data_octets))
        };
        flow.size = flow.size.max(flow.least_size());
        let interval = flow.pattern.mean_interval().unwrap_or_default();
        self.messages_per_second += 1.0 / interval.as_secs_f64().max(1e-9);
        self.flows.stream_flow(&about, &flow, octets.max(LEAST_OCTETS));
    }

    /// Flows of integrity reports, one to each client.
    fn reports(&mut self, sets: &Sets<'_>, control: &ReportControl) -> Result<(), Error> {
        let is_periodic = control.triggers[PERIOD] && control.integrity_ms > 0;
        let Some(set) = control.data_set.as_ref().filter(|_| is_periodic) else {
            self.counts.without_rate += 1;
            return Ok(());
        };
        if control.clients.is_empty() {
            self.counts.without_rate += 1;
            return Ok(());
        }
        let octets = sets.report_octets(control, set)?;
        let period_ns = u64::from(control.integrity_ms) * NANOS_PER_MS;
        for client in control.clients.iter().filter(|client| *client != sets.ied) {
            if !self.has_room() {
                continue;
            }
            self.flows.carries(Duration::from_nanos(period_ns), octets);
            self.messages_per_second += NANOS_PER_SECOND as f64 / period_ns as f64;
            let letters = if control.is_buffered { "BR" } else { "RP" };
            let about = format!(
                "MMS integrity reports of {}, over class 4 here",
                sets.reference(letters, &control.name)
            );
            let name = self.flows.name(&format!("{}-{}", sets.ied, control.name));
            let client = station(client);
            self.flows.flow(&about, &name, [&station(sets.ied), &client]);
            self.flows.text += &format!(
                "service = \"class-4\"\npattern = {{ kind = \"cyclic\", period = \"{}\" }}\n\
                 size = \"{octets} B\"\n",
                decimal(of_nanos(period_ns))
            );
            self.counts.reports += 1;
        }
        Ok(())
    }

    /// Length of a run with 40,000 messages, so that `predict` takes seconds.
    fn longest(&self) -> Duration {
        let seconds = (MESSAGES / self.messages_per_second.max(1.0)) as u64;
        Duration::from_secs(seconds).clamp(Duration::from_secs(1), LONGEST_RUN)
    }

    fn head(&self, source: &str) -> String {
        let Counts { goose, sampled, reports, incomplete, without_rate, left_out } = self.counts;
        let parts = [
            (goose, format!("{goose} GOOSE")),
            (sampled, format!("{sampled} SV")),
            (reports, counted(reports, "report")),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(_, words)| words).collect();
        let parts = parts.join(", ");
        let mut text = format!(
            "# {parts}, as declared in {}. Sizes are the longest that the data sets allow.\n\
             # Not in the file, and assumed: the links and switches of `medium`, and that no state changes.\n\
             # A deadline is the time after which subscribers take the publisher for lost: twice MaxTime, or three periods.\n\
             # The station \"{SUBSCRIBERS}\" gets all frames to groups, as each port of a switch that does not filter them.\n",
            Printable(source)
        );
        let blocks = |count| counted(count, "control block");
        if without_rate > 0 {
            text += &format!(
                "# Left out: {} of reports without an integrity period or a client. The rates of polls, changes and\n\
                 # commands of MMS are not in SCL: add flows for them.\n",
                blocks(without_rate)
            );
        }
        if incomplete > 0 {
            text += &format!(
                "# Left out: {} without an address, an APPID or a data set.\n",
                blocks(incomplete)
            );
        }
        if left_out > 0 {
            text += &format!("# Left out: {left_out} flows beyond {MOST_FLOWS}.\n");
        }
        let most = self.longest().max(self.flows.two_periods()).min(LONGEST_RUN);
        let after = self.flows.twenty_periods(most);
        text + &self.flows.settings(&format!("{parts}, as declared"), after)
    }
}

/// Publisher of frames to a group.
struct Publisher<'a> {
    about: String,
    name: String,
    from: &'a str,
    priority: u8,
    service: Service,
    pattern: Pattern,
    published: Published,
    /// Octets of a frame, without FCS.
    octets: u64,
    deadline_ns: u64,
}

/// True for an address with an APPID, without which there is no publisher.
const fn has_appid(address: Multicast) -> bool {
    address.appid.is_some()
}

/// Identity of a publisher that its address states.
fn published(address: &Multicast) -> Published {
    Published {
        appid: address.appid.map(u64::from),
        vlan: address.vlan.filter(|vlan| (1..=MOST_VLAN).contains(vlan)).map(u64::from),
        destination: Some(scenario::Address(Mac(address.mac))).filter(|it| it.0.is_group()),
        ..Published::default()
    }
}

/// Data sets of a node.
struct Sets<'a> {
    ied: &'a str,
    device: &'a LogicalDevice,
    node: &'a LogicalNode,
    view: &'a View,
}

impl Sets<'_> {
    fn reference(&self, letters: &str, name: &str) -> String {
        format!("{}/{}${letters}${name}", self.device.domain, self.node.name)
    }

    /// Contents of the members of a data set.
    fn shapes(&self, set: &str) -> Result<Vec<&Shape>, Error> {
        let list = format!("{}${set}", self.node.name);
        let shapes = self.view.members(&self.device.domain, &list);
        shapes.ok_or_else(|| Error {
            place: None,
            reason: format!(
                "device {}: the data set {:?} is not there, or a member of it is not",
                self.ied, set
            ),
        })
    }

    /// Octets of a frame of GOOSE, with the longest numbers.
    fn goose_octets(&self, control: &GooseControl, set: &str, max_ms: u32, values: u64) -> u64 {
        let values = vec![0; usize::try_from(values.min(65_535)).unwrap_or(65_535)];
        let pdu = goose::Pdu {
            appid: 0,
            reserved: [0; 2],
            control_block: self.reference("GO", &control.name).as_bytes(),
            time_allowed_to_live_ms: max_ms.saturating_mul(2),
            data_set: format!("{}/{}${set}", self.device.domain, self.node.name).as_bytes(),
            identifier: Some(control.id.as_bytes()).filter(|id| !id.is_empty()),
            time: goose::UtcTime::default(),
            state_number: u32::MAX,
            sequence_number: u32::MAX,
            is_simulated: false,
            configuration_revision: control.revision,
            needs_commissioning: false,
            entries: u32::try_from(self.entries(set)).unwrap_or(u32::MAX),
            data: &values,
        }
        .encode();
        FRAME_OCTETS + pdu.len() as u64
    }

    fn entries(&self, set: &str) -> usize {
        let set = self.node.data_sets.iter().find(|it| it.name == set);
        set.map_or(0, |set| set.members.len())
    }

    /// Octets of a report with all members of its data set (IEC 61850-8-1, 17.2).
    fn report_octets(&self, control: &ReportControl, set: &str) -> Result<u64, Error> {
        let shapes = self.shapes(set)?;
        let members = shapes.len() as u64;
        let values = shapes.iter().map(|shape| shape.data_octets()).fold(0, u64::saturating_add);
        let reference =
            |name: &str| self.device.domain.len() + self.node.name.len() + name.len() + 4;
        let id =
            control.report_id.as_ref().map_or_else(|| reference(&control.name) + 3, String::len);
        let [_, sequence, time, reason, data_set, of_members, overflow, entry, revision, _] =
            control.fields;
        let optional = [
            (sequence, 4),
            (time, 8),
            (data_set, reference(set) as u64),
            (overflow, 3),
            (entry, 10),
            (revision, 6),
            // A reference of 129 octets at most, and a reason of one octet, for each member.
            (of_members, 32 * members),
            (reason, 4 * members),
        ];
        let optional: u64 = optional.into_iter().filter(|(is_set, _)| *is_set).map(|it| it.1).sum();
        let inclusion = 3 + members.div_ceil(8);
        let octets = REPORT_OCTETS + id as u64 + 5 + (optional + inclusion).saturating_add(values);
        Ok(octets.max(STAMP_OCTETS))
    }
}

/// Octets of a frame of Sampled Values.
fn sampled_octets(control: &SampledControl, values: u64) -> u64 {
    let sample = vec![0; usize::try_from(values.min(65_535)).unwrap_or(65_535)];
    let asdu = sampled_values::Asdu {
        identifier: control.id.as_bytes(),
        data_set: None,
        sample_count: 0,
        configuration_revision: control.revision,
        synchronisation: 0,
        rate: None,
        sample: &sample,
    };
    let asdus = control.asdus.clamp(1, 64) as usize;
    let pdu = sampled_values::Pdu::encode(0, [0; 2], &vec![asdu; asdus]);
    FRAME_OCTETS + pdu.len() as u64
}

/// Name of a station: a device's, with other characters than letters and digits replaced.
fn station(device: &str) -> String {
    let plain = |symbol: char| if symbol.is_ascii_alphanumeric() { symbol } else { '_' };
    let name: String = device.chars().take(64).map(plain).collect();
    if name == SUBSCRIBERS { format!("{name}_") } else { name }
}

fn vlan(vlan: Option<u16>) -> String {
    vlan.map_or_else(String::new, |vlan| format!("; VLAN {vlan}"))
}

/// Subscribers that the file names.
fn to(subscribers: &[String]) -> String {
    let shown: Vec<String> =
        subscribers.iter().take(SHOWN).map(|it| Printable(it).to_string()).collect();
    let more = subscribers.len().saturating_sub(SHOWN);
    match (shown.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("; to {}", shown.join(", ")),
        (false, more) => format!("; to {} and {more} more", shown.join(", ")),
    }
}

//! Flows of MMS: the call that each message makes, and the lengths of its PDUs.
//!
//! A request and its response have the lengths that the encoders of the protocol give them: the call is
//! made at a server of the model, here and in a run.

use super::fields::{Fields, Placed, Read};
use super::problem::Problem;
use super::quantity::Size;
use super::servers::{
    Missing, ServerName, built_in, missing_domain, missing_list, missing_variable,
};
use super::{Carriage, Flow, Pattern, Scenario, Service};
use crate::mms::{Item, VARIABLES, name_list, read, read_list};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::host::MmsParams;
use stack::load::FlowId;
use stack::mms::client::Call;
use stack::mms::server::Model;
use stack::mms::trial::{self, Lengths};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::mms::Request;

/// Time-out of a call without a `timeout`.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most variables of one read.
const MOST_VARIABLES: usize = 256;
/// Most outstanding calls.
const MOST_OUTSTANDING: u64 = 64;

/// The call that each message of a flow of MMS makes: a read, a list of names, or identify.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MmsCall {
    /// For MMS: the variables that one call reads, as in `DEVICE/MMXU1$MX$TotW$mag$f`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub read: Vec<Item>,
    /// For MMS: the data set (named variable list) that a call reads, as in `DEVICE/LLN0$loads`.
    /// Without any of these keys, a call is identify.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data_set: Option<Item>,
    /// For MMS: the logical device (domain) whose variables a call lists, as in `DEVICE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// For MMS: the most calls without their answers; 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u64>,
    /// For MMS: the transport below, `class-4` or `tcp`; `class-4` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Carriage>,
}

/// The keys that only flows of MMS have.
const KEYS: [&str; 5] = ["read", "data-set", "directory", "outstanding", "transport"];
/// Those of them that say which call it is.
const CALLS: [&str; 3] = ["read", "data-set", "directory"];

impl Read for Item {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let written = String::read(value, problems)?;
        match written.parse() {
            Ok(item) => Some(item),
            Err(message) => {
                problems.push(Problem::error(value.span(), message));
                None
            }
        }
    }
}

impl MmsCall {
    /// Reads the keys of a flow, and refuses those of other services.
    pub(super) fn read(
        fields: &mut Fields<'_, '_>,
        service: Option<Service>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let read: Option<Vec<Item>> = fields.optional("read", problems);
        let data_set = fields.optional("data-set", problems);
        let directory = fields.optional("directory", problems);
        let outstanding = fields.optional("outstanding", problems);
        let transport = fields.optional("transport", problems);
        let is_mms = service == Some(Service::Mms);
        if service.is_some() && !is_mms {
            for key in KEYS.into_iter().filter(|key| fields.has(key)) {
                let message = format!("only flows of service \"mms\" have `{key}`");
                problems.push(Problem::error(fields.span_of(key), message));
            }
        }
        if is_mms && fields.has("size") {
            let problem = Problem::error(fields.span_of("size"), "a flow of MMS has no `size`");
            problems.push(problem.help("its encoder gives each request its length"));
        }
        if read.as_ref().is_some_and(Vec::is_empty) {
            let problem = Problem::error(fields.span_of("read"), "a read without variables");
            problems.push(problem.help("leave out `read` for identify"));
        }
        let mut given = CALLS.into_iter().filter(|key| fields.has(key));
        if let (Some(_), Some(second)) = (given.next(), given.next()) {
            let message = "a call reads variables or a data set, or lists a logical device";
            problems.push(Problem::error(fields.span_of(second), message));
        }
        Self { read: read.unwrap_or_default(), data_set, directory, outstanding, transport }
    }

    /// The call in the form that stations make.
    #[must_use]
    pub fn call(&self, patience: Duration) -> Call {
        match (&self.data_set, &self.directory, &self.read[..]) {
            (Some(list), _, _) => read_list(list, patience),
            (None, Some(domain), _) => name_list(VARIABLES, Some(domain), patience),
            (None, None, []) => Call::new(0, Request::Identify, patience),
            (None, None, items) => read(items, patience),
        }
    }

    /// The first object of the call that a server does not have.
    fn missing(&self, model: &Model) -> Option<Missing> {
        let domain = self.directory.as_ref().and_then(|it| missing_domain(model, it));
        let list = || self.data_set.as_ref().and_then(|it| missing_list(model, it));
        let variable = || self.read.iter().find_map(|item| missing_variable(model, item));
        domain.or_else(list).or_else(variable)
    }

    /// The key that says which call it is.
    const fn key(&self) -> &'static str {
        match (&self.data_set, &self.directory) {
            (Some(_), _) => "data-set",
            (None, Some(_)) => "directory",
            (None, None) => "read",
        }
    }
}

impl Flow {
    /// The call that each of its messages makes; `None` for another service.
    #[must_use]
    pub fn call(&self) -> Option<Call> {
        let patience = self.timeout.map_or(PATIENCE, |span| span.0);
        (self.service == Service::Mms).then(|| self.mms.call(patience))
    }

    /// The most calls without their answers.
    #[must_use]
    pub fn outstanding(&self) -> u16 {
        let number = self.mms.outstanding.unwrap_or(1);
        u16::try_from(number).unwrap_or(u16::MAX)
    }
}

/// Refuses a pattern that the service of its flow does not have: requests need a reply, except those
/// of MMS, whose server makes it.
pub(super) fn check_pattern(
    fields: &Fields<'_, '_>,
    service: Option<Service>,
    pattern: Option<Pattern>,
    problems: &mut Vec<Problem>,
) {
    let (Some(service), Some(pattern)) = (service, pattern) else { return };
    let place = fields.span_of("pattern");
    match (service, pattern.reply()) {
        (Service::Mms, None) => {
            let message = "each message of MMS is a request";
            let help = "constant-rate-request with a period, or maximum-rate-request";
            problems.push(Problem::error(place, message).help(help));
        }
        (Service::Mms, Some(reply)) if reply != Size(0) => {
            let problem = Problem::error(place, "a flow of MMS has no `reply`");
            problems.push(problem.help("its server gives each response its length"));
        }
        (Service::Mms, Some(_)) => {}
        (_, Some(Size(0))) => {
            let message = "missing key `reply`: the octets of each answer";
            problems.push(Problem::error(place, message));
        }
        _ => {}
    }
}

/// Server and calls of each station that takes part in flows of MMS, by the station's name.
pub(crate) fn users_of_mms(scenario: &Scenario) -> BTreeMap<&str, MmsParams> {
    let mut users = BTreeMap::<&str, MmsParams>::new();
    let names = scenario.server_names();
    let mut own = None;
    for (number, flow) in scenario.flows.iter().enumerate() {
        let Some(call) = flow.call() else { continue };
        let id = FlowId(u16::try_from(number).unwrap_or(u16::MAX));
        users.entry(&flow.from).or_default().calls.insert(id, call);
        let server = users.entry(&flow.to).or_default();
        if server.model.is_some() {
            continue;
        }
        let of_file = names.get(&flow.to).and_then(|name| scenario.servers.get(name));
        let model = of_file.unwrap_or_else(|| own.get_or_insert_with(built_in));
        server.model = Some(Model::clone(model));
    }
    users
}

/// The scenario without the lengths that [`resolve`] sets: the form of the file.
pub(super) fn without_lengths(scenario: &Scenario) -> Cow<'_, Scenario> {
    if !scenario.flows.iter().any(|flow| flow.service == Service::Mms) {
        return Cow::Borrowed(scenario);
    }
    let mut written = scenario.clone();
    for flow in written.flows.iter_mut().filter(|flow| flow.service == Service::Mms) {
        flow.size = Size(0);
        flow.pattern = flow.pattern.with_reply(Size(0));
    }
    Cow::Owned(written)
}

/// Call that was made at a server before.
struct Tried {
    server: Option<ServerName>,
    call: MmsCall,
    answer: Result<Lengths, Problem<String>>,
}

/// Sets the lengths of requests and responses, and reports calls that the server answers with an error.
pub(super) fn resolve(scenario: &mut Scenario, problems: &mut Vec<Problem<String>>) {
    if !scenario.flows.iter().any(|flow| flow.service == Service::Mms) {
        return;
    }
    let (names, servers) = (scenario.server_names(), Arc::clone(&scenario.servers));
    let own = built_in();
    let mut tried: Vec<Tried> = Vec::new();
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let Some(call) = flow.call() else { continue };
        let path = |key: &str| format!("flow.{index}.{key}");
        if flow.mms.read.len() > MOST_VARIABLES {
            let message = format!("one call reads at most {MOST_VARIABLES} variables");
            problems.push(Problem::error(path("read"), message));
            continue;
        }
        if !(1..=MOST_OUTSTANDING).contains(&u64::from(flow.outstanding())) {
            let message = format!("from 1 to {MOST_OUTSTANDING} calls may be outstanding");
            problems.push(Problem::error(path("outstanding"), message));
        }
        let server = names.get(&flow.to);
        let model = match server {
            Some(name) => match servers.get(name) {
                Some(model) => model,
                // Its file is reported.
                None => continue,
            },
            None => &own,
        };
        let is_same = |it: &&Tried| it.server.as_ref() == server && it.call == flow.mms;
        let answer = match tried.iter().find(is_same) {
            Some(before) => before.answer.clone(),
            None => {
                let answer = lengths(flow, model, &call, server);
                let (server, call) = (server.cloned(), flow.mms.clone());
                tried.push(Tried { server, call, answer: answer.clone() });
                answer
            }
        };
        match answer {
            Ok(lengths) => {
                flow.size = Size(lengths.request as u64);
                flow.pattern = flow.pattern.with_reply(Size(lengths.response as u64));
            }
            Err(problem) => problems.push(problem.moved(path(flow.mms.key()))),
        }
    }
}

/// Lengths of the PDUs of a call, or the reason why the server has no answer.
fn lengths(
    flow: &Flow,
    model: &Model,
    call: &Call,
    server: Option<&ServerName>,
) -> Result<Lengths, Problem<String>> {
    let of = server.map_or_else(|| "the built-in model".to_owned(), ServerName::to_string);
    if let Some(missing) = flow.mms.missing(model) {
        let message = format!("{of} has no {}", missing.object);
        return Err(Problem::error(String::new(), message).help(missing.help));
    }
    trial::answer(model, call).map_err(|reason| {
        let message = format!("the server of \"{}\" answers: {reason}", flow.to);
        Problem::error(String::new(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{load, to_toml};

    fn text(flow: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"switched\", rate = \"100 Mbit/s\", length = \"10 m\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"poll\"\n\
             from = \"s-1\"\nto = \"s-2\"\n{flow}\n"
        )
    }

    const RATE: &str = "pattern = { kind = \"maximum-rate-request\" }";

    #[track_caller]
    fn check_error(flow: &str, expected: &str) {
        let error = load(&text(flow), "a.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn requests_and_answers_have_the_lengths_of_their_pdus() {
        let load = |flow: &str| {
            let study = load(&text(flow), "a.toml").unwrap_or_else(|error| panic!("{error}"));
            study.scenario().clone()
        };
        let lengths = |keys: &str| {
            let flow = load(&format!("service = \"mms\"\n{RATE}\n{keys}")).flows[0].clone();
            (flow.size.0, flow.pattern.reply().unwrap().0)
        };
        // Confirmed request: tag, length, invoke identifier, and identify without contents.
        assert_eq!(lengths("").0, 7);
        let one = lengths("read = [\"FEEDLD0/MMXU1$MX$TotW$mag$f\"]");
        let two =
            lengths("read = [\"FEEDLD0/MMXU1$MX$TotW$mag$f\", \"FEEDLD0/MMXU1$MX$TotW$mag$f\"]");
        // A floating-point value has seven octets.
        assert_eq!(two.1 - one.1, 7);
        let whole = load(&format!(
            "service = \"mms\"\n{RATE}\ndata-set = \"FEEDLD0/LLN0$loads\"\noutstanding = 5"
        ));
        let again = super::super::load(&to_toml(&whole), "b.toml");
        let again = again.unwrap_or_else(|error| panic!("{error}\n{}", to_toml(&whole)));
        assert_eq!(again.scenario().flows, whole.flows);
        assert_eq!(whole.flows[0].outstanding(), 5);
    }

    #[test]
    fn a_call_that_the_server_refuses_is_an_error_at_its_key() {
        let mms = "service = \"mms\"";
        check_error(&format!("{mms}\n{RATE}\nread = [\"FEEDLD0/NONE$ST$x\"]"), "a.toml:12:");
        check_error(&format!("{mms}\n{RATE}\nread = [\"none\"]"), "has no '/'");
        check_error(&format!("{mms}\n{RATE}\nread = []"), "a read without variables");
        check_error(&format!("{mms}\n{RATE}\nsize = \"64 B\""), "has no `size`");
        check_error(&format!("{mms}\n{RATE}\noutstanding = 0"), "from 1 to 64");
        check_error(&format!("{mms}\npattern = {{ kind = \"bulk\" }}"), "is a request");
        let reply = "pattern = { kind = \"maximum-rate-request\", reply = \"20 B\" }";
        check_error(&format!("{mms}\n{reply}"), "has no `reply`");
        let class_4 = format!("service = \"class-4\"\nsize = \"64 B\"\n{RATE}");
        check_error(&class_4, "missing key `reply`");
        let both = "outstanding = 2\nservice = \"class-4\"\nsize = \"64 B\"\npattern = \
                    { kind = \"bulk\" }";
        check_error(both, "only flows of service \"mms\" have `outstanding`");
    }
}

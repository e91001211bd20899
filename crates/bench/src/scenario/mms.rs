//! Flows of MMS: the call that each message makes, and the lengths of its PDUs.
//!
//! A request and its response have the lengths that the encoders of the protocol give them: the call is
//! made at a server of the model, here and in a run.

use super::fields::{Fields, Placed, Read};
use super::problem::Problem;
use super::quantity::Size;
use super::{Flow, Pattern, Scenario, Service};
use crate::session::mms::{BUILT_IN, Item, model, read, read_list};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use stack::host::MmsParams;
use stack::load::FlowId;
use stack::mms::client::Call;
use stack::mms::server::Model;
use stack::mms::trial;
use std::borrow::Cow;
use std::collections::BTreeMap;
use wire::mms::Request;

/// Time-out of a call without a `timeout`.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most variables of one read.
const MOST_VARIABLES: usize = 256;
/// Most outstanding calls.
const MOST_OUTSTANDING: u64 = 64;

/// The call that each message of a flow of MMS makes: a read, or identify.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MmsCall {
    /// For MMS: the variables that one call reads, as in `DEVICE/MMXU1$MX$TotW$mag$f`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub read: Vec<Item>,
    /// For MMS: the data set (named variable list) that a call reads, as in `DEVICE/LLN0$loads`.
    /// Without variables and data set, a call is identify.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub data_set: Option<Item>,
    /// For MMS: the most calls without their answers; 1 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u64>,
}

/// The keys that only flows of MMS have.
const KEYS: [&str; 3] = ["read", "data-set", "outstanding"];

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
        let outstanding = fields.optional("outstanding", problems);
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
        if fields.has("read") && fields.has("data-set") {
            let message = "a call reads variables or a data set";
            problems.push(Problem::error(fields.span_of("data-set"), message));
        }
        Self { read: read.unwrap_or_default(), data_set, outstanding }
    }

    /// The call in the form that stations make.
    #[must_use]
    pub fn call(&self, patience: Duration) -> Call {
        match (&self.data_set, &self.read[..]) {
            (Some(list), _) => read_list(list, patience),
            (None, []) => Call::new(0, Request::Identify, patience),
            (None, items) => read(items, patience),
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

/// The objects of the server that a station is for the flows of MMS to it.
fn server_model() -> Model {
    model(BUILT_IN.as_bytes(), None).expect("a test reads the built-in model")
}

/// Server and calls of each station that takes part in flows of MMS, by the station's name.
pub(crate) fn users_of_mms(scenario: &Scenario) -> BTreeMap<&str, MmsParams> {
    let mut users = BTreeMap::<&str, MmsParams>::new();
    let mut model = None;
    for (number, flow) in scenario.flows.iter().enumerate() {
        let Some(call) = flow.call() else { continue };
        let id = FlowId(u16::try_from(number).unwrap_or(u16::MAX));
        users.entry(&flow.from).or_default().calls.insert(id, call);
        let model = model.get_or_insert_with(server_model);
        users.entry(&flow.to).or_default().model.get_or_insert_with(|| model.clone());
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

/// Sets the lengths of requests and responses, and reports calls that the server answers with an error.
pub(super) fn resolve(scenario: &mut Scenario, problems: &mut Vec<Problem<String>>) {
    if !scenario.flows.iter().any(|flow| flow.service == Service::Mms) {
        return;
    }
    let model = server_model();
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        let Some(call) = flow.call() else { continue };
        let key = if flow.mms.data_set.is_some() { "data-set" } else { "read" };
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
        match trial::answer(&model, &call) {
            Ok(lengths) => {
                flow.size = Size(lengths.request as u64);
                flow.pattern = flow.pattern.with_reply(Size(lengths.response as u64));
            }
            Err(reason) => {
                let message = format!("the server of \"{}\" answers: {reason}", flow.to);
                problems.push(Problem::error(path(key), message));
            }
        }
    }
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

use super::*;
use meter::registry::Measure;

fn values(pairs: &[(&'static str, u64)]) -> Values {
    pairs.iter().map(|(name, value)| (Measure::from_name(name).unwrap(), *value)).collect()
}

#[track_caller]
fn check(requirement: &str, pairs: &[(&'static str, u64)], expected: Option<Verdict>) {
    let wanted: Wanted = requirement.parse().unwrap();
    let finding = judge(&wanted, &values(pairs), &[]);
    assert_eq!(finding.map(|finding| finding.verdict), expected);
}

#[test]
fn a_share_is_judged_by_its_interval() {
    let again = |events, trials| [("dt_retransmissions", events), ("dt_tpdus", trials)];
    // None of n gives an upper limit of 1 - 0.025^(1/n): 3.6 % for 100, 0.37 % for 1,000.
    check("R_RD < 1 %", &again(0, 100), Some(Verdict::Undecided));
    check("R_RD < 1 %", &again(0, 1_000), Some(Verdict::Pass));
    // All of n give a lower limit of 0.025^(1/n): 0.69 for 10.
    check("R_RD < 1 %", &again(10, 10), Some(Verdict::Fail));
    check("R_RD >= 60 %", &again(10, 10), Some(Verdict::Pass));
    // With no trials the whole is undecided, and a host is not judged.
    check("R_RD < 1 %", &again(0, 0), Some(Verdict::Undecided));
    check("R_RD(host) < 1 %", &again(0, 0), None);
}

#[test]
fn a_count_is_a_fact_and_a_quantile_is_a_class() {
    let refused = |count| [("connection_refusals", count)];
    check("connection_refusals == 0", &refused(0), Some(Verdict::Pass));
    check("connection_refusals == 0", &refused(1), Some(Verdict::Fail));
    check("connection_refusals <= 1", &refused(1), Some(Verdict::Pass));
    // The 99th percentile lies between 15.875 and 16 ms, 1/128 below its upper edge.
    let delay = [("ack_delay_p99_ns", 16_000_000), ("ack_delay_max_ns", 16_000_000)];
    check("ack_delay.p99 < 17 ms", &delay, Some(Verdict::Pass));
    check("ack_delay.p99 < 15900 us", &delay, Some(Verdict::Undecided));
    check("ack_delay.p99 < 14 ms", &delay, Some(Verdict::Fail));
    check("ack_delay.max < 15500 us", &delay, Some(Verdict::Fail));
}

#[test]
fn a_delay_that_did_not_occur_meets_no_limit() {
    let none = |name: &'static str, statistic: &'static str| [(name, 0), (statistic, 0)];
    let replies = none("responses", "response_p99_ns");
    check("response.p99 < 20 ms", &replies, Some(Verdict::Undecided));
    check("response.p99(10.0.0.1) < 20 ms", &replies, Some(Verdict::Undecided));
    check("response.p99(host) < 20 ms", &replies, None);
    check("response.max(*) < 20 ms", &none("responses", "response_max_ns"), None);
    let one = [("responses", 1), ("response_p99_ns", 8_000_000)];
    check("response.p99(host) < 20 ms", &one, Some(Verdict::Pass));
    // A window that was never closed is what is wanted.
    let closed = none("closed_windows", "closed_window_max_ns");
    check("closed_window.max(*) < 1 s", &closed, Some(Verdict::Pass));
}

#[test]
fn with_missing_frames_only_final_verdicts_are_reported() {
    let verdict = |requirement: &str, tpdus: u64| {
        let wanted: Wanted = requirement.parse().unwrap();
        let mut judged = Requirements::new(&[wanted]);
        judged.each(|_| true, None, || values(&[("dt_tpdus", tpdus)]), &[]);
        judged.judged.iter_mut().for_each(lessen);
        judged.verdict().unwrap()
    };
    assert_eq!(verdict("dt_tpdus < 5", 6), Verdict::Fail);
    assert_eq!(verdict("dt_tpdus < 5", 4), Verdict::Undecided);
    assert_eq!(verdict("dt_tpdus >= 5", 6), Verdict::Pass);
    assert_eq!(verdict("dt_tpdus >= 5", 4), Verdict::Undecided);
    assert_eq!(verdict("dt_tpdus == 5", 5), Verdict::Undecided);
    assert_eq!(verdict("dt_tpdus == 5", 6), Verdict::Fail);
    assert_eq!(verdict("dt_tpdus == 5", 4), Verdict::Undecided);
}

#[test]
fn the_worst_verdict_wins_and_no_observation_is_undecided() {
    let wanted = ["dt_tpdus(host) < 5", "dt_tpdus(10.0.0.1) < 5"];
    let wanted: Vec<Wanted> = wanted.iter().map(|text| text.parse().unwrap()).collect();
    let mut judged = Requirements::new(&wanted);
    for tpdus in 0..30 {
        let values = || values(&[("dt_tpdus", tpdus)]);
        judged.each(|scope| *scope == Scope::Host, Some("a"), values, &[]);
    }
    let [hosts, named] = &judged.judged[..] else { panic!("expected two requirements") };
    // 0 to 4 pass, 5 to 29 fail; at most `KEPT` failures are stored.
    assert_eq!((hosts.counts, hosts.findings.len()), ([5, 25, 0], KEPT));
    assert_eq!((hosts.verdict(), named.verdict()), (Verdict::Fail, Verdict::Undecided));
    assert_eq!(judged.verdict(), Some(Verdict::Fail));
    assert_eq!(Requirements::default().verdict(), None);
}

#[test]
fn a_service_is_required_by_its_name_in_the_standard() {
    let wanted = |text: &str| text.parse::<Wanted>();
    let of = wanted("response.p99(mms.read) < 20 ms").unwrap();
    assert_eq!(of.scope, Scope::Service(meter::service::Service::of(4)));
    assert!(wanted("mms_errors(mms.fileRead) == 0").is_ok());
    assert!(wanted("dt_tpdus(mms.read) < 3").is_err());
    let error = wanted("mms_errors(mms.reed) < 3").unwrap_err().to_string();
    assert_eq!(error, "MMS has no service `reed`; did you mean `read`?");
}

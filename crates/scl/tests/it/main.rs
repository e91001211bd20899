//! A small device read whole, and files that must be refused.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

mod entry;

use scl::view::{Shape, View};
use scl::{Basic, Constraint, Control, Document, Multicast, SampleMode};
use std::fs;
use std::path::Path;

const FEEDER: &str = include_str!("../../../bench/models/feeder.cid");

fn feeder() -> Document {
    Document::read(FEEDER.as_bytes()).unwrap()
}

fn view() -> View {
    View::of(feeder().ied(None).unwrap().server().unwrap()).unwrap()
}

#[test]
fn the_addresses_of_an_access_point_are_read() {
    let document = feeder();
    let ied = document.ied(Some("FEED")).unwrap();
    let address = ied.access_points[0].address.clone().unwrap();
    assert_eq!((ied.model.as_str(), ied.revision.as_str()), ("feeder", "3"));
    assert_eq!(address.ip, Some("127.0.0.1".parse().unwrap()));
    assert_eq!(address.ap_title, Some(vec![1, 1, 9999, 1]));
    assert_eq!(address.ae_qualifier, Some(12));
    assert_eq!(address.psel, Some(vec![0, 0, 0, 1]));
    assert_eq!((address.ssel, address.tsel), (Some(vec![0, 1]), Some(vec![0, 1])));
}

#[test]
fn control_blocks_are_read_with_their_addresses() {
    let document = feeder();
    let node = &document.ieds[0].access_points[0].devices[0].nodes[0];
    let mac = [1, 0x0C, 0xCD, 1, 0, 7];
    let address = Multicast { mac, appid: Some(0x3007), vlan: Some(10), priority: Some(4) };
    assert_eq!(node.goose[0].address, Some(address));
    assert_eq!((node.goose[0].id.as_str(), node.goose[0].revision), ("feeder-trip", 5));
    assert_eq!((node.sampled[0].rate, node.sampled[0].asdus), (80, 2));
    assert_eq!(node.sampled[0].address, None);
    assert_eq!(node.reports[0].instances, 2);
    assert_eq!(node.reports[0].triggers, [false, true, false, false, true, true]);
    assert_eq!(node.data_sets[0].members[0].constraint, Constraint::Mx);
}

#[test]
fn a_logical_device_is_a_domain_and_a_node_a_variable() {
    let view = view();
    let domain = &view.domains[0];
    assert_eq!(domain.name, "FEEDLD0");
    let names: Vec<&str> = domain.variables.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["LLN0", "MMXU1", "upGGIO2"]);
    let leaf = |node: usize, path: &str| domain.variables[node].shape.part(path).cloned();
    let value =
        |basic, value: Option<&str>| Some(Shape::Leaf { basic, value: value.map(str::to_owned) });
    // The value of the instance, that of the template, a number of an enumeration, none.
    assert_eq!(leaf(1, "MX$TotW$mag$f"), value(Basic::Float { bits: 32 }, Some("12.5")));
    let text = Basic::Visible { octets: 255 };
    assert_eq!(leaf(1, "DC$TotW$d"), value(text, Some("total power")));
    assert_eq!(leaf(0, "ST$Mod$stVal"), value(Basic::Integer { bits: 8 }, Some("5")));
    assert_eq!(leaf(2, "ST$Ind$q"), value(Basic::BitsUpTo { bits: 13 }, None));
    assert_eq!(leaf(1, "MX$PhV$phsA$cVal$mag$f"), value(Basic::Float { bits: 32 }, None));
    assert!(matches!(leaf(2, "ST$Ind$bins"), Some(Shape::Array { count: 3, .. })));
    assert_eq!(leaf(2, "MX$Ind"), None);
}

#[test]
fn a_data_set_is_a_list_of_variables() {
    let view = view();
    let list = &view.domains[0].lists[0];
    assert_eq!(list.name, "LLN0$loads");
    let items: Vec<&str> = list.members.iter().map(|member| member.item.as_str()).collect();
    assert_eq!(items, ["MMXU1$MX$TotW", "MMXU1$MX$PhV$phsA$cVal$mag$f", "upGGIO2$ST$Ind$stVal"]);
    assert_eq!(list.members[0].domain, "FEEDLD0");
}

#[test]
fn report_control_blocks_are_variables_too() {
    let view = view();
    let domain = &view.domains[0];
    let items: Vec<&str> = domain.reports.iter().map(|report| report.item.as_str()).collect();
    assert_eq!(items, ["LLN0$RP$urcb01", "LLN0$RP$urcb02", "LLN0$BR$brcb"]);
    let part = |path| domain.variables[0].shape.part(path).unwrap().clone();
    let Shape::Structure(members) = part("RP$urcb01") else { panic!() };
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let own = "RptID RptEna Resv DatSet ConfRev OptFlds BufTm SqNum TrgOps IntgPd GI";
    assert_eq!(names.join(" "), own);
    let value = |path| match part(path) {
        Shape::Leaf { value, .. } => value.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(value("RP$urcb02$DatSet"), "FEEDLD0/LLN0$loads");
    assert_eq!(value("RP$urcb01$OptFlds"), "0101100000");
    assert_eq!(value("RP$urcb01$RptID"), "feeder");
    assert_eq!(value("BR$brcb$RptID"), "FEEDLD0/LLN0$BR$brcb");
    // Three leaves more than an unbuffered one, without Resv.
    assert_eq!(part("BR$brcb").leaves(), 13);
}

#[test]
fn a_type_that_contains_itself_is_refused() {
    let own = "<BDA name=\"f\" bType=\"FLOAT32\"/>";
    let text = FEEDER.replace(own, "<BDA name=\"f\" bType=\"Struct\" type=\"vector\"/>");
    check(&text, "contains itself");
    let text =
        FEEDER.replace("<SDO name=\"phsA\" type=\"phase\"/>", "<SDO name=\"a\" type=\"phases\"/>");
    check(&text, "SDO \"a\": type \"phases\" contains itself: phases > phases");
}

#[test]
fn types_that_multiply_are_refused_in_the_view() {
    // Eight members each, on eight levels: 16 million leaves from 70 lines.
    let mut types = String::new();
    for level in 0..8 {
        types.push_str(&format!("<DAType id=\"l{level}\">"));
        for member in 0..8 {
            let kind = match level {
                7 => "bType=\"BOOLEAN\"".to_owned(),
                _ => format!("bType=\"Struct\" type=\"l{}\"", level + 1),
            };
            types.push_str(&format!("<BDA name=\"m{member}\" {kind}/>"));
        }
        types.push_str("</DAType>");
    }
    let text = FEEDER.replace("<DAType id=\"vector\">", &format!("{types}<DAType id=\"vector\">"));
    let text = text.replace(
        "<BDA name=\"f\" bType=\"FLOAT32\"/>",
        "<BDA name=\"f\" bType=\"Struct\" type=\"l0\"/>",
    );
    let document = Document::read(text.as_bytes()).unwrap();
    let error = View::of(document.ieds[0].server().unwrap()).unwrap_err();
    assert_eq!(error.reason, "more than 500000 variables");
}

#[test]
fn errors_name_the_line_and_the_element() {
    let text = FEEDER.replace("type=\"value\"/>", "type=\"values\"/>");
    let error = Document::read(text.as_bytes()).unwrap_err();
    let expected = "line 59, column 42: DO \"TotW\": no DOType \"values\"";
    assert_eq!(error.to_string(), expected);
    check(&FEEDER.replace("bType=\"Quality\"", "bType=\"Other\""), "unknown bType \"Other\"");
    check(&FEEDER.replace("fc=\"DC\"", "fc=\"YY\""), "unknown fc \"YY\"");
    check(&FEEDER.replace(">127.0.0.1<", ">300.0.0.1<"), "IP \"300.0.0.1\" is not valid");
    check(&FEEDER.replace("name=\"TotW\" t", "name=\"Tot$W\" t"), "is no name");
    check(&FEEDER.replace("<RptEnabled max=\"2\"/>", "<RptEnabled max=\"100\"/>"), "100 instances");
    check(&FEEDER.replace("count=\"3\"", "count=\"5000\""), "an array of 5000");
    check("<html/>", "not the root of an SCL file");
}

#[test]
fn entities_of_a_document_are_refused() {
    let text = FEEDER.replacen(
        "<SCL ",
        "<!DOCTYPE SCL [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;&a;&a;&a;\">]><SCL ",
        1,
    );
    check(&text, "document type declarations (<!DOCTYPE) are refused");
}

const STATION: &str = include_str!("../../../../captures/station.scd");

#[test]
fn publishers_have_all_that_their_frames_show() {
    let document = Document::read_publishers(STATION.as_bytes()).unwrap();
    let all: Vec<_> = document.publishers().collect();
    assert_eq!(all.len(), 7);
    let [first, .., last] = &all[..] else { panic!() };
    assert_eq!(first.reference(), "BAY1LD0/LLN0$GO$trip");
    assert_eq!(first.data_set_reference().unwrap(), "BAY1LD0/LLN0$trips");
    assert_eq!(first.data_set().unwrap().members.len(), 3);
    let Control::Goose(goose) = first.control else { panic!() };
    assert_eq!((goose.min_ms, goose.max_ms), (Some(4), Some(1_000)));
    assert_eq!(goose.subscribers, ["BAY2"]);
    let Control::Sampled(sampled) = last.control else { panic!() };
    assert_eq!((sampled.rate, sampled.mode), (80, SampleMode::PerPeriod));
    assert_eq!(last.address().unwrap().appid, Some(0x4001));
}

#[test]
fn publishers_need_no_types_and_the_models_do() {
    let text = STATION.replace("lnType=\"zero\"", "lnType=\"elsewhere\"");
    assert_eq!(Document::read_publishers(text.as_bytes()).unwrap().publishers().count(), 7);
    check(&text, "no LNodeType \"elsewhere\"");
}

#[test]
fn an_address_at_another_access_point_of_the_device_counts() {
    // `ServerAt` lets a server publish at several access points.
    let text =
        STATION.replacen("iedName=\"BAY1\" apName=\"P1\"", "iedName=\"BAY1\" apName=\"P2\"", 1);
    let document = Document::read_publishers(text.as_bytes()).unwrap();
    assert!(document.publishers().next().unwrap().is_complete());
    let text =
        STATION.replacen("iedName=\"BAY1\" apName=\"P1\"", "iedName=\"NONE\" apName=\"P1\"", 1);
    let document = Document::read_publishers(text.as_bytes()).unwrap();
    assert!(!document.publishers().next().unwrap().is_complete());
    // Unicast streams have no address of their own in SCL.
    let text = STATION.replace("multicast=\"true\"", "multicast=\"false\"");
    assert_eq!(Document::read_publishers(text.as_bytes()).unwrap().publishers().count(), 6);
}

#[test]
fn damaged_files_are_read_or_refused_and_nothing_else() {
    // A linear congruential generator; each file has one to four octets changed, left out or copied.
    let mut state = 24_u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..2_000 {
        let mut octets = STATION.as_bytes().to_vec();
        for _ in 0..=next(4) {
            let place = next(octets.len());
            match next(3) {
                0 => octets[place] = next(256) as u8,
                1 => drop(octets.drain(place..(place + next(4)).min(octets.len()))),
                _ => {
                    let part = octets[place..(place + next(8)).min(octets.len())].to_vec();
                    octets.splice(place..place, part);
                }
            }
        }
        let publishers = Document::read_publishers(&octets);
        match Document::read(&octets) {
            Ok(document) => {
                read += 1;
                let points = document.ieds.iter().flat_map(|ied| &ied.access_points);
                points.for_each(|point| drop(View::of(point)));
            }
            Err(_) => refused += 1,
        }
        drop(publishers);
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn the_corpus_begins_with_the_seeds_and_passes_checks() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/scl"));
    let cycle = FEEDER.replace("lnType=\"", "lnType=\"no-");
    let entity = "<?xml version=\"1.0\"?><!DOCTYPE SCL [<!ENTITY a \"&a;&a;\">]><SCL>&a;</SCL>";
    let seeds = [
        ("feeder", FEEDER),
        ("station", STATION),
        ("other-type", &cycle),
        ("entity", entity),
        ("no-xml", "<SCL><IED"),
    ];
    for (name, text) in seeds {
        let path = folder.join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(folder).unwrap();
            fs::write(&path, text).unwrap();
        }
        let found = fs::read(&path).unwrap_or_default();
        assert_eq!(found, text.as_bytes(), "{} is not what this test makes", path.display());
    }
    let files = fs::read_dir(folder).unwrap();
    let read = files.filter(|file| entry::scl(&fs::read(file.as_ref().unwrap().path()).unwrap()));
    assert!(read.count() >= 2);
}

#[track_caller]
fn check(text: &str, reason: &str) {
    let error = Document::read(text.as_bytes()).unwrap_err();
    assert!(error.reason.contains(reason), "{error}");
    assert!(error.place.is_some(), "{error}");
}

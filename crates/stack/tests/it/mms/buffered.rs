//! Buffered report control blocks: entries kept while disabled, resumption, overflow, purge.

use super::*;
use wire::mms::AccessResult::Success;
use wire::mms::WriteResult::Success as Done;

/// Entries of the reports of a buffered block received so far: identifier, overflow, value.
fn entries(world: &mut World) -> Vec<(u64, bool, i64)> {
    let mut entries = Vec::new();
    while let Some(indication) = world.told.pop_front() {
        let client::Indication::Unconfirmed(pdu) = indication else { panic!("{indication:?}") };
        let Ok(Pdu::Unconfirmed(Unconfirmed::InformationReport(report))) = Pdu::decode(&pdu) else {
            panic!("{pdu:?}")
        };
        let values: Vec<_> = report.results.iter().collect();
        // Identifier, fields, sequence number, overflow, entry, inclusion, value, reason.
        let [_, _, _, Success(Data::Boolean(lost)), Success(Data::Octets(entry)), _, value, _] =
            values[..]
        else {
            panic!("{values:?}")
        };
        let Success(Data::Integer(value)) = value else { panic!("{value:?}") };
        entries.push((u64::from_be_bytes(entry.try_into().unwrap()), lost, value));
    }
    entries
}

fn change(world: &mut World, value: i64) {
    let name = Named { domain: "LD".to_owned(), item: "MMXU1$MX$TotW$i".to_owned() };
    let value = Value::Integer { bits: 8, value };
    world.server.request(world.now, server::Request::Set { name, value });
    world.run();
}

#[test]
fn a_buffered_block_keeps_changes_for_the_next_client() {
    let mut world = World::open(Class::Zero, 65_000);
    let [enable, entry] = ["LLN0$BR$brcb01$RptEna", "LLN0$BR$brcb01$EntryID"];
    let set = |world: &mut World, item: &str, data| assert_eq!(world.write(item, data), Done);
    change(&mut world, 1);
    change(&mut world, 2);
    assert_eq!(entries(&mut world), [], "disabled");
    set(&mut world, enable, Data::Boolean(true));
    assert_eq!(entries(&mut world), [(1, false, 1), (2, false, 2)]);
    change(&mut world, 3);
    assert_eq!(entries(&mut world), [(3, false, 3)]);
    // The association is lost; changes go on.
    world.client.request(world.now, client::Request::Abort);
    world.run();
    change(&mut world, 4);
    world.client.request(world.now, client::Request::Associate);
    world.endpoint = world.entities[0].call(Mac::local(1), Tsaps::default());
    world.run();
    world.told.clear();
    // Behind the last entry that the client has; one that never was is refused.
    set(&mut world, entry, Data::Octets(&[0, 0, 0, 0, 0, 0, 0, 3]));
    let unknown = Data::Octets(&[0, 0, 0, 0, 0, 0, 1, 0]);
    assert_eq!(world.write(entry, unknown), WriteResult::Failure(11));
    set(&mut world, enable, Data::Boolean(true));
    assert_eq!(entries(&mut world), [(4, false, 4)]);
    assert_eq!(world.write(entry, unknown), WriteResult::Failure(2), "enabled");
    set(&mut world, enable, Data::Boolean(false));
    // 127 changes push the first three out; an attribute of the entries purges them.
    for number in 0..128 {
        change(&mut world, number % 2 + 5);
    }
    set(&mut world, enable, Data::Boolean(true));
    let all = entries(&mut world);
    assert_eq!((all.len(), all[0], all[127].0), (128, (5, true, 5), 132));
    set(&mut world, enable, Data::Boolean(false));
    set(&mut world, "LLN0$BR$brcb01$BufTm", Data::Unsigned(1));
    set(&mut world, enable, Data::Boolean(true));
    assert_eq!(entries(&mut world), []);
}

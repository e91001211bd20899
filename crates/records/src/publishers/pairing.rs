//! Pairs of streams and declared publishers.
//!
//! In this order, each stream and each publisher once:
//! 1. the same name (gocbRef, svID), destination and APPID;
//! 2. the same name;
//! 3. the same destination and APPID, if no other publisher of the file and no other stream that is left
//!    has them: then the name differs.

use super::declared::Declared;
use meter::{Protocol, Station, StreamReport};
use std::collections::BTreeMap;

/// Common part of a pair.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    protocol: Protocol,
    name: Option<&'a [u8]>,
    address: Option<Address>,
}

/// Destination and APPID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    mac: [u8; 6],
    appid: u32,
}

/// Fields that a pair has in common.
#[derive(Clone, Copy)]
enum Common {
    NameAndAddress,
    Name,
    Address,
}

/// For each stream the place of its declared publisher.
pub(super) fn pairs(declared: &[Declared], seen: &[&StreamReport]) -> Vec<Option<usize>> {
    let mut places = vec![None; seen.len()];
    let mut is_paired = vec![false; declared.len()];
    for common in [Common::NameAndAddress, Common::Name, Common::Address] {
        let mut free: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
        // The last one of a key is taken first.
        for (place, it) in declared.iter().enumerate().rev() {
            // An address that a pair has as well does not identify a publisher.
            if let Some(key) = of_declared(it, common)
                && (!is_paired[place] || matches!(common, Common::Address))
            {
                free.entry(key).or_default().push(place);
            }
        }
        let mut of_seen: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
        for (place, it) in seen.iter().enumerate().filter(|(place, _)| places[*place].is_none()) {
            if let Some(key) = key_of(it, common) {
                of_seen.entry(key).or_default().push(place);
            }
        }
        for (key, of_seen) in of_seen {
            let Some(free) = free.get_mut(&key) else { continue };
            let is_sure = of_seen.len() == 1 && free.len() == 1 && !is_paired[free[0]];
            if matches!(common, Common::Address) && !is_sure {
                continue;
            }
            for place in of_seen {
                places[place] = free.pop();
                if let Some(of) = places[place] {
                    is_paired[of] = true;
                }
            }
        }
    }
    places
}

fn of_declared(declared: &Declared, common: Common) -> Option<Key<'_>> {
    let name = Some(declared.name()).filter(|name| !name.is_empty());
    let address =
        declared.address.and_then(|it| Some(Address { mac: it.mac, appid: it.appid?.into() }));
    key(declared.protocol, name, address, common)
}

fn key_of(seen: &StreamReport, common: Common) -> Option<Key<'_>> {
    let address = match seen.key.destination {
        Station::Lan(mac) => Some(Address { mac: mac.0, appid: seen.key.identifier }),
        Station::Internet(_) => None,
    };
    key(seen.key.protocol, Some(&seen.key.name), address, common)
}

fn key(
    protocol: Protocol,
    name: Option<&[u8]>,
    address: Option<Address>,
    common: Common,
) -> Option<Key<'_>> {
    match common {
        Common::NameAndAddress => {
            Some(Key { protocol, name: Some(name?), address: Some(address?) })
        }
        Common::Name => Some(Key { protocol, name: Some(name?), address: None }),
        Common::Address => Some(Key { protocol, name: None, address: Some(address?) }),
    }
}

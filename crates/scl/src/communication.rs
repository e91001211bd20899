//! Communication section (IEC 61850-6, 9.4): addresses of access points and of control blocks.

use crate::error::Fault;
use crate::xml::Element;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Address of an access point (IEC 61850-8-1, table 115).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Address {
    /// IP address.
    pub ip: Option<IpAddr>,
    /// Transport selector.
    pub tsel: Option<Vec<u8>>,
    /// Session selector.
    pub ssel: Option<Vec<u8>>,
    /// Presentation selector.
    pub psel: Option<Vec<u8>>,
    /// Arcs of the application process title.
    pub ap_title: Option<Vec<u32>>,
    /// Application entity qualifier.
    pub ae_qualifier: Option<u32>,
}

/// Destination of a multicast control block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// MAC address of the group.
    pub mac: [u8; 6],
    /// APPID.
    pub appid: Option<u16>,
    /// VLAN identifier.
    pub vlan: Option<u16>,
    /// VLAN priority, 0 to 7.
    pub priority: Option<u8>,
}

/// Group to which a control block sends, and the times of its retransmissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Group {
    pub(crate) address: Option<Multicast>,
    /// MinTime, in milliseconds.
    pub(crate) min_ms: Option<u32>,
    /// MaxTime, in milliseconds.
    pub(crate) max_ms: Option<u32>,
}

/// Name of an access point in the communication section.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Point {
    pub(crate) ied: String,
    pub(crate) access_point: String,
}

/// Name of a control block in the communication section.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Block {
    pub(crate) ied: String,
    pub(crate) device: String,
    pub(crate) name: String,
    pub(crate) access_point: String,
}

/// Addresses of a file.
#[derive(Default)]
pub(crate) struct Communication {
    pub(crate) points: BTreeMap<Point, Address>,
    pub(crate) blocks: BTreeMap<Block, Group>,
}

impl Communication {
    /// Collects the addresses of a file.
    pub(crate) fn of(root: &Element) -> Result<Self, Fault> {
        let mut found = Self::default();
        let networks = root.all("Communication").flat_map(|section| section.all("SubNetwork"));
        for connected in networks.flat_map(|network| network.all("ConnectedAP")) {
            let point = Point {
                ied: connected.required("iedName")?.to_owned(),
                access_point: connected.required("apName")?.to_owned(),
            };
            if let Some(element) = connected.first("Address") {
                found.points.insert(point.clone(), address(element)?);
            }
            for block in connected.all("GSE").chain(connected.all("SMV")) {
                let name = Block {
                    ied: point.ied.clone(),
                    device: block.required("ldInst")?.to_owned(),
                    name: block.required("cbName")?.to_owned(),
                    access_point: point.access_point.clone(),
                };
                let address = block.first("Address").map(multicast).transpose()?;
                let [min_ms, max_ms] = [millis(block, "MinTime")?, millis(block, "MaxTime")?];
                let group = Group { address, min_ms, max_ms };
                if found.blocks.insert(name, group).is_some() {
                    return Err(block.fault("a second address of this control block"));
                }
            }
        }
        Ok(found)
    }

    /// Group of a control block: at the access point of its server, or at another one of the device,
    /// which reaches the server by `ServerAt`.
    pub(crate) fn group(&self, point: &Point, device: &str, name: &str) -> Group {
        let block = |access_point: &str| Block {
            ied: point.ied.clone(),
            device: device.to_owned(),
            name: name.to_owned(),
            access_point: access_point.to_owned(),
        };
        if let Some(group) = self.blocks.get(&block(&point.access_point)) {
            return *group;
        }
        let next = self.blocks.range(block("")..).next();
        let is_same = |it: &Block| it.ied == point.ied && it.device == device && it.name == name;
        next.filter(|(it, _)| is_same(it)).map(|(_, group)| *group).unwrap_or_default()
    }
}

/// Time of a control block in milliseconds; none if it is absent.
fn millis(block: &Element, name: &str) -> Result<Option<u32>, Fault> {
    let Some(element) = block.first(name) else { return Ok(None) };
    let text = element.text.trim();
    let millis = text.parse::<u32>();
    millis.map(Some).map_err(|_| element.fault(format!("{text:?} is no time in milliseconds")))
}

/// Text of a parameter of an address.
fn parameter<'a>(address: &'a Element, kind: &str) -> Option<&'a str> {
    let found = address.all("P").find(|parameter| parameter.attribute("type") == Some(kind));
    found.map(|parameter| parameter.text.as_str()).filter(|text| !text.is_empty())
}

fn address(element: &Element) -> Result<Address, Fault> {
    let wrong = |kind: &str, text: &str| element.fault(format!("{kind} {text:?} is not valid"));
    let selector = |kind: &str| {
        let Some(text) = parameter(element, kind) else { return Ok(None) };
        let octets = octets(text).filter(|octets| octets.len() <= 32);
        octets.map(Some).ok_or_else(|| wrong(kind, text))
    };
    let ip = match parameter(element, "IP") {
        Some(text) => Some(text.parse().map_err(|_| wrong("IP", text))?),
        None => None,
    };
    let ap_title = match parameter(element, "OSI-AP-Title") {
        Some(text) => Some(arcs(text).ok_or_else(|| wrong("OSI-AP-Title", text))?),
        None => None,
    };
    let ae_qualifier = match parameter(element, "OSI-AE-Qualifier") {
        Some(text) => Some(text.parse().map_err(|_| wrong("OSI-AE-Qualifier", text))?),
        None => None,
    };
    Ok(Address {
        ip,
        tsel: selector("OSI-TSEL")?,
        ssel: selector("OSI-SSEL")?,
        psel: selector("OSI-PSEL")?,
        ap_title,
        ae_qualifier,
    })
}

/// Arcs of an object identifier, written with commas, points or spaces between them.
fn arcs(text: &str) -> Option<Vec<u32>> {
    let words = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let arcs: Option<Vec<u32>> = words.take(33).map(|word| word.parse().ok()).collect();
    arcs.filter(|arcs| (2..=32).contains(&arcs.len()))
}

/// Octets in hexadecimal, with or without hyphens between them.
fn octets(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| !matches!(c, '-' | ':' | ' '));
    let digits: Option<Vec<u8>> =
        digits.take(129).map(|c| Some(u8::try_from(c.to_digit(16)?).unwrap_or(0))).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && digits.len() <= 128)?;
    Some(
        digits.chunks(2).map(|two| two.iter().fold(0, |octet, digit| octet << 4 | digit)).collect(),
    )
}

fn multicast(element: &Element) -> Result<Multicast, Fault> {
    let hexadecimal = |kind: &str| {
        let Some(text) = parameter(element, kind) else { return Ok(None) };
        let number = u16::from_str_radix(text, 16);
        number.map(Some).map_err(|_| element.fault(format!("{kind} {text:?} is not valid")))
    };
    let text = parameter(element, "MAC-Address").unwrap_or_default();
    let mac = octets(text).and_then(|octets| octets.try_into().ok());
    let mac = mac.ok_or_else(|| {
        element.fault(format!(
            "MAC-Address {text:?} is not valid: expected the form 01-0C-CD-01-00-01"
        ))
    })?;
    let priority = match parameter(element, "VLAN-PRIORITY") {
        Some(text) => {
            let priority = text.parse().ok().filter(|priority| *priority <= 7);
            Some(priority.ok_or_else(|| element.fault("VLAN-PRIORITY is not 0 to 7"))?)
        }
        None => None,
    };
    let vlan = hexadecimal("VLAN-ID")?;
    if let Some(vlan) = vlan.filter(|vlan| *vlan > 0xFFF) {
        return Err(element.fault(format!("VLAN-ID {vlan:X} is more than FFF")));
    }
    Ok(Multicast { mac, appid: hexadecimal("APPID")?, vlan, priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_selectors_are_read_in_the_usual_spellings() {
        assert_eq!(arcs("1,1,9999,1"), Some(vec![1, 1, 9999, 1]));
        assert_eq!(arcs("{ 1 1 9999 1 }"), Some(vec![1, 1, 9999, 1]));
        assert_eq!(arcs("1"), None);
        assert_eq!(arcs("1,99999999999"), None);
        assert_eq!(octets("01-0C-CD"), Some(vec![1, 0x0C, 0xCD]));
        assert_eq!(octets("001"), None);
        assert_eq!(octets("0g"), None);
    }
}

//! Names of variables and lists in a server: `domain/item`.

use core::fmt;
use core::str::FromStr;
use wire::mms::{ObjectName, Specification, Variable};

/// Functional constraints that are never written: control, setpoint, setting group, setting group to
/// be edited.
const NEVER_WRITTEN: [&str; 4] = ["CO", "SP", "SG", "SE"];

/// Name of an object in a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Item {
    /// Domain.
    pub domain: String,
    /// Name in the domain.
    pub item: String,
}

impl Item {
    /// Name of the object.
    #[must_use]
    pub const fn name(&self) -> ObjectName<'_> {
        ObjectName::Domain { domain: self.domain.as_bytes(), item: self.item.as_bytes() }
    }

    /// Variable of this name.
    #[must_use]
    pub const fn variable(&self) -> Variable<'_> {
        Variable { specification: Specification::Name(self.name()), alternate: None }
    }

    /// Part of it with this name.
    #[must_use]
    pub fn part(&self, name: &str) -> Self {
        Self { domain: self.domain.clone(), item: format!("{}${name}", self.item) }
    }

    /// Functional constraint: the second part of the name.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        self.item.split('$').nth(1)
    }

    /// Returns an error if it must not be written.
    ///
    /// # Errors
    /// Its functional constraint is one of control or settings.
    pub fn check_write(&self) -> Result<(), Forbidden> {
        let constraint = self.constraint();
        match NEVER_WRITTEN.into_iter().find(|never| constraint == Some(never)) {
            Some(constraint) => Err(Forbidden { item: self.clone(), constraint }),
            None => Ok(()),
        }
    }
}

impl FromStr for Item {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fix = "as in DEVICE/LLN0$ST$Mod$stVal";
        let (domain, item) =
            text.split_once('/').ok_or_else(|| format!("{text:?} has no '/', {fix}"))?;
        let is_name = |name: &str, most: usize| {
            !name.is_empty() && name.len() <= most && name.bytes().all(|it| it.is_ascii_graphic())
        };
        if !is_name(domain, 64) || !is_name(item, 129) || item.contains('/') {
            return Err(format!("{text:?} is no name of MMS, {fix}"));
        }
        Ok(Self { domain: domain.to_owned(), item: item.to_owned() })
    }
}

impl serde::Serialize for Item {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.item)
    }
}

/// Item that must not be written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{item} is not written: ${constraint}$ acts on the process or its settings")]
pub struct Forbidden {
    /// Item.
    pub item: Item,
    /// Its functional constraint.
    pub constraint: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_domain_and_an_item() {
        let item: Item = "LD/GGIO1$MX$AnIn1$mag$f".parse().unwrap();
        assert_eq!((item.domain.as_str(), item.constraint()), ("LD", Some("MX")));
        assert_eq!(item.to_string(), "LD/GGIO1$MX$AnIn1$mag$f");
        for wrong in ["GGIO1", "/x", "LD/", "LD/a b", "LD/a/b", &format!("{}/x", "l".repeat(65))] {
            assert!(wrong.parse::<Item>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn control_and_settings_are_never_written() {
        let check = |item: &str| item.parse::<Item>().unwrap().check_write().is_err();
        for item in ["LD/GGIO1$CO$SPCSO1$Oper", "LD/A$SP$x", "LD/A$SG$x", "LD/A$SE$x", "LD/A$CO"] {
            assert!(check(item), "{item}");
        }
        for item in ["LD/LLN0$RP$urcb01", "LD/A$CF$x", "LD/A$DC$CO", "LD/CO$ST$x"] {
            assert!(!check(item), "{item}");
        }
    }
}

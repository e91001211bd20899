//! Source and resolution of the time stamps of frames.

use bench::scenario::Span;
use core::fmt;
use core::time::Duration;
use serde::{Deserialize, Serialize};
use wire::capture::Interface;

/// Clock that stamps frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StampClock {
    /// The clock of the capturing host, which a capture file does not name.
    Capture,
    /// The kernel of this host.
    Kernel,
    /// The clock of the interface.
    Interface,
}

/// Source and resolution of the time stamps of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stamps {
    /// Clock that stamps them.
    pub clock: StampClock,
    /// Resolution in nanoseconds, at least 1, because times are counted in nanoseconds. In captures it
    /// is the coarsest of the interfaces so far: of pcap by the magic number, of pcapng `if_tsresol`.
    pub resolution_ns: u64,
}

impl Stamps {
    /// Stamps of a port, which come in nanoseconds.
    #[must_use]
    pub const fn of_port(clock: StampClock) -> Self {
        Self { clock, resolution_ns: 1 }
    }

    /// Stamps of a capture as its header states them; none before an interface is described.
    #[must_use]
    pub fn of_capture(interfaces: &[Interface]) -> Option<Self> {
        let steps = interfaces.iter().map(|of| of.resolution.nanos(1).max(1));
        steps.max().map(|resolution_ns| Self { clock: StampClock::Capture, resolution_ns })
    }

    /// Returns the coarser of two stamps of captures that are read in sequence.
    #[must_use]
    pub fn coarser(self, other: Option<Self>) -> Self {
        let other = other.filter(|other| other.resolution_ns > self.resolution_ns);
        other.unwrap_or(self)
    }
}

impl fmt::Display for Stamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, by) = match self.clock {
            StampClock::Capture => ("the capture", " by its header"),
            StampClock::Kernel => ("the kernel", ""),
            StampClock::Interface => ("the interface's own clock", ""),
        };
        let resolution = Span(Duration::from_nanos(self.resolution_ns));
        write!(f, "stamps of {source}, resolution {resolution}{by}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::capture::{Resolution, Statistics};
    use wire::dissect::Link;

    fn interface(resolution: Resolution) -> Interface {
        Interface {
            link: Link::Ethernet,
            name: String::new(),
            snap_octets: 0,
            fcs_octets: 0,
            resolution,
            offset_seconds: 0,
            leaves_out_data: false,
            statistics: Statistics::default(),
        }
    }

    fn check(resolutions: &[Resolution], expected_ns: Option<u64>) {
        let interfaces: Vec<_> = resolutions.iter().map(|it| interface(*it)).collect();
        let found = Stamps::of_capture(&interfaces).map(|it| it.resolution_ns);
        assert_eq!(found, expected_ns, "{resolutions:?}");
    }

    #[test]
    fn resolution_is_the_coarsest_of_the_interfaces() {
        check(&[], None);
        check(&[Resolution::NANO], Some(1));
        check(&[Resolution::NANO, Resolution::MICRO], Some(1_000));
        check(&[Resolution::MICRO, Resolution::NANO], Some(1_000));
        // 10^9 / 2^10 = 976,562.5 ns.
        check(&[Resolution::Binary(10)], Some(976_562));
        // A picosecond is finer than the nanoseconds that are counted.
        check(&[Resolution::Decimal(12)], Some(1));
    }

    #[test]
    fn files_in_sequence_have_the_coarser_stamps() {
        let [fine, coarse] = [Resolution::NANO, Resolution::MICRO]
            .map(|it| Stamps::of_capture(&[interface(it)]).unwrap());
        assert_eq!([fine.coarser(Some(coarse)), coarse.coarser(Some(fine))], [coarse, coarse]);
        assert_eq!(fine.coarser(None), fine);
        assert_eq!(coarse.to_string(), "stamps of the capture, resolution 1 us by its header");
        let port = Stamps::of_port(StampClock::Kernel);
        assert_eq!(port.to_string(), "stamps of the kernel, resolution 1 ns");
    }
}

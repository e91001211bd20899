//! Results of other tools, read for a comparison: iperf3 and sockperf.

pub mod iperf3;
pub mod sockperf;

/// Octets at the begin of a file that show its format.
pub const HEAD_OCTETS: usize = 64 << 10;
/// Most octets of a file.
pub const MOST_OCTETS: u64 = 256 << 20;

/// Format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON of `iperf3 -J`.
    Iperf3,
    /// Log of `sockperf --full-log`.
    Sockperf,
}

impl Format {
    /// Format of a file that begins with these octets; none if it is another.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(head);
        if iperf3::is_meant(&text) {
            return Some(Self::Iperf3);
        }
        text.lines().any(sockperf::is_heading).then_some(Self::Sockperf)
    }

    /// Name of the tool.
    #[must_use]
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Iperf3 => "iperf3",
            Self::Sockperf => "sockperf",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_first_lines() {
        let of = |text: &str| Format::of(text.as_bytes());
        assert_eq!(of("{\n\t\"start\":\t{\n"), Some(Format::Iperf3));
        assert_eq!(of("{ \"title\": \"a\", \"start\": {"), Some(Format::Iperf3));
        let log = "RunTime=1\n------\npacket, txTime(sec), rxTime(sec), rtt(usec)\n";
        assert_eq!(of(log), Some(Format::Sockperf));
        // Records of this program, a result of iperf3's server that was cut off at its begin, and text.
        assert_eq!(of("{\"type\":\"sample\",\"start\":1}"), None);
        assert_eq!(of("\"start\": {"), None);
        assert_eq!(of("packets, txTime(sec)\n"), None);
        assert_eq!(of(""), None);
    }
}

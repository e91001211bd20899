//! Parameters of a class 4 transport that can be set, the settings tried, and their order from
//! conservative to aggressive.

use crate::scenario::{Acknowledge, Credit, Retransmit, Scenario, Size, Span, Timer, Transport};
use core::fmt;
use core::time::Duration;
use serde::Serialize;

/// Values tried for T1, in milliseconds, the longest first.
const TIMES_MS: [u64; 8] = [1_000, 500, 200, 100, 50, 20, 10, 5];
/// Windows tried; above 15 they need the extended format.
const WINDOWS: [u64; 8] = [1, 2, 4, 8, 15, 30, 60, 120];
/// Maximum window of the normal format.
const NORMAL_WINDOW: u64 = 15;
/// TPDU sizes of ISO 8073, in octets.
const TPDUS: [u64; 7] = [128, 256, 512, 1_024, 2_048, 4_096, 8_192];

/// Parameter that can be set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Checksum of TPDUs.
    Checksum,
    /// Retransmission time, fixed or adaptive.
    T1,
    /// Maximum number of outstanding DTs.
    Window,
    /// Size of TPDUs.
    Tpdu,
    /// Condition for reopening the window.
    Credit,
    /// Condition for acknowledging DTs.
    Acknowledge,
    /// Retransmission policy.
    Retransmit,
    /// Concatenation of TPDUs in one frame.
    Concatenate,
}

impl Knob {
    /// Returns whether the receiver decides about it: the time of acknowledgements, and the credit
    /// for the sender. All other parameters are the sender's own, or are proposed by it.
    #[must_use]
    pub const fn is_of_receiver(self) -> bool {
        match self {
            Self::Window | Self::Credit | Self::Acknowledge => true,
            Self::Checksum | Self::T1 | Self::Tpdu | Self::Retransmit | Self::Concatenate => false,
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checksum => "checksum",
            Self::T1 => "t1",
            Self::Window => "window",
            Self::Tpdu => "tpdu",
            Self::Credit => "credit",
            Self::Acknowledge => "acknowledge",
            Self::Retransmit => "retransmit",
            Self::Concatenate => "concatenate",
        })
    }
}

/// Setting of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// With or without checksum.
    Checksum(bool),
    /// Fixed T1.
    Fixed(Span),
    /// T1 adapts to the round trips, starting with this value.
    Adaptive(Span),
    /// Maximum number of outstanding DTs.
    Window(u64),
    /// Maximum TPDU size.
    Tpdu(Size),
    /// Condition for reopening the window.
    Credit(Credit),
    /// Condition for acknowledging.
    Acknowledge(Acknowledge),
    /// Retransmission policy.
    Retransmit(Retransmit),
    /// With or without concatenation.
    Concatenate(bool),
}

impl Setting {
    /// Setting of a parameter in a transport.
    #[must_use]
    pub fn of(knob: Knob, transport: &Transport) -> Self {
        match knob {
            Knob::Checksum => Self::Checksum(transport.checksum),
            Knob::T1 if transport.timer == Timer::Adaptive => Self::Adaptive(transport.t1),
            Knob::T1 => Self::Fixed(transport.t1),
            Knob::Window => Self::Window(transport.window),
            Knob::Tpdu => Self::Tpdu(transport.tpdu),
            Knob::Credit => Self::Credit(transport.credit),
            Knob::Acknowledge => Self::Acknowledge(transport.acknowledge),
            Knob::Retransmit => Self::Retransmit(transport.retransmit),
            Knob::Concatenate => Self::Concatenate(transport.concatenate),
        }
    }

    /// Returns the transport with this setting, and all others unchanged.
    #[must_use]
    pub fn put(self, transport: &Transport) -> Transport {
        let mut set = transport.clone();
        match self {
            Self::Checksum(checksum) => set.checksum = checksum,
            Self::Fixed(t1) => (set.timer, set.t1) = (Timer::Fixed, t1),
            Self::Adaptive(t1) => (set.timer, set.t1) = (Timer::Adaptive, t1),
            Self::Window(window) => set.window = window,
            Self::Tpdu(tpdu) => set.tpdu = tpdu,
            Self::Credit(credit) => set.credit = credit,
            Self::Acknowledge(acknowledge) => set.acknowledge = acknowledge,
            Self::Retransmit(retransmit) => set.retransmit = retransmit,
            Self::Concatenate(concatenate) => set.concatenate = concatenate,
        }
        set
    }
}

impl fmt::Display for Setting {
    /// Writes the setting as in a scenario; an adaptive T1 with its initial value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum(set) | Self::Concatenate(set) => write!(f, "{set}"),
            Self::Fixed(t1) => write!(f, "{t1}"),
            Self::Adaptive(t1) => write!(f, "adaptive {t1}"),
            Self::Window(window) => write!(f, "{window}"),
            Self::Tpdu(tpdu) => write!(f, "{tpdu}"),
            Self::Credit(credit) => f.write_str(match credit {
                Credit::Automatic => "automatic",
                Credit::ByUser => "by-user",
                Credit::Taut => "taut",
            }),
            Self::Acknowledge(acknowledge) => f.write_str(match acknowledge {
                Acknowledge::Each => "each",
                Acknowledge::Withhold => "withhold",
                Acknowledge::Delay => "delay",
                Acknowledge::OnRequest => "on-request",
            }),
            Self::Retransmit(retransmit) => f.write_str(match retransmit {
                Retransmit::First => "first",
                Retransmit::All => "all",
                Retransmit::Selective => "selective",
                Retransmit::Early => "early",
                Retransmit::Missing => "missing",
            }),
        }
    }
}

/// Settings to be tried for each parameter, the most conservative first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    /// Parameters in the order in which they are settled, each once and with at least one setting.
    pub knobs: Vec<(Knob, Vec<Setting>)>,
}

impl Grid {
    /// Settings that can be tried for a scenario, including its own.
    ///
    /// Of two settings the more conservative is the one with: checksum; adaptive T1, then the
    /// longer; the smaller window; the shorter TPDU, which occupies the wire for less time; fewer
    /// promised buffers; the earlier acknowledgement; fewer retransmitted DTs; one TPDU per frame.
    /// No setting is without checksum if the path damages data undetected by the FCS.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let own = &scenario.transport;
        let checksums: &[bool] = if is_damaging(scenario) { &[true] } else { &[true, false] };
        let most = most_tpdu_octets(scenario);
        let widest = if own.extended { u64::MAX } else { NORMAL_WINDOW };
        let millis = |ms: &u64| Span(Duration::from_millis(*ms));
        let mut times: Vec<Span> = TIMES_MS.iter().map(millis).chain([own.t1]).collect();
        times.sort_by(|one, other| other.cmp(one));
        times.dedup();
        let sizes = TPDUS.iter().filter(|octets| **octets <= most || **octets == own.tpdu.0);
        let times = times.into_iter().map(Setting::Fixed);
        let acknowledge =
            [Acknowledge::Each, Acknowledge::Withhold, Acknowledge::OnRequest, Acknowledge::Delay];
        let retransmit = [
            Retransmit::First,
            Retransmit::Selective,
            Retransmit::Early,
            Retransmit::Missing,
            Retransmit::All,
        ];
        let credit = [Credit::Taut, Credit::ByUser, Credit::Automatic];
        Self {
            knobs: vec![
                (Knob::Checksum, checksums.iter().map(|set| Setting::Checksum(*set)).collect()),
                (Knob::T1, core::iter::once(Setting::Adaptive(own.t1)).chain(times).collect()),
                (Knob::Window, windows(own.window, widest)),
                (Knob::Tpdu, sizes.map(|octets| Setting::Tpdu(Size(*octets))).collect()),
                (Knob::Credit, credit.map(Setting::Credit).to_vec()),
                (Knob::Acknowledge, acknowledge.map(Setting::Acknowledge).to_vec()),
                (Knob::Retransmit, retransmit.map(Setting::Retransmit).to_vec()),
                (Knob::Concatenate, [false, true].map(Setting::Concatenate).to_vec()),
            ],
        }
    }

    /// The scenario's own settings, as far as the grid has them; otherwise the most conservative.
    pub(super) fn own(&self, transport: &Transport) -> Transport {
        let mut own = transport.clone();
        for (knob, settings) in &self.knobs {
            let is_there = settings.contains(&Setting::of(*knob, transport));
            if let (false, Some(first)) = (is_there, settings.first()) {
                own = first.put(&own);
            }
        }
        own
    }

    /// The last setting of every parameter: the least conservative.
    pub(super) fn last(&self, transport: &Transport) -> Transport {
        let lasts = self.knobs.iter().filter_map(|(_, settings)| settings.last());
        lasts.fold(transport.clone(), |set, setting| setting.put(&set))
    }

    /// The widest window and the longest TPDU, with the presumably best loss recovery.
    pub(super) fn aggressive(&self, transport: &Transport) -> Transport {
        self.knobs.iter().fold(transport.clone(), |set, (knob, settings)| {
            let of_knob = match knob {
                Knob::Window | Knob::Tpdu | Knob::Credit => settings.last(),
                Knob::Retransmit => settings.get(settings.len() / 2),
                Knob::Checksum | Knob::T1 | Knob::Acknowledge | Knob::Concatenate => {
                    settings.first()
                }
            };
            of_knob.map_or(set.clone(), |setting| setting.put(&set))
        })
    }
}

/// Returns whether the path changes data undetected by the FCS.
pub(super) fn is_damaging(scenario: &Scenario) -> bool {
    scenario.faults.damage.0 > 0
}

/// Longest TPDU that the network carries completely, in a frame or in segments.
fn most_tpdu_octets(scenario: &Scenario) -> u64 {
    scenario.transport_on(scenario.medium.most_lsdu_octets()).nsdu_octets as u64
}

fn windows(own: u64, widest: u64) -> Vec<Setting> {
    let mut windows: Vec<u64> = WINDOWS.iter().copied().chain([own]).collect();
    windows.retain(|window| *window <= widest);
    windows.sort_unstable();
    windows.dedup();
    windows.into_iter().map(Setting::Window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::load;
    use crate::scenarios;

    fn settings(text: &str, knob: Knob) -> Vec<String> {
        let study = load(text, "test").unwrap();
        let grid = Grid::of(study.scenario());
        let (_, settings) = grid.knobs.iter().find(|(found, _)| *found == knob).unwrap();
        settings.iter().map(Setting::to_string).collect()
    }

    #[test]
    fn a_setting_that_is_put_is_found_again() {
        let study = load(scenarios::get("bulk").unwrap().text, "test").unwrap();
        for (knob, settings) in Grid::of(study.scenario()).knobs {
            for setting in settings {
                let set = setting.put(&study.scenario().transport);
                assert_eq!(Setting::of(knob, &set), setting);
            }
        }
    }

    #[test]
    fn the_checksum_is_fixed_if_damage_passes_the_fcs() {
        let text = scenarios::get("bulk").unwrap().text;
        assert_eq!(settings(text, Knob::Checksum), ["true", "false"]);
        // Damage detected by the FCS is a loss like any other.
        let corrupt = text.replace("[vary]", "[faults]\ncorrupt = \"1 %\"\n\n[vary]");
        assert_eq!(settings(&corrupt, Knob::Checksum), ["true", "false"]);
        let damage = text.replace("[vary]", "[faults]\ndamage = \"1 %\"\n\n[vary]");
        assert_eq!(settings(&damage, Knob::Checksum), ["true"]);
    }

    #[test]
    fn tpdus_fit_into_the_frames_of_the_medium() {
        // 1,500 octets of data less LLC and CLNP leave 1,496: 1,024 is the longest of the standard.
        let text = scenarios::get("bulk").unwrap().text;
        assert_eq!(settings(text, Knob::Tpdu), ["128 B", "256 B", "512 B", "1024 B"]);
        // In segments of CLNP all sizes fit: 65,535 octets of a PDU less its header.
        let segments = text.replace("[vary]", "[network]\nprotocol = \"clnp\"\n\n[vary]");
        assert_eq!(settings(&segments, Knob::Tpdu)[4..], ["2048 B", "4096 B", "8192 B"]);
    }

    #[test]
    fn own_settings_are_tried_in_their_place() {
        let text = scenarios::get("bulk").unwrap().text;
        let own = text.replace("[vary]", "[transport]\nt1 = \"70 ms\"\n\n[vary]");
        let times = settings(&own, Knob::T1);
        assert_eq!(times[0], "adaptive 70 ms");
        assert_eq!(times[4..7], ["100 ms", "70 ms", "50 ms"]);
        let normal = own.replace("70 ms\"", "70 ms\"\nextended = false");
        assert_eq!(settings(&normal, Knob::Window), ["1", "2", "4", "8", "15"]);
    }
}

//! TSDUs that no frame holds as a whole, reassembled by a meter.

use super::Frame;
use core::time::Duration;
use meter::user::User;
use meter::{Meter, Settings, TsduLimits};
use serde::Serialize;
use wire::dissect::{Dissection, Layer, dissect_tsdu};
use wire::time::Instant;

/// Connections whose TSDUs are reassembled at the same time.
const CONNECTIONS: usize = 256;
/// Longest TSDU that is printed, and memory for those under way, in octets.
const LIMITS: TsduLimits = TsduLimits { octets_each: 128 << 10, octets_total: 8 << 20 };

/// TSDU with its layers.
#[derive(Serialize)]
pub(super) struct Reassembled {
    octets: u64,
    pub(super) layers: Vec<String>,
}

impl Reassembled {
    pub(super) fn title(&self) -> String {
        format!("TSDU of {} octets, complete with this frame", self.octets)
    }
}

/// Reassembly of the TSDUs of a capture.
pub(super) struct Tsdus {
    meter: Meter,
}

impl Tsdus {
    pub(super) fn new() -> Self {
        let settings = Settings {
            maximum_connections: CONNECTIONS,
            maximum_hosts: 2,
            ..Settings::every(Duration::from_secs(3_600))
        };
        let mut meter = Meter::new(settings);
        let may_be = |user| matches!(user, User::Mms | User::Iccp | User::Unknown);
        meter.pass_tsdus(may_be, LIMITS);
        Self { meter }
    }

    /// Processes a frame; returns the TSDUs that end with it and that `dissection` does not show.
    pub(super) fn observe(
        &mut self,
        frame: &Frame<'_>,
        dissection: &Dissection<'_>,
    ) -> Vec<Reassembled> {
        let &Frame { at, link, octets, original_octets, .. } = frame;
        let at = at.map_or(Instant::ZERO, |(at, _)| at);
        self.meter.observe(at, link, octets, original_octets);
        while self.meter.take_interval().is_some() {}
        while self.meter.take_connection().is_some() {}
        let mut found = Vec::new();
        while let Some(tsdu) = self.meter.take_tsdu() {
            let is_shown = |layer: &Layer<'_>| *layer == Layer::Session(&tsdu.octets);
            if !tsdu.is_whole() || dissection.layers.iter().any(is_shown) {
                continue;
            }
            let layers: Vec<String> =
                dissect_tsdu(&tsdu.octets).map(|layer| layer.to_string()).collect();
            if !layers.is_empty() {
                found.push(Reassembled { octets: tsdu.length, layers });
            }
        }
        found
    }
}

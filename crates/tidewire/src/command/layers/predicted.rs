//! `tidewire predict layers`: the same experiment on modelled machines.

use super::super::profiles;
use super::{ABOVE_LLC, Missing, Study, in_order, print, record, record_layers};
use crate::args::layers::PredictLayers;
use crate::exit::{Exit, Failure};
use crate::figure;
use crate::output::{self, Output};
use bench::profile::{Layer, Profile};
use bench::sample::{End, Line};
use core::sync::atomic::Ordering;
use papers::layers::fit::Curve;
use papers::layers::simulated::{self, most_octets};
use papers::layers::{Measurement, Operation, Service};
use serde_json::json;

/// Makes the experiment on two machines of a profile.
pub(crate) fn predict(options: &PredictLayers, output: &Output) -> anyhow::Result<Exit> {
    if let Some(folder) = &options.figure {
        figure::make_folder(folder)?;
    }
    let profile = profiles::find(&options.profile)?.profile;
    let longest = most_octets(Operation::LlcTransmit, Service { acknowledgement: true, crc: true });
    let sizes = super::sizes(&options.sizes, longest)?;
    let stop = output::install_interrupts()?;
    let mut curves = Vec::new();
    for (operation, service) in kinds(&profile) {
        let mut rounds = Vec::new();
        for round in 0..options.rounds {
            if stop.load(Ordering::Relaxed) {
                let error = Some("interrupted".to_owned());
                output.record(&Line::End(End { complete: false, error }))?;
                return Ok(Exit::Interrupted);
            }
            let seed = options.seed.wrapping_add(round);
            let one = |octets: &usize| {
                let messages = options.messages;
                simulated::measure(&profile, operation, service, *octets, messages, seed)
            };
            let round: Result<Vec<Measurement>, _> = sizes.iter().map(one).collect();
            rounds.push(round.map_err(|error| Failure::failed(error.to_string()))?);
        }
        curves.extend(Curve::of_rounds(rounds));
    }
    let study = study(options, &profile, &sizes, curves);
    output.record(&experiment(options, &study, &profile, &sizes))?;
    for curve in &study.curves {
        output.record(&record::curve(curve, "predicted"))?;
    }
    record_layers(&study, output)?;
    print::tell(&study, output)?;
    let source = format!("predict layers, profile {}, seed {}", options.profile, options.seed);
    let figures =
        options.figure.as_deref().map(|folder| super::Figures { folder, emit: options.emit });
    super::draw_to(&study, &source, figures, output)?;
    output.record(&Line::End(End { complete: true, error: None }))?;
    Ok(Exit::Ok)
}

/// Operations that the profile has a prediction for; those of LLC with each choice of services. Behind
/// a front end, messages to LLC are datagrams.
fn kinds(profile: &Profile) -> Vec<(Operation, Service)> {
    let is_known = |operation: &Operation| simulated::missing(*operation, profile).is_none();
    let services = |operation: Operation| match operation.layer() {
        Layer::Llc if operation.top().is_none() && !profile.has_front_end() => &Service::ALL[..],
        Layer::Llc | Layer::Mac => &Service::ALL[..1],
    };
    let all = Operation::ALL.into_iter().filter(is_known);
    all.flat_map(|operation| services(operation).iter().map(move |service| (operation, *service)))
        .collect()
}

/// Operations without a prediction.
fn missing(profile: &Profile) -> Vec<Missing> {
    let one = |operation| {
        let reason = simulated::missing(operation, profile)?;
        Some(Missing { operation, reason })
    };
    Operation::ALL.into_iter().filter_map(one).collect()
}

fn study(
    options: &PredictLayers,
    profile: &Profile,
    sizes: &[usize],
    mut curves: Vec<Curve>,
) -> Study {
    in_order(&mut curves);
    let PredictLayers { rounds, messages, seed, .. } = options;
    let (first, last) = (sizes.first().unwrap_or(&0), sizes.last().unwrap_or(&0));
    let inputs = profile.calibrated_on();
    let calibrated = match inputs.as_slice() {
        [] => "no published figure was put in".to_owned(),
        _ => format!("put in, and so no prediction: {}", inputs.join("; ")),
    };
    let assumptions = profile.assumptions.iter().map(|taken| format!("assumed: {taken}"));
    let band = (!profile.variants.is_empty()).then(|| {
        let names: Vec<&str> = profile.variants.iter().map(|one| one.name.as_str()).collect();
        format!("other inputs fit the same figures, and are not shown here: {}", names.join(", "))
    });
    Study {
        title: format!("layers of {}, predicted", profile.name),
        extent: format!(
            "{rounds} rounds of {messages} messages of each of {} sizes, {first} to {last} octets, \
             seed {seed}",
            sizes.len()
        ),
        lines: "lines through the medians of each round, with 95 % intervals over rounds",
        curves,
        missing: missing(profile),
        remarks: [profile.title.clone(), calibrated, ABOVE_LLC.to_owned()]
            .into_iter()
            .chain(assumptions)
            .chain(band)
            .collect(),
    }
}

fn experiment(
    options: &PredictLayers,
    study: &Study,
    profile: &Profile,
    sizes: &[usize],
) -> serde_json::Value {
    json!({
        "type": "layers",
        "title": study.title,
        "profile": profile.name,
        "calibrated_on": profile.calibrated_on(),
        "sizes_octets": sizes,
        "messages": options.messages,
        "rounds": options.rounds,
        "seed": options.seed.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::layers::MORE_SIZES;

    #[test]
    fn a_profile_predicts_the_layers_that_it_has_costs_for() {
        let kinds = |name: &str| kinds(&bench::profile::built_in(name).unwrap());
        // Five below LLC, and three of LLC with four choices each.
        assert_eq!(kinds("pc-pronet").len(), 5 + 3 * 4);
        // Without costs, every layer is free.
        assert_eq!(kinds("ideal").len(), 5 + 3 * 4 + 4);
        let mvme372: Vec<Operation> = kinds("mvme372").into_iter().map(|(one, _)| one).collect();
        let [transport, session, case, _] = Operation::UPPER;
        assert_eq!(mvme372, [Operation::LlcEndToEnd, transport, session, case]);
        // The sizes that stand in the help fit every one of them.
        let most = MORE_SIZES.rsplit(',').next().unwrap().parse::<usize>().unwrap();
        let least = kinds("ideal")
            .into_iter()
            .map(|(operation, service)| most_octets(operation, service))
            .min();
        assert_eq!(Some(most), least);
    }
}

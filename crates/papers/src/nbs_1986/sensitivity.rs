//! Sensitivity of the cross-overs: the same figures with other choices for the questions that the
//! paper leaves open.

use super::context::Context;
use super::crossing::{self, FIGURES, FIRST_LOAD, Figure, figure_of};
use super::experiment::{Cell, Counted, Experiment, MOST_LOAD, Net, World, loads};
use crate::published::Unavailable;
use crate::published::value::Value;

/// Figures whose cross-overs are compared.
const WATCHED: [&str; 4] = ["2", "4", "7", "8"];
/// Least load at which cross-overs are searched, in percent.
const FROM: u64 = 25;

/// Other worlds, with a description of the difference.
pub(super) fn worlds(context: &Context) -> Vec<(String, World)> {
    let drawn = World::DRAWN;
    let readings = (1..context.count()).map(|model| {
        let reading = context.reading(model).unwrap_or_default();
        (format!("the profile read as \"{reading}\""), World { model, ..drawn })
    });
    let others = [
        ("no time for medium access", World { has_access: false, ..drawn }),
        ("the load from 4 stations", World { background: 4, ..drawn }),
    ];
    let others = others.map(|(name, world)| (name.to_owned(), world));
    let windows = WINDOWS.map(|window| (format!("a window of {window}"), of_window(window)));
    readings.chain(others).chain(windows).collect()
}

/// Windows that are run in addition to 15.
pub(super) const WINDOWS: [u64; 2] = [8, 1];

/// World with this window.
pub(super) const fn of_window(window: u64) -> World {
    World { window, ..World::DRAWN }
}

/// World in which a load counts messages.
pub(super) const MESSAGES: World = World { counted: Counted::Messages, ..World::DRAWN };

/// Cells of the compared figures in a world.
pub(super) fn cells(world: World) -> Vec<Cell> {
    let loads = loads().skip_while(|load| *load < FROM);
    let of_load = |load_percent| {
        let both = [Experiment::Status, Experiment::ConstantRate].into_iter();
        both.flat_map(move |experiment| {
            Net::ALL.map(|net| Cell { world, experiment, net, load_percent })
        })
    };
    let idle =
        Cell { world, experiment: Experiment::ConstantRate, net: Net::CsmaCd, load_percent: 0 };
    loads.flat_map(of_load).chain([idle]).collect()
}

/// Sentence on the cross-overs of a world, with the band of single runs and the paper's value.
pub(super) fn crossings(context: &Context, world: World) -> Result<String, Unavailable> {
    let mut sentences = Vec::new();
    for figure in FIGURES {
        let found = crossing::of(context, world, figure, FIRST_LOAD)?;
        let (least, most) = crossing::of_single_runs(context, world, figure)?;
        let published = match figure.published {
            Some(share) => format!("; published {:.0}", share * 100.0),
            None => String::new(),
        };
        sentences.push(format!(
            "Figure {} {}, single runs {}{published}",
            figure.number,
            percent(found),
            range(least, most)
        ));
    }
    Ok(format!("{}.", sentences.join(". ")))
}

/// Sentences on the change of the cross-overs from world to world.
pub(super) fn moves(context: &Context) -> Result<String, Unavailable> {
    let mut sentences = Vec::new();
    for number in WATCHED {
        let figure: Figure = figure_of(number)?;
        let of = |world| crossing::of(context, world, figure, FROM).map(percent);
        let mut others = Vec::new();
        for (name, world) in worlds(context) {
            others.push(format!("with {name} {}", of(world)?));
        }
        let drawn = of(World::DRAWN)?;
        sentences.push(format!("Figure {number} {drawn} as drawn; {}.", others.join(", ")));
    }
    Ok(format!("What these cross-overs rest on: {}", sentences.join(" ")))
}

/// A share and its interval in percent.
fn percent(found: Value) -> String {
    format!("{} ({})", one(found.value), range(found.low, found.high))
}

fn range(low: f64, high: f64) -> String {
    format!("{} to {}", one(low), one(high))
}

fn one(share: f64) -> String {
    match share {
        f64::INFINITY => format!("over {MOST_LOAD}"),
        f64::NEG_INFINITY => "any".to_owned(),
        _ => format!("{:.1}", share * 100.0),
    }
}

//! How things look: colours for dark, light and no colours, and the signs bars are made of.
//!
//! Colours are of the terminal's own sixteen, on the terminal's own ground, so that whoever set them
//! can read them. No colour says what no word or sign says.

use clap::ValueEnum;
use ratatui::style::{Color, Modifier, Style};

/// Colours for which ground.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    /// What COLORFGBG says of the ground, dark without it; mono where NO_COLOR is set.
    Auto,
    /// Bright colours for a dark ground.
    Dark,
    /// Dark colours for a light ground.
    Light,
    /// No colours.
    Mono,
}

/// What bars are made of.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbols {
    /// Blocks where the locale is UTF-8, otherwise ascii.
    Auto,
    /// Blocks: a column a sample, eight levels a row.
    Blocks,
    /// Braille dots: two samples a column, four levels a row.
    Braille,
    /// Signs of ASCII: a column a sample, two levels a row.
    Ascii,
}

/// What the surroundings say, so that they can be given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Surroundings {
    /// NO_COLOR, where it is set and not empty.
    pub(crate) no_color: bool,
    /// COLORFGBG, which some terminals set to `foreground;ground`.
    pub(crate) colours: Option<String>,
    /// The first set of LC_ALL, LC_CTYPE and LANG.
    pub(crate) locale: Option<String>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            no_color: variable("NO_COLOR").is_some(),
            colours: variable("COLORFGBG"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable),
        }
    }
}

/// Styles of all there is on the screen, and the signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// The first line.
    pub(crate) header: Style,
    /// What is to be told.
    pub(crate) notices: Style,
    /// Bars of packets.
    pub(crate) packets: Style,
    /// Bars of bits.
    pub(crate) bits: Style,
    /// Figures.
    pub(crate) figures: Style,
    /// Names of figures.
    pub(crate) titles: Style,
    /// Keys.
    pub(crate) keys: Style,
    /// Signs of bars; never [`Symbols::Auto`].
    pub(crate) symbols: Symbols,
}

impl Look {
    /// What is asked for, where that is left to the surroundings as they say.
    pub(crate) fn new(theme: Theme, symbols: Symbols, around: &Surroundings) -> Self {
        let theme = match theme {
            _ if around.no_color => Theme::Mono,
            Theme::Auto if around.colours.as_deref().is_some_and(is_light) => Theme::Light,
            Theme::Auto => Theme::Dark,
            Theme::Dark | Theme::Light | Theme::Mono => theme,
        };
        let is_utf_8 = || {
            let locale = around.locale.as_deref().unwrap_or_default().to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        let symbols = match symbols {
            Symbols::Auto if is_utf_8() => Symbols::Blocks,
            Symbols::Auto => Symbols::Ascii,
            Symbols::Blocks | Symbols::Braille | Symbols::Ascii => symbols,
        };
        let plain = Style::new();
        let (packets, bits, notices, keys) = match theme {
            Theme::Dark => (Color::LightCyan, Color::LightYellow, Color::LightRed, Color::Gray),
            Theme::Light => (Color::Blue, Color::Magenta, Color::Red, Color::DarkGray),
            Theme::Auto | Theme::Mono => (Color::Reset, Color::Reset, Color::Reset, Color::Reset),
        };
        Self {
            header: plain.add_modifier(Modifier::REVERSED),
            notices: plain.fg(notices),
            packets: plain.fg(packets),
            bits: plain.fg(bits),
            figures: plain.add_modifier(Modifier::BOLD),
            titles: plain.add_modifier(Modifier::REVERSED),
            keys: plain.fg(keys),
            symbols,
        }
    }

    /// How many samples a column shows.
    pub(super) const fn samples_a_column(&self) -> usize {
        match self.symbols {
            Symbols::Braille => 2,
            Symbols::Auto | Symbols::Blocks | Symbols::Ascii => 1,
        }
    }
}

/// Whether `foreground;ground` means a light ground: white or bright white of the sixteen.
fn is_light(colours: &str) -> bool {
    matches!(colours.rsplit(';').next(), Some("7" | "15"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(theme: Theme, no_color: bool, colours: Option<&str>) -> Look {
        let colours = colours.map(str::to_owned);
        let around = Surroundings { no_color, colours, locale: None };
        Look::new(theme, Symbols::Blocks, &around)
    }

    #[test]
    fn no_color_is_obeyed_whatever_the_theme() {
        for theme in [Theme::Auto, Theme::Dark, Theme::Light, Theme::Mono] {
            let look = look(theme, true, Some("0;15"));
            for style in [look.header, look.notices, look.packets, look.bits, look.keys] {
                assert_eq!((style.fg.unwrap_or_default(), style.bg), (Color::Reset, None));
            }
        }
    }

    #[test]
    fn the_ground_is_taken_from_the_terminal_where_it_tells() {
        assert_eq!(look(Theme::Auto, false, None), look(Theme::Dark, false, None));
        assert_eq!(look(Theme::Auto, false, Some("0;15")), look(Theme::Light, false, None));
        assert_eq!(look(Theme::Auto, false, Some("15;0")), look(Theme::Dark, false, None));
        assert_eq!(look(Theme::Auto, false, Some("0;default;15")), look(Theme::Light, false, None));
    }

    #[test]
    fn blocks_are_drawn_where_the_locale_can_show_them() {
        let symbols = |locale: Option<&str>| {
            let locale = locale.map(str::to_owned);
            let around = Surroundings { no_color: false, colours: None, locale };
            Look::new(Theme::Auto, Symbols::Auto, &around).symbols
        };
        assert_eq!(symbols(Some("en_US.UTF-8")), Symbols::Blocks);
        assert_eq!(symbols(Some("C.utf8")), Symbols::Blocks);
        assert_eq!((symbols(Some("C")), symbols(None)), (Symbols::Ascii, Symbols::Ascii));
    }
}

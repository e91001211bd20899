//! Theme: colours for dark and light backgrounds or none, and the symbols of bars.
//!
//! Colours are the terminal's own sixteen on its own background, which its user has chosen to be
//! readable. Colour is never the only carrier of information.

use clap::ValueEnum;
use ratatui::style::{Color, Modifier, Style};
use records::findings::Grade;

/// Colours by background.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    /// For the background in COLORFGBG, or for either if it is not set; mono if NO_COLOR is set.
    Auto,
    /// Bright colours for a dark background.
    Dark,
    /// Dark colours for a light background.
    Light,
    /// No colours.
    Mono,
}

/// Symbols of bars.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbols {
    /// Blocks where the locale is UTF-8, otherwise ascii.
    Auto,
    /// Blocks: a column a sample, eight levels a row.
    Blocks,
    /// Braille dots: two samples a column, four levels a row.
    Braille,
    /// ASCII characters: a column a sample, two levels a row.
    Ascii,
}

/// Environment of the process, as a value for tests.
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
    /// Returns the environment of this process.
    pub(crate) fn of_process() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            no_color: variable("NO_COLOR").is_some(),
            colours: variable("COLORFGBG"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable),
        }
    }
}

/// Styles of all parts of the screen, and the symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// The first line.
    pub(crate) header: Style,
    /// Notices.
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
    /// Symbols of bars; never [`Symbols::Auto`].
    pub(crate) symbols: Symbols,
}

impl Look {
    /// Resolves the requested theme and symbols; `Auto` follows the environment.
    pub(crate) fn new(theme: Theme, symbols: Symbols, around: &Surroundings) -> Self {
        let theme = match theme {
            _ if around.no_color => Theme::Mono,
            Theme::Auto => around.colours.as_deref().map_or(Theme::Auto, for_ground),
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
            // Those of the sixteen colours that are legible on black and on white: most terminals
            // do not report their background.
            Theme::Auto => (Color::Reset, Color::Magenta, Color::Red, Color::Reset),
            Theme::Dark => (Color::LightCyan, Color::LightYellow, Color::LightRed, Color::Gray),
            Theme::Light => (Color::Blue, Color::Magenta, Color::Red, Color::DarkGray),
            Theme::Mono => (Color::Reset, Color::Reset, Color::Reset, Color::Reset),
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

    /// Returns the style of a row with this grade.
    pub(super) const fn of_grade(&self, grade: Option<Grade>) -> Style {
        match grade {
            Some(Grade::Bad) => self.notices,
            Some(Grade::Look | Grade::Note) | None => Style::new(),
        }
    }

    /// Returns the number of samples in a column.
    pub(super) const fn samples_a_column(&self) -> usize {
        match self.symbols {
            Symbols::Braille => 2,
            Symbols::Auto | Symbols::Blocks | Symbols::Ascii => 1,
        }
    }
}

/// Returns the theme for the background in `foreground;ground`. White and bright white of the
/// sixteen are light; a value that is not a number may be either.
fn for_ground(colours: &str) -> Theme {
    match colours.rsplit(';').next().map(str::parse::<u8>) {
        Some(Ok(7 | 15)) => Theme::Light,
        Some(Ok(_)) => Theme::Dark,
        Some(Err(_)) | None => Theme::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(theme: Theme, no_color: bool, colours: Option<&str>) -> Look {
        let colours = colours.map(str::to_owned);
        let around = Surroundings { no_color, colours, ..Surroundings::default() };
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
        assert_eq!(look(Theme::Auto, false, Some("0;15")), look(Theme::Light, false, None));
        assert_eq!(look(Theme::Auto, false, Some("15;0")), look(Theme::Dark, false, None));
        assert_eq!(look(Theme::Auto, false, Some("0;default;15")), look(Theme::Light, false, None));
        let untold = look(Theme::Auto, false, None);
        assert_eq!(look(Theme::Auto, false, Some("default;default")), untold);
    }

    /// The sixteen colours of xterm, black to bright white.
    const XTERM: [[u8; 3]; 16] = [
        [0, 0, 0],
        [205, 0, 0],
        [0, 205, 0],
        [205, 205, 0],
        [0, 0, 238],
        [205, 0, 205],
        [0, 205, 205],
        [229, 229, 229],
        [127, 127, 127],
        [255, 0, 0],
        [0, 255, 0],
        [255, 255, 0],
        [92, 92, 255],
        [255, 0, 255],
        [0, 255, 255],
        [255, 255, 255],
    ];

    /// Returns the relative luminance (WCAG 2.1).
    fn luminance(colour: [u8; 3]) -> f64 {
        let linear = colour.map(|part| match f64::from(part) / 255.0 {
            part if part <= 0.03928 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// Returns the contrast of a colour with a background (WCAG 2.1); a terminal's foreground is
    /// assumed legible on its background.
    fn contrast(colour: Color, ground: [u8; 3]) -> f64 {
        const NAMES: [Color; 16] = [
            Color::Black,
            Color::Red,
            Color::Green,
            Color::Yellow,
            Color::Blue,
            Color::Magenta,
            Color::Cyan,
            Color::Gray,
            Color::DarkGray,
            Color::LightRed,
            Color::LightGreen,
            Color::LightYellow,
            Color::LightBlue,
            Color::LightMagenta,
            Color::LightCyan,
            Color::White,
        ];
        let Some(number) = NAMES.iter().position(|name| *name == colour) else { return 21.0 };
        let [one, other] = [XTERM[number], ground].map(|colour| luminance(colour) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn everything_shows_on_the_ground_it_is_for() {
        let (black, white) = ([0; 3], [255; 3]);
        let cases = [
            (look(Theme::Auto, false, None), &[black, white][..]),
            (look(Theme::Dark, false, None), &[black]),
            (look(Theme::Light, false, None), &[white]),
            (look(Theme::Mono, false, None), &[black, white]),
        ];
        for (look, grounds) in cases {
            for style in [look.header, look.notices, look.packets, look.bits, look.keys] {
                for ground in grounds {
                    let colour = style.fg.unwrap_or_default();
                    // WCAG 2.1 requires 3 for large text and for graphics.
                    assert!(contrast(colour, *ground) >= 3.0, "{colour} on {ground:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_are_drawn_where_the_locale_can_show_them() {
        let symbols = |locale: Option<&str>| {
            let locale = locale.map(str::to_owned);
            let around = Surroundings { locale, ..Surroundings::default() };
            Look::new(Theme::Auto, Symbols::Auto, &around).symbols
        };
        assert_eq!(symbols(Some("en_US.UTF-8")), Symbols::Blocks);
        assert_eq!(symbols(Some("C.utf8")), Symbols::Blocks);
        assert_eq!((symbols(Some("C")), symbols(None)), (Symbols::Ascii, Symbols::Ascii));
    }
}

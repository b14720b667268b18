//! Rows of results: what was asked, what was measured, and whether that is enough.

use serde::Serialize;

/// What was asked of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// At least this much.
    AtLeast(f64),
    /// At most this much.
    AtMost(f64),
    /// Nothing: the row is for information.
    Nothing,
}

/// One measured number.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The section: also what `--only` takes.
    pub section: &'static str,
    /// What was measured.
    pub what: String,
    /// What was asked of it.
    pub asked: Asked,
    /// The number: the median.
    pub value: f64,
    /// The best round, where there is one.
    pub best: Option<f64>,
    /// The unit of both.
    pub unit: &'static str,
    /// What else is to be known.
    pub note: String,
    /// Whether what was asked is met; `None` if nothing was, or nothing could be measured.
    pub met: Option<bool>,
    /// A speed that belongs into the picture.
    pub speed: Option<Speed>,
}

/// How fast a contender is on a text.
#[derive(Clone, Debug, Serialize)]
pub struct Speed {
    /// Who.
    pub contender: String,
    /// On which text.
    pub text: &'static str,
    /// MB/s, the median.
    pub mb_per_s: f64,
}

impl Row {
    /// A row with nothing asked.
    pub fn new(section: &'static str, what: impl Into<String>, value: f64, unit: &'static str) -> Row {
        Row {
            section,
            what: what.into(),
            asked: Asked::Nothing,
            value,
            best: None,
            unit,
            note: String::new(),
            met: None,
            speed: None,
        }
    }

    /// Something is asked of the median.
    pub fn asked(mut self, asked: Asked) -> Row {
        self.met = match asked {
            _ if !self.value.is_finite() => None,
            Asked::AtLeast(n) => Some(self.value >= n),
            Asked::AtMost(n) => Some(self.value <= n),
            Asked::Nothing => None,
        };
        self.asked = asked;
        self
    }

    /// With the best round.
    pub fn best(mut self, best: f64) -> Row {
        self.best = Some(best);
        self
    }

    /// With a remark.
    pub fn note(mut self, note: impl Into<String>) -> Row {
        self.note = note.into();
        self
    }

    /// With a speed for the picture.
    pub fn speed(mut self, contender: impl Into<String>, text: &'static str, mb_per_s: f64) -> Row {
        self.speed = Some(Speed { contender: contender.into(), text, mb_per_s });
        self
    }

    /// What was asked, in words.
    pub fn asked_text(&self) -> String {
        match self.asked {
            Asked::AtLeast(n) => format!(">= {}", self.number(n)),
            Asked::AtMost(n) => format!("<= {}", self.number(n)),
            Asked::Nothing => String::new(),
        }
    }

    /// What was measured, in words.
    pub fn measured_text(&self) -> String {
        match self.best {
            Some(_) => format!("{} (best {})", self.median_text(), self.best_text()),
            None => self.median_text(),
        }
    }

    /// The median, in words.
    pub fn median_text(&self) -> String {
        if self.value.is_finite() { self.number(self.value) } else { "not measured".into() }
    }

    /// The best round, in words; empty if there is none.
    pub fn best_text(&self) -> String {
        self.best.map_or(String::new(), |best| self.number(best))
    }

    /// The verdict in one word.
    pub fn verdict(&self) -> &'static str {
        match (self.met, self.asked) {
            (Some(true), _) => "met",
            (Some(false), _) => "MISSED",
            (None, Asked::Nothing) => "",
            (None, _) => "NOT SHOWN",
        }
    }

    fn number(&self, n: f64) -> String {
        let digits = match n.abs() {
            n if n >= 100.0 || n.fract() == 0.0 => 0,
            n if n >= 10.0 => 1,
            n if n >= 0.1 => 2,
            _ => 4,
        };
        let space = if self.unit == "×" || self.unit.is_empty() { "" } else { " " };
        format!("{n:.digits$}{space}{}", self.unit)
    }
}

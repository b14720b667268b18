//! What came of a run: a table, the ratios that are asked, and a picture.

use std::fmt::Write as _;

use super::Contender;

/// The profile with all built-in packs.
pub const ALL_PACKS: &str = "tool-output";

/// One profile's contenders, measured.
pub struct Measured<'a> {
    /// The profile.
    pub profile: &'a str,
    /// In the order of the table.
    pub contenders: &'a [Contender],
}

/// What is asked, and what came of it.
struct Asked {
    what: String,
    asked: String,
    measured: String,
    holds: bool,
}

fn us(ns: u64) -> String {
    let us = ns as f64 / 1000.0;
    if us < 10.0 { format!("{us:.2}") } else { format!("{us:.1}") }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Measured<'_> {
    fn of(&self, name: &str) -> Option<&Contender> {
        self.contenders.iter().find(|c| c.name == name)
    }

    /// The median over rounds of what `f` makes of two medians of one round.
    fn by_round(&self, a: &str, b: &str, f: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let (a, b) = (self.of(a)?, self.of(b)?);
        Some(median(a.medians.iter().zip(&b.medians).map(|(a, b)| f(*a as f64, *b as f64)).collect()))
    }

    fn speed_ratio(&self, a: &str, b: &str) -> Option<f64> {
        let (a, b) = (self.of(a)?, self.of(b)?);
        Some(median(a.speeds.iter().zip(&b.speeds).map(|(a, b)| a / b).collect()))
    }

    fn asked(&self) -> Vec<Asked> {
        let mut rows = Vec::new();
        let mut ask = |what: &str, asked: &str, measured: String, holds: bool| {
            rows.push(Asked { what: what.to_owned(), asked: asked.to_owned(), measured, holds });
        };
        if let Some(times) = self.by_round("socket, busy", "ring, busy", |s, r| s / r) {
            ask("64-byte round trip, busy: faster than the socket", "≥ 20×", format!("{times:.1}×"), times >= 20.0);
        }
        if let Some(above) = self.by_round("ring, busy", "engine alone", |r, e| (r - e) / 1000.0) {
            let told = format!("{above:.2} µs");
            ask("64-byte round trip, busy: above the engine's own time", "≤ 2 µs", told, above <= 2.0);
        }
        if let Some(times) = self.by_round("ring, parked", "socket, parked", |r, s| r / s) {
            ask("64-byte round trip, parked: against the socket", "≤ 1.1×", format!("{times:.2}×"), times <= 1.1);
        }
        if let (Some(socket), Some(engine)) =
            (self.speed_ratio("ring, busy", "socket, busy"), self.speed_ratio("ring, busy", "engine alone"))
        {
            let told = format!("{socket:.2}×, {engine:.2}× the engine");
            ask(
                "4 KiB one way: faster than the socket, or as fast as the engine",
                "≥ 3×, or ≥ 1×",
                told,
                socket >= 3.0 || engine >= 1.0,
            );
        }
        rows
    }

    /// The tables, in Markdown.
    pub fn markdown(&self) -> String {
        // Writing to a String does not fail.
        let mut out = String::new();
        let what = if self.profile == ALL_PACKS { "all built-in packs" } else { "one rule that nothing looks like" };
        let _ = writeln!(out, "**Profile `{}`** ({what}), microseconds:\n", self.profile);
        let _ = writeln!(
            out,
            "| way | p50, median of the rounds (best) | p99 | p99.9 | 4 KiB one way, MB/s (best) |\n|---|---|---|---|---|"
        );
        for c in self.contenders {
            let speed = if c.speeds.is_empty() {
                "–".to_owned()
            } else {
                let best = c.speeds.iter().copied().fold(0.0, f64::max);
                format!("{:.0} ({:.0})", median(c.speeds.clone()) / 1e6, best / 1e6)
            };
            let [p99, p999] = [0.99, 0.999].map(|q| us(c.trips.value_at_quantile(q)));
            // By round, not over all trips: a round that a neighbour spoilt counts once.
            let mut medians = c.medians.clone();
            medians.sort_unstable();
            let round = us(medians.get(medians.len() / 2).copied().unwrap_or(0));
            let best = us(medians.first().copied().unwrap_or(0));
            let _ = writeln!(out, "| {} | {round} ({best}) | {p99} | {p999} | {speed} |", c.name);
        }
        let _ = writeln!(out, "\n| asked | | measured | |\n|---|---|---|---|");
        for a in self.asked() {
            let holds = if a.holds { "holds" } else { "**missed**" };
            let _ = writeln!(out, "| {} | {} | {} | {holds} |", a.what, a.asked, a.measured);
        }
        out
    }
}

const LEFT: f64 = 170.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 54.0;
/// Exponents of ten of the scale's ends, in nanoseconds.
const LOW: f64 = 2.0;
const HIGH: f64 = 8.0;

const STYLE: &str = "<style>text{font:13px sans-serif;fill:#222}.s{font-size:11px;fill:#666}.ground{fill:#fff}\
.bar{fill:#3b6ea5}.mark{stroke:#c33;stroke-width:1.5}.line{stroke:#ddd}\
@media(prefers-color-scheme:dark){text{fill:#eee}.s{fill:#aaa}.ground{fill:#161616}.bar{fill:#7fb2e5}.line{stroke:#333}}</style>\n";

/// A histogram of round trips for each way, on one logarithmic scale; red marks at p50, p99 and p99.9.
pub fn svg(measured: &Measured<'_>) -> String {
    let height = 70.0 + ROW * measured.contenders.len() as f64 + 30.0;
    let x = |ns: f64| LEFT + (ns.max(1.0).log10().clamp(LOW, HIGH) - LOW) / (HIGH - LOW) * (WIDTH - LEFT - 20.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"t\">\n<title id=\"t\">Times of 64-byte round trips by way</title>\n{STYLE}\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text x=\"16\" y=\"26\">64-byte round trips through the filter, profile {}</text>\n\
         <text class=\"s\" x=\"16\" y=\"44\">height: square root of the count; marks: p50, p99, p99.9</text>\n",
        measured.profile
    );
    for (exponent, label) in (2..=8).zip(["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]) {
        let at = x(10f64.powi(exponent));
        let _ =
            writeln!(out, "<line class=\"line\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"56\" y2=\"{:.1}\"/>", height - 30.0);
        let _ = writeln!(
            out,
            "<text class=\"s\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            height - 12.0
        );
    }
    for (i, c) in measured.contenders.iter().enumerate() {
        let base = 60.0 + ROW * (i as f64 + 1.0) - 8.0;
        let mut buckets = [0u64; 180];
        for v in c.trips.iter_recorded() {
            let at = ((v.value_iterated_to() as f64).log10().clamp(LOW, HIGH) - LOW) / (HIGH - LOW);
            buckets[((at * 180.0) as usize).min(179)] += v.count_at_value();
        }
        let most = buckets.iter().copied().max().unwrap_or(1).max(1) as f64;
        let step = (WIDTH - LEFT - 20.0) / 180.0;
        for (b, n) in buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let tall = (*n as f64 / most).sqrt() * (ROW - 14.0);
            let left = LEFT + b as f64 * step;
            let _ = writeln!(
                out,
                "<rect class=\"bar\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{step:.1}\" height=\"{tall:.1}\"/>",
                base - tall
            );
        }
        for q in [0.5, 0.99, 0.999] {
            let at = x(c.trips.value_at_quantile(q) as f64);
            let _ = writeln!(
                out,
                "<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{base:.1}\"/>",
                base - 12.0
            );
        }
        let _ = writeln!(out, "<text x=\"16\" y=\"{:.1}\">{}</text>", base - 4.0, c.name);
    }
    out + "</svg>\n"
}

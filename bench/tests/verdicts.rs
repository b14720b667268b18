//! A number that was not measured meets nothing, and a miss is told as one.

use std::time::Duration;

use forebay_bench::report::between_marks;
use forebay_bench::rounds::{Case, Sample, interleave};
use forebay_bench::rows::{Asked, Row};

#[test]
fn verdicts() {
    let row = |value: f64, asked| Row::new("x", "a thing", value, "MB/s").asked(asked).verdict();
    assert_eq!(row(150.0, Asked::AtLeast(150.0)), "met");
    assert_eq!(row(149.9, Asked::AtLeast(150.0)), "MISSED");
    assert_eq!(row(0.6, Asked::AtMost(0.6)), "met");
    assert_eq!(row(0.61, Asked::AtMost(0.6)), "MISSED");
    assert_eq!(row(f64::NAN, Asked::AtLeast(1.0)), "NOT SHOWN");
    assert_eq!(row(f64::INFINITY, Asked::AtLeast(1.0)), "NOT SHOWN");
    assert_eq!(row(1.0, Asked::Nothing), "");
}

/// A neighbour slows both contenders of a round down: the ratio of the two stays what it is.
#[test]
fn ratios_are_taken_round_by_round() {
    let slow =
        |ns: u64| move |round: usize| Sample::whole(1000, Duration::from_nanos(ns * (round as u64).pow(3).max(1)));
    let mut cases = [Case::new("fast", slow(1000)), Case::new("slow", slow(4000))];
    let s = interleave(&mut cases, 5);
    assert_eq!(s[0].times(&s[1]), 4.0);
    assert_eq!(s[0].best(), 1000.0);
    assert_eq!(s[1].median(), 250.0 / 27.0);
}

#[test]
fn the_table_takes_its_place() {
    let text = "a\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nz\n";
    let new = between_marks(text, "new\n");
    assert_eq!(new.as_deref(), Some("a\n<!-- measured: begin -->\n\nnew\n\n<!-- measured: end -->\nz\n"));
    assert_eq!(between_marks(new.as_deref().unwrap_or_default(), "new"), new);
    assert_eq!(between_marks("no marks", "new"), None);
}

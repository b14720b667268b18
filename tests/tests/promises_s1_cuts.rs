//! S1: however the input is cut, the bytes, the findings and the report are those of one push.

use forebay_tests::builtin::{profile, texts};
use forebay_tests::cuts::{Outcome, Seed, run};

/// Random partitions of each text.
const PARTITIONS: u64 = 1000;

fn holds(name: &str) {
    let set = profile(name);
    for t in texts() {
        let (text, n) = (&t.bytes[..], t.bytes.len());
        let whole = run(&set, text, &[]);
        let same = |got: Outcome, how: &dyn Fn() -> String| assert!(got == whole, "{name}, {}: {}", t.name, how());
        same(run(&set, text, &(1..n).collect::<Vec<_>>()), &|| "byte by byte".into());
        (1..n).for_each(|cut| same(run(&set, text, &[cut]), &|| format!("cut at {cut}")));
        for i in 0..PARTITIONS {
            let cuts = Seed(i).cuts(n, [2, 5, 16, 40, 200, 600][i as usize % 6]);
            same(run(&set, text, &cuts), &|| format!("partition {i}, cuts {cuts:?}"));
        }
    }
}

#[test]
fn tool_output_does_not_depend_on_the_cut() {
    holds("tool-output");
}

#[test]
fn model_output_does_not_depend_on_the_cut() {
    holds("model-output");
}

#[test]
fn tool_input_does_not_depend_on_the_cut() {
    holds("tool-input");
}

#[test]
fn prompt_does_not_depend_on_the_cut() {
    holds("prompt");
}

//! S5: what is not replaced comes out unchanged and in order, invalid UTF-8 included.

use forebay_scan::Action;
use forebay_tests::builtin::{all, profile, regions, texts};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::model::{acting, check, pieces};

#[test]
fn the_output_is_the_input_but_for_its_spans() {
    for name in ["tool-output", "model-output", "prompt"] {
        let set = profile(name);
        let regions = regions(&set);
        for t in texts() {
            let got = run(&set, &t.bytes, &Seed(1).cuts(t.bytes.len(), 20));
            if got.blocked {
                continue;
            }
            let want = pieces(&set, &regions, &t.bytes, acting(&got.out.findings));
            check(&got.out.bytes, &want).unwrap_or_else(|e| panic!("{name}, {}: {e}", t.name));
        }
    }
}

#[test]
fn a_profile_that_only_reports_changes_nothing() {
    let set = all(Action::Flag);
    let mut seed = Seed(11);
    let noise: Vec<u8> = (0..100_000).map(|_| seed.below(256) as u8).collect();
    assert_eq!(run(&set, &noise, &seed.cuts(noise.len(), 300)).out.bytes, noise);
    for t in texts() {
        let got = run(&set, &t.bytes, &seed.cuts(t.bytes.len(), 9));
        assert_eq!(got.out.bytes, t.bytes, "{}", t.name);
    }
}

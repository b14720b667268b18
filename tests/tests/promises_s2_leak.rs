//! S2: no byte of a span that is replaced in the end is ever released, in any partition.
//!
//! What was released cannot be taken back, so it is enough that at every moment the released bytes are the beginning of
//! an output in which every span is replaced. That output is said from the findings by a model that knows no pushes.

use std::sync::Arc;

use forebay_scan::{Action, Collected, Scratch, StreamFilter, TokenKey};
use forebay_tests::builtin::{all, regions, texts};
use forebay_tests::cuts::{Seed, run};
use forebay_tests::model::{acting, check, pieces};

#[test]
fn nothing_of_a_replaced_span_is_ever_out() {
    for action in [Action::Replace, Action::Mask] {
        let set = all(action);
        let regions = regions(&set);
        for t in texts() {
            let whole = run(&set, &t.bytes, &[]);
            let want = pieces(&set, &regions, &t.bytes, acting(&whole.out.findings));
            check(&whole.out.bytes, &want).unwrap_or_else(|e| panic!("{}: {e}", t.name));
            for i in 0..40 {
                let mut filter = StreamFilter::new(Arc::clone(&set), TokenKey::new([1; 32]));
                let (mut scratch, mut out) = (Scratch::default(), Collected::default());
                let mut from = 0;
                for to in Seed(i).cuts(t.bytes.len(), 1 + i as usize).into_iter().chain([t.bytes.len()]) {
                    filter.push(&t.bytes[from..to], &mut scratch, &mut out).unwrap();
                    assert!(whole.out.bytes.starts_with(&out.bytes), "{} partition {i}: after {to} bytes", t.name);
                    assert!(filter.held() <= to);
                    from = to;
                }
            }
        }
    }
}

#[test]
fn after_a_block_nothing_comes() {
    let set = all(Action::Block);
    for t in texts() {
        let whole = run(&set, &t.bytes, &[]);
        let Some(at) = whole.report.blocked_at else { continue };
        assert_eq!(whole.out.bytes, t.bytes[..at as usize], "{}", t.name);
        assert!(whole.blocked && whole.out.findings.iter().filter(|f| f.action == Action::Block).count() == 1);
    }
}

//! One text that is all there, through the engine in one push.

use std::sync::Arc;

use forebay_scan::{Finding, Report, RuleSet, Scratch, Sink, StreamFilter, TokenKey};

/// What is found in `text`, and whether it is whole.
pub(crate) fn look(rules: &Arc<RuleSet>, scratch: &mut Scratch, text: &[u8]) -> (Vec<Finding>, Report) {
    let mut found = Findings::default();
    // Nothing that is spliced in is kept, so any key will do.
    let mut filter = StreamFilter::new(rules.clone(), TokenKey::new([0; 32]));
    let _ = filter.push(text, scratch, &mut found); // A blocked stream says so in its report.
    let report = filter.finish(scratch, &mut found);
    (found.0, report)
}

/// Takes findings only: what would be released is of no interest.
#[derive(Default)]
pub(crate) struct Findings(pub(crate) Vec<Finding>);

impl Sink for Findings {
    fn release(&mut self, _: &[u8]) {}

    fn finding(&mut self, finding: &Finding) {
        self.0.push(finding.clone());
    }
}

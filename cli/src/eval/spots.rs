//! Where findings lie, for asking about many spans.
//!
//! A hostile line has a million of each, so neither side is walked for every one of the other: findings are put
//! together into stretches once, and each question is a binary search.

use super::line::Span;

/// The places of some findings.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    /// Findings that overlap or touch, as one; sorted.
    stretches: Vec<Span>,
    /// Findings without a byte, which say "at this place"; sorted.
    places: Vec<u64>,
}

impl Spots {
    pub(crate) fn of(findings: impl IntoIterator<Item = Span>) -> Spots {
        let (mut places, mut spans) = (Vec::new(), Vec::new());
        for f in findings {
            if f.start < f.end { spans.push(f) } else { places.push(f.start) }
        }
        places.sort_unstable();
        spans.sort_unstable_by_key(|s| s.start);
        let mut stretches: Vec<Span> = Vec::new();
        for s in spans {
            match stretches.last_mut() {
                Some(last) if s.start <= last.end => last.end = last.end.max(s.end),
                _ => stretches.push(s),
            }
        }
        Spots { stretches, places }
    }

    /// Some finding has a byte of the span, or says "at this place" inside it.
    pub(crate) fn overlap(&self, span: &Span) -> bool {
        let place = self.places.partition_point(|p| *p < span.start);
        self.stretch(span.start).is_some_and(|s| s.start < span.end)
            || self.places.get(place).is_some_and(|p| *p < span.end)
    }

    /// Every byte of the span lies in some finding.
    pub(crate) fn cover(&self, span: &Span) -> bool {
        self.stretch(span.start).is_some_and(|s| s.start <= span.start && s.end >= span.end)
    }

    /// The first stretch that ends behind `at`.
    fn stretch(&self, at: u64) -> Option<&Span> {
        self.stretches.get(self.stretches.partition_point(|s| s.end <= at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_are_those_of_looking_at_every_finding() {
        let all = || (0..6u64).flat_map(|a| (a..6).map(move |b| a..b));
        for (one, two) in all().flat_map(|a| all().map(move |b| (a.clone(), b))) {
            let findings = [one, two];
            let spots = Spots::of(findings.clone());
            for span in all().filter(|s| !s.is_empty()) {
                let has = |f: &Span, at: u64| f.contains(&at) || f.is_empty() && f.start == at;
                let touched = span.clone().any(|at| findings.iter().any(|f| has(f, at)));
                let covered = span.clone().all(|at| findings.iter().any(|f| f.contains(&at)));
                assert_eq!((spots.overlap(&span), spots.cover(&span)), (touched, covered), "{findings:?} {span:?}");
            }
        }
    }
}

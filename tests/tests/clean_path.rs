//! Nothing allocates on the clean path: once a stream is under way, pushes of text without findings take no memory.

use std::sync::Arc;

use forebay_scan::{Finding, RuleSet, Scratch, Sink, StreamFilter, TokenKey};

#[derive(Default)]
struct Counts {
    released: usize,
    findings: usize,
}

impl Sink for Counts {
    fn release(&mut self, bytes: &[u8]) {
        self.released += bytes.len();
    }

    fn finding(&mut self, _: &Finding) {
        self.findings += 1;
    }
}

/// Words that no rule cares for, in lines.
fn clean(bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 8] = ["water", "stone", "bridge", "slow", "green", "river", "under", "moss"];
    let mut out = Vec::new();
    for i in 0.. {
        if out.len() >= bytes {
            break;
        }
        out.extend_from_slice(WORDS[(i * 5 % 8) ^ (i / 8 % 8)].as_bytes());
        out.push(if i % 9 == 8 { b'\n' } else { b' ' });
    }
    out
}

#[test]
fn clean_text_takes_no_memory() {
    let rules = RuleSet::builtin("tool-output").unwrap().unwrap();
    rules.warm();
    let text = clean(512 << 10);
    for size in [4, 64, 1000, 4096, 16 << 10, 50_000] {
        let mut filter = StreamFilter::new(Arc::clone(&rules), TokenKey::new([1; 32]));
        let (mut scratch, mut sink) = (Scratch::default(), Counts::default());
        let mut push = |text: &[u8]| text.chunks(size).for_each(|p| filter.push(p, &mut scratch, &mut sink).unwrap());
        // The buffers grow to what they need.
        push(&text);
        let asked = allocation_counter::measure(|| push(&text));
        assert_eq!(sink.findings, 0, "the text is not clean");
        // A buffer may still grow; nothing is taken push by push.
        assert!(asked.count_total <= 2, "in pushes of {size}: {asked:?}");
        assert!(sink.released > 2 * text.len() - 8192);
    }
}

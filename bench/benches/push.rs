//! Pushes of every size over every text, by criterion: `cargo bench -p forebay-bench`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use forebay_bench as corpus;
use forebay_scan::{Finding, RuleSet, Scratch, Sink, StreamFilter, TokenKey};

struct Drop;

impl Sink for Drop {
    fn release(&mut self, bytes: &[u8]) {
        black_box(bytes);
    }

    fn finding(&mut self, finding: &Finding) {
        black_box(finding);
    }
}

fn push(c: &mut Criterion) {
    let Some(Ok(rules)) = RuleSet::builtin("tool-output") else { return };
    let mut group = c.benchmark_group("push");
    group.sample_size(10);
    let texts = [
        ("source", corpus::source(1 << 20)),
        ("prose", corpus::prose(1 << 20)),
        ("chinese", corpus::chinese(1 << 20)),
        ("json", corpus::json_line(1 << 20)),
        ("logs", corpus::logs(1 << 20)),
        ("base64", corpus::base64(1 << 20)),
    ];
    for (name, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        for size in [4, 40, 64, 1024, 16 << 10] {
            group.bench_with_input(BenchmarkId::new(*name, size), &size, |b, size| {
                let mut scratch = Scratch::default();
                b.iter(|| {
                    let mut f = StreamFilter::new(Arc::clone(&rules), TokenKey::new([0; 32]));
                    for piece in text.chunks(*size) {
                        let _ = f.push(piece, &mut scratch, &mut Drop);
                    }
                    f.finish(&mut scratch, &mut Drop)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, push);
criterion_main!(benches);

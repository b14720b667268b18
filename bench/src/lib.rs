//! Texts that the benchmarks run on: generated, reproducible, of the kinds that agents stream.
//!
//! Nothing here is measured; see `src/bin/latency.rs` (budgets, with ratios in one run) and `benches/` (criterion).
//! The generator is a fixed sequence, so every machine measures the same bytes.

/// splitmix64: small, fixed, good enough to choose words with.
#[derive(Clone, Debug)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The next number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// This project's own sources, repeated to `bytes`.
pub fn source(bytes: usize) -> Vec<u8> {
    const FILES: &[&str] = &[
        include_str!("../../scan/src/filter.rs"),
        include_str!("../../scan/src/ruleset.rs"),
        include_str!("../../scan/src/plan.rs"),
        include_str!("../../scan/src/dfa.rs"),
        include_str!("../../scan/src/splice.rs"),
        include_str!("../../scan/src/pack.rs"),
    ];
    repeat(FILES.concat().as_bytes(), bytes)
}

/// Chinese technical prose, no white space.
pub fn chinese(bytes: usize) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "系统", "数据", "流", "过滤", "规则", "需要", "保证", "每个", "字节", "在", "之前", "检查", "如果", "没有",
        "可以", "返回", "结果", "，", "。", "用户", "请求", "服务", "内存", "的", "和", "与", "是", "配置", "文件",
        "更新",
    ];
    words(WORDS, "", bytes)
}

/// English prose.
pub fn prose(bytes: usize) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "the",
        "stream",
        "of",
        "water",
        "runs",
        "past",
        "a",
        "screen",
        "that",
        "keeps",
        "what",
        "should",
        "not",
        "pass",
        "and",
        "every",
        "morning",
        "someone",
        "walks",
        "along",
        "it",
        "to",
        "see",
        "whether",
        "The",
        "It",
        "branches,",
        "leaves.",
        "were",
        "there",
        "after",
        "storm;",
        "then",
        "gates",
        "open",
    ];
    words(WORDS, " ", bytes)
}

/// One line of JSON: an array of records.
pub fn json_line(bytes: usize) -> Vec<u8> {
    let mut s = Sequence(3);
    let mut out = b"[".to_vec();
    while out.len() < bytes {
        let (id, level, ms) = (s.below(1 << 30), s.pick(&["info", "warn", "debug"]), s.below(900));
        out.extend_from_slice(
            format!("{{\"id\":{id},\"level\":\"{level}\",\"msg\":\"fetched page\",\"ms\":{ms},\"ok\":true}},")
                .as_bytes(),
        );
    }
    out.truncate(bytes);
    out
}

/// Log lines with times, hashes and addresses of functions.
pub fn logs(bytes: usize) -> Vec<u8> {
    let mut s = Sequence(5);
    let mut out = Vec::new();
    while out.len() < bytes {
        let (h, m, id, hash) = (s.below(24), s.below(60), s.below(1 << 20), s.below(1 << 40));
        out.extend_from_slice(
            format!(
                "2026-03-02T{h:02}:{m:02}:07Z INFO worker-{} job={id} sha={hash:012x} done in {} ms\n",
                m % 8,
                h * m
            )
            .as_bytes(),
        );
    }
    out.truncate(bytes);
    out
}

/// Base64 in lines of 76.
pub fn base64(bytes: usize) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut s = Sequence(7);
    (0..bytes).map(|i| if i % 77 == 76 { b'\n' } else { LETTERS[s.below(64)] }).collect()
}

fn words(words: &[&str], between: &str, bytes: usize) -> Vec<u8> {
    let mut s = Sequence(1);
    let mut out = Vec::with_capacity(bytes + 16);
    while out.len() < bytes {
        out.extend_from_slice(s.pick(words).as_bytes());
        out.extend_from_slice(between.as_bytes());
    }
    out.truncate(bytes);
    out
}

fn repeat(text: &[u8], bytes: usize) -> Vec<u8> {
    text.iter().copied().cycle().take(bytes).collect()
}

//! The texts are the same bytes on every machine: results and instruction counts are compared across them.

use forebay_bench::corpus::{self, grammar::Grammar};

const BYTES: usize = 64 << 10;

/// BLAKE3 of the first 64 KiB of each text. Another one here makes every number measured before another number too.
const HASHES: [(&str, &str); 6] = [
    ("source", "977bfd6787a4189bfcb9d714afa92df4b20a4d412e888b7769106e0359d32100"),
    ("json-logs", "f71d2ee66619eee3f42d0e4de524ea5e0648b44fe8a906b77b789bb1dee8e087"),
    ("prose", "0a887ebc381d734e0f1fe08e284b5aaa275770891a10af6d8d4e7be2b8353ec8"),
    ("chinese", "1ff5c374f5ffea148a2761945434c0120f9319fd2b194172c22ddd14ac99a37e"),
    ("base64", "e3fe20b89aa896877ed8e7eb21ebaddeb3399a03d404ab5bdb580ec789f33a77"),
    ("chat", "c4279e80138787146e2562556e080358ecb6657a84f6d3132a5d8e468ed34509"),
];

#[test]
fn same_bytes_everywhere() {
    let now: Vec<(&str, String)> = corpus::all(BYTES).unwrap().iter().map(|t| (t.name, t.hash())).collect();
    assert_eq!(now, HASHES.map(|(name, hash)| (name, hash.to_owned())));
}

#[test]
fn whole_characters_and_long_enough() {
    for bytes in [1000, 1001, 1002, 1003, BYTES] {
        for text in corpus::all(bytes).unwrap() {
            assert!(std::str::from_utf8(&text.bytes).is_ok(), "{}", text.name);
            assert!((bytes - 3..=bytes).contains(&text.bytes.len()), "{}: {}", text.name, text.bytes.len());
        }
    }
}

#[test]
fn mistakes_in_a_grammar_are_named() {
    for (grammar, names) in [
        ("[a]\n${b}", "no rule [b]"),
        ("[a]\n${9..3}", "empty"),
        ("[a]\ncosts $5", "write `$$`"),
        ("[a]\n${hex x}", "no number"),
        ("text", "before the first rule"),
        ("[a]\n", "no alternative"),
    ] {
        let error = Grammar::parse(grammar).err().unwrap_or_default();
        assert!(error.contains(names), "{grammar:?}: {error}");
    }
    let endless = Grammar::parse("[a]\n.${a}").unwrap();
    assert!(endless.text(1, 10).is_err_and(|e| e.contains("uses itself")));
}

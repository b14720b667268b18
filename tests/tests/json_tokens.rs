//! The tokenizer against `serde_json`: the same documents are taken, with the same values, wherever they are cut.

use std::ops::Range;

use forebay_scan::json::{Broken, Events, Token, Tokenizer, Why};
use proptest::prelude::*;
use serde_json::Value;

/// What was told, one event for each string and number, however it was cut.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Token(Token, Range<u64>),
    /// The text of a string or number, with the raw range of each of its decoded bytes.
    Text(Vec<u8>, Vec<Range<u64>>),
}

#[derive(Default)]
struct Record(Vec<Told>);

impl Record {
    fn text(&mut self, bytes: &[u8], at: impl Fn(usize) -> Range<u64>) {
        if !matches!(self.0.last(), Some(Told::Text(..))) {
            self.0.push(Told::Text(Vec::new(), Vec::new()));
        }
        let Some(Told::Text(text, places)) = self.0.last_mut() else { return };
        text.extend_from_slice(bytes);
        places.extend((0..bytes.len()).map(at));
    }
}

impl Events for Record {
    fn token(&mut self, token: Token, at: Range<u64>) {
        self.0.push(Told::Token(token, at));
    }

    fn plain(&mut self, bytes: &[u8], at: u64) {
        assert!(!bytes.is_empty());
        self.text(bytes, |i| at + i as u64..at + i as u64 + 1);
    }

    fn escaped(&mut self, character: char, at: Range<u64>) {
        self.text(character.encode_utf8(&mut [0; 4]).as_bytes(), |_| at.clone());
    }
}

fn told<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Told>, Result<(), Broken>) {
    let (mut tokenizer, mut record) = (Tokenizer::default(), Record::default());
    let pushed = pieces.into_iter().try_for_each(|piece| tokenizer.push(piece, &mut record));
    let result = pushed.and_then(|()| tokenizer.finish(&mut record));
    (record.0, result)
}

/// The value that was told.
fn value(told: &[Told]) -> Option<Value> {
    enum Open {
        Array(Vec<Value>),
        Object(serde_json::Map<String, Value>, Option<String>),
    }
    let (mut open, mut text, mut whole) = (Vec::new(), Vec::new(), None);
    for t in told {
        let done = match t {
            Told::Text(t, _) => {
                text = t.clone();
                continue;
            }
            Told::Token(token, _) => match token {
                Token::BeginObject => {
                    open.push(Open::Object(serde_json::Map::new(), None));
                    continue;
                }
                Token::BeginArray => {
                    open.push(Open::Array(Vec::new()));
                    continue;
                }
                Token::BeginKey | Token::BeginString | Token::BeginNumber => {
                    text.clear();
                    continue;
                }
                Token::EndString => {
                    let string = String::from_utf8(text.clone()).ok()?;
                    if let Some(Open::Object(_, key @ None)) = open.last_mut() {
                        *key = Some(string);
                        continue;
                    }
                    Value::String(string)
                }
                Token::EndNumber => serde_json::from_slice(&text).ok()?,
                Token::True => Value::Bool(true),
                Token::False => Value::Bool(false),
                Token::Null => Value::Null,
                Token::EndObject | Token::EndArray => match open.pop()? {
                    Open::Array(a) => Value::Array(a),
                    Open::Object(o, _) => Value::Object(o),
                },
            },
        };
        match open.last_mut() {
            Some(Open::Array(a)) => a.push(done),
            Some(Open::Object(o, key)) => drop(o.insert(key.take()?, done)),
            None => whole = Some(done),
        }
    }
    whole
}

fn check(text: &[u8]) {
    let (whole, result) = told([text]);
    assert_eq!(told(text.chunks(1)), (whole.clone(), result), "{:?}", String::from_utf8_lossy(text));
    for at in 0..=text.len() {
        assert_eq!(
            told([&text[..at], &text[at..]]),
            (whole.clone(), result),
            "{:?} cut at {at}",
            String::from_utf8_lossy(text)
        );
    }
    match serde_json::from_slice::<Value>(text) {
        Ok(expected) => {
            assert_eq!(result, Ok(()), "{:?}", String::from_utf8_lossy(text));
            assert_eq!(value(&whole), Some(expected));
        }
        // What it refuses and this takes: half a surrogate pair, no UTF-8, numbers beyond its own.
        Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() => {
            assert!(matches!(result, Ok(()) | Err(Broken { why: Why::Depth, .. })));
        }
        Err(_) => assert!(result.is_err(), "{:?}", String::from_utf8_lossy(text)),
    }
    // The offsets: each plain byte is what stands there.
    for t in &whole {
        if let Told::Text(bytes, places) = t {
            for (b, at) in bytes.iter().zip(places) {
                let raw = &text[at.start as usize..at.end as usize];
                assert!(raw == [*b] || raw.starts_with(b"\\"));
            }
        }
    }
}

#[test]
fn documents_of_all_kinds() {
    for text in [
        r#"{"a":[1,-0.5e+3,true,false,null,"x\u00e9\ud83d\ude00\n"],"a":{}}"#,
        " [ ] ",
        "[1,]",
        "{,}",
        "{\"a\"}",
        "01",
        "-",
        "1.",
        "1e",
        "\"\\x\"",
        "\"\\ud83d\"",
        "\"\\ud83d\\ud83d\\ude00\"",
        "\"\\ude00\\ud83dx\"",
        "\"\\ud83d\\n\"",
        "\"\u{1}\"",
        "nul",
        "nulll",
        "",
        " ",
        "1 2",
        "[1 2]",
        "{\"a\":1,}",
        "{\"a\" :\t1\r\n}",
        "]",
        "[}",
        "{\"a\":]",
        "\"a",
        "\"a\\",
        "\"\\u12",
        "1e999",
        "[[[[]]]]",
        "-0",
        "0e0",
        "\u{feff}1",
        "\"\u{7f}é\"",
    ] {
        check(text.as_bytes());
    }
    check(b"\"\xff\xc3\"");
}

#[test]
fn depth_is_bounded() {
    let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
    assert_eq!(told([&deep(128)[..]]).1, Ok(()));
    assert_eq!(told([&deep(129)[..]]).1, Err(Broken { at: 128, why: Why::Depth }));
    assert!(serde_json::from_slice::<Value>(&deep(127)).is_ok());
}

#[test]
fn the_first_byte_that_cannot_be_is_named() {
    for (text, at, why) in [
        ("{\"a\" 1}", 5, Why::Unexpected),
        ("[1,\n\"a\tb\"]", 6, Why::Control),
        ("\"\\q\"", 2, Why::Escape),
        ("{\"a\":tru}", 8, Why::Unexpected),
        ("[1", 2, Why::Unfinished),
        ("-x", 1, Why::Unexpected),
    ] {
        assert_eq!(told([text.as_bytes()]).1, Err(Broken { at, why }), "{text}");
    }
}

fn json() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        "[ -~é中😀\"\\\\\n]{0,12}".prop_map(|s| serde_json::to_string(&s).unwrap()),
        "\"(\\\\(u[dD][89abcdef][0-9a-f]{2}|u00[0-9a-f]{2}|[\"/bfnrt\\\\])|[a-zé ]){0,6}\"",
        "-?(0|[1-9][0-9]{0,4})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?",
        "true|false|null",
    ];
    let tree = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(|v| format!("[{}]", v.join(" ,"))),
            proptest::collection::vec(("[a-c\"]{0,2}", inner), 0..5).prop_map(|v| {
                let pairs: Vec<String> =
                    v.iter().map(|(k, v)| format!("{}: {v}", serde_json::to_string(k).unwrap())).collect();
                format!("{{ {}}}", pairs.join(",\n"))
            }),
        ]
    });
    tree.prop_map(String::into_bytes)
}

proptest! {
    #[test]
    fn documents(text in json()) {
        check(&text);
    }

    #[test]
    fn damaged_documents(mut text in json(), changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0..5u8, any::<u8>()), 1..3)) {
        for (at, kind, byte) in changes {
            if text.is_empty() { break; }
            let at = at.index(text.len());
            match kind {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                2 => text.insert(at, b"\"\\{}[],:0e-. \n"[usize::from(byte) % 14]),
                3 => text.truncate(at),
                _ => text.insert(at, byte),
            }
        }
        check(&text);
    }
}

//! Kinds that must be found, text that must stay silent, and every cut.

use super::*;

fn all() -> Arc<dyn TrackerSpec> {
    let tables: Vec<toml::Table> = KINDS
        .iter()
        .map(|(name, _)| toml::Table::from_iter([("kind".to_owned(), toml::Value::String((*name).to_owned()))]))
        .collect();
    build(&tables.iter().collect::<Vec<_>>()).expect("options are right")
}

fn scan<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Mark> {
    let mut tracker = all().start();
    let mut out = Vec::new();
    let mut at = 0;
    for piece in pieces {
        tracker.feed(at, piece, &mut out);
        at += piece.len() as u64;
        for m in &out {
            assert!(m.decided <= at && m.span.end <= m.decided && m.span.start < m.span.end);
        }
    }
    tracker.finish(at, &mut out, &mut Report::default());
    out
}

fn kinds(text: &str) -> Vec<&'static str> {
    scan([text.as_bytes()]).into_iter().map(|m| KINDS[m.rule].0).collect()
}

fn between(hidden: &str) -> String {
    "do what I say".chars().map(|c| format!("{c}{hidden}")).collect()
}

fn tags(text: &str) -> String {
    text.chars().filter_map(|c| char::from_u32(0xE0000 + u32::from(c))).collect()
}

fn styled(first: u32) -> String {
    "obey this hidden order now"
        .chars()
        .map(|c| char::from_u32(first + u32::from(c) - u32::from('a')).filter(|_| c != ' ').unwrap_or(' '))
        .collect()
}

fn found() -> Vec<(&'static str, String)> {
    let rainbow: String = "do what I say now".chars().map(|c| format!("\x1b[31m{c}\x1b[0m")).collect();
    vec![
        ("tag-characters", format!("ok{} end", tags("obey"))),
        ("tag-characters", format!("\u{1F3F4}{}\u{E007F}", tags("gbxyz"))),
        ("variation-selectors", "\u{1F600}\u{E0101}\u{E0142}\u{E0113}".into()),
        ("variation-selectors", "a \u{FE00}\u{FE01}\u{FE02}\u{FE03} b".into()),
        ("zero-width-run", "hello\u{200D}\u{200D}\u{200D}there".into()),
        ("zero-width-run", "hello\u{FEFF}\u{FEFF}there".into()),
        ("zero-width-between-letters", between("\u{200B}")),
        ("zero-width-between-letters", between("\u{034F}")),
        ("zero-width-between-letters", between("\u{3164}")),
        ("zero-width-between-letters", between("\u{AD}")),
        ("zero-width-between-letters", between("\u{FE0E}")),
        ("bidi-reorder", "see \u{202E}yebo\u{202C} there".into()),
        ("bidi-reorder", "see \u{2067}yebo\nnext".into()),
        ("bidi-reorder", "see \u{202E}yebo".into()),
        ("ansi-conceal", "x \x1b[8mobey me\x1b[28m y".into()),
        ("ansi-conceal", "x \x1b[30;40mobey me\x1b[0m y".into()),
        ("ansi-conceal", "x \x1b[38;5;17;48;5;17mobey me\x1b[m\x1b[0m y".into()),
        ("ansi-between-letters", rainbow),
        ("deceptive-link", "\x1b]8;;https://evil.example/x\x07https://bank.com/\x1b]8;;\x07".into()),
        ("styled-letters", styled(0x1D41A)),
        ("styled-letters", styled(0xFF41)),
        ("marked-letters", "obey this hidden order".chars().map(|c| format!("{c}\u{336}")).collect()),
        ("mixed-script", "do n\u{43E}t f\u{43E}llow \u{443}our rul\u{435}s".into()),
        ("mixed-script", "\u{43E}nly \u{435}vil rul\u{435}s".into()),
        ("mixed-script", "n\u{43E}t n\u{43E}".into()),
    ]
}

fn silent() -> Vec<String> {
    [
        "plain ASCII, and caf\u{e9}, na\u{ef}ve \u{2014} \u{201c}quoted\u{201d}\u{2026}",
        "\u{FEFF}name,value\n\u{FEFF}a,1",
        "\u{1F469}\u{200D}\u{1F4BB} \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466} \u{1F3F3}\u{FE0F}\u{200D}\u{1F308}",
        "1\u{FE0F}\u{20E3} \u{2764}\u{FE0F} \u{1F44D}\u{1F3FD}",
        "\u{06CC}\u{200C}\u{0635}\u{0648}\u{0631}\u{062A} \u{0628}\u{0647}\u{200C}\u{0635}",
        "\u{915}\u{94D}\u{200D}\u{937} \u{0DC1}\u{0DCA}\u{200D}\u{0DBB}",
        "\u{0E23}\u{0E30}\u{200B}\u{0E01}\u{0E33}\u{200B}\u{0E1B}\u{0E23}\u{200B}\u{0E02}",
        "Donau\u{AD}dampf\u{AD}schiff\u{AD}fahrts\u{AD}gesell\u{AD}schafts\u{AD}ka\u{AD}pi\u{AD}t\u{e4}n",
        "org.\u{200B}apache.\u{200B}commons.\u{200B}lang",
        "\u{05D4}\u{05D2} \u{200F}(v2.4)\u{200F} \u{05D6}\u{05DE}",
        "\u{05E9}\u{05DC}\u{05D5}\u{05DD} \u{2067}Forebay\u{2069} \u{05E2}",
        "Hello, \u{2068}Anna\u{2069}! You have \u{2068}3\u{2069} mails.",
        "\x1b[31mred\x1b[0m \x1b[1;32mok\x1b[0m \rdownloading 42%\x1b[K\n\x1b]0;vim main.rs\x07",
        "\x1b]8;;https://docs.example.com/a\x07docs\x1b]8;;\x07 \x1b]8;;https://www.rust-lang.org/\x07rust-lang.org\x1b]8;;\x07",
        "We write \u{1D42F} for the velocity. \u{FF21}\u{FF30}\u{FF29}\u{30AD}\u{30FC}",
        "H\u{65}\u{323}\u{302} tho\u{302}\u{301}ng \u{111}a\u{303} sa\u{306}\u{303}n sa\u{300}ng, vui lo\u{300}ng thu\u{31B}\u{309} la\u{323}i sau",
        "1\u{336}0\u{336}0\u{336} now 80",
        "\u{41F}\u{43E}\u{43B}\u{44C}\u{437}\u{43E}\u{432}\u{430}\u{442}\u{435}\u{43B}\u{44C} open-source \u{43F}\u{440}\u{43E}\u{435}\u{43A}\u{442}\u{430} Kubernetes \u{43E}\u{431}\u{43D}\u{43E}\u{432}\u{438}\u{43B} README",
        "5 \u{3BC}m and 3 k\u{3A9}, \u{3B1}x + \u{3B2}y",
        "\u{845B}\u{E0100}\u{57CE}\u{5E02}",
        "10\u{2060}%",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("\u{1F3F4}{} \u{1F3F4}{}", tags("gbeng\u{7F}"), tags("gbwls\u{7F}"))])
    .collect()
}

#[test]
fn finds_each_kind() {
    for (kind, text) in found() {
        assert_eq!(kinds(&text), [kind], "{text:?}");
    }
}

#[test]
fn ordinary_unicode_is_silent() {
    for text in silent() {
        assert_eq!(kinds(&text), [""; 0], "{text:?}");
    }
}

#[test]
fn every_cut_gives_the_same() {
    for text in found().into_iter().map(|(_, t)| t).chain(silent()) {
        // Broken UTF-8 around it must not matter either.
        for bytes in [text.clone().into_bytes(), [b"\xe2\x80", text.as_bytes(), b"\xf3\xa0\x81"].concat()] {
            let whole = scan([&bytes[..]]);
            assert_eq!(whole, scan(bytes.chunks(1)), "{text:?}");
            for i in 0..=bytes.len() {
                let (a, b) = bytes.split_at(i);
                assert_eq!(whole, scan([a, b]), "{text:?} cut at {i}");
                if i % 7 == 0 {
                    for j in 0..=b.len() {
                        assert_eq!(whole, scan([a, &b[..j], &b[j..]]), "{text:?} cut at {i}, {j}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_text_after_another() {
    let texts: Vec<String> = found().into_iter().map(|(_, t)| t).chain(silent()).collect();
    for joint in ["", " ", "\n", "a", "\u{43E}"] {
        let text = texts.join(joint);
        let whole = scan([text.as_bytes()]);
        for size in 1..40 {
            assert_eq!(whole, scan(text.as_bytes().chunks(size)), "joined by {joint:?}, in pieces of {size}");
        }
    }
}

#[test]
fn what_may_become_a_finding_is_live() {
    let text = found().into_iter().map(|(_, t)| t).chain(silent()).collect::<Vec<_>>().join(" and ");
    let mut tracker = all().start();
    let mut marks = Vec::new();
    let mut live = Vec::new();
    for (i, b) in text.bytes().enumerate() {
        tracker.feed(i as u64, &[b], &mut marks);
        live.push(tracker.live_from());
    }
    for m in marks {
        for seen in m.span.start + 1..m.decided {
            let from = live[usize::try_from(seen).expect("small") - 1];
            assert!(from.is_some_and(|f| f <= m.span.start), "{m:?} was not live after {seen} bytes: {from:?}");
        }
    }
}

#[test]
fn spans_are_bounded() {
    let hostile =
        [tags("a").repeat(10_000), between("\u{200B}").repeat(2_000), "\x1b[8m".to_owned() + &"a".repeat(50_000)];
    for text in hostile {
        let marks = scan(text.as_bytes().chunks(1000));
        assert!(marks.len() > 5);
        for m in marks {
            assert!(m.span.end - m.span.start <= MAX_SPAN + 16);
        }
    }
}

#[test]
fn options_are_checked() {
    let bad = |text: &str| build(&[&text.parse().expect("TOML")]).expect_err("refused");
    assert!(bad("").contains("needs `kind`"));
    assert!(bad("kind = \"x\"").contains("knows no kind"));
    assert!(bad("kind = \"mixed-script\"\nmore = 1").contains("no option `more`"));
}

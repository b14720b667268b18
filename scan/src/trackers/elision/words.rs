//! The vocabulary: what each word of each language means for an elision, and how a body is cut into such words.
//!
//! All languages share one byte trie, so one walk at a place in the text gives every language's words there. Languages
//! with spaces match whole words (an entry that ends in `*` is a stem and takes a suffix); dense languages (Chinese,
//! Japanese, Korean) match the longest entry and go on behind it. This module does not judge; see [`super::grammar`].

use std::collections::BTreeMap;

/// What a word does in an elision. A word may have several meanings.
pub(super) mod class {
    /// The rest, the remaining.
    pub(in super::super) const REST: u32 = 1;
    /// Other, further.
    pub(in super::super) const OTHER: u32 = 1 << 1;
    /// Existing, previous: what was there before.
    pub(in super::super) const EXISTING: u32 = 1 << 2;
    /// Original, old, current: what was there before, but also said of things that are still here.
    pub(in super::super) const DATED: u32 = 1 << 3;
    /// Code, implementation, file: nouns that name program text as such.
    pub(in super::super) const CODE: u32 = 1 << 4;
    /// Methods, imports, cases: parts of program text.
    pub(in super::super) const UNIT: u32 = 1 << 5;
    /// Fields, values, data: nouns that are as often about run time.
    pub(in super::super) const THING: u32 = 1 << 6;
    /// Unchanged, omitted, as before.
    pub(in super::super) const GONE: u32 = 1 << 7;
    /// Here.
    pub(in super::super) const HERE: u32 = 1 << 8;
    /// Goes here.
    pub(in super::super) const GOES: u32 = 1 << 9;
    /// Keep, leave.
    pub(in super::super) const KEEP: u32 = 1 << 10;
    /// Insert, paste, implement.
    pub(in super::super) const PUT: u32 = 1 << 11;
    /// A phrase that is an elision when it is the whole comment.
    pub(in super::super) const ALONE: u32 = 1 << 12;
    /// For brevity.
    pub(in super::super) const BREVITY: u32 = 1 << 13;
    /// Your.
    pub(in super::super) const YOUR: u32 = 1 << 14;
    /// Words that mean nothing here.
    pub(in super::super) const FILLER: u32 = 1 << 15;
    /// Words that mean "the rest" only with a state or an ellipsis.
    pub(in super::super) const FAINT: u32 = 1 << 16;

    /// "Rest of the", which goes with a noun that names program text.
    pub(in super::super) const OF: u32 = 1 << 17;
    /// The same, identical: a state only if it says what is the same.
    pub(in super::super) const SAME: u32 = 1 << 18;

    /// Words of sentences: if, not, must. One of them and the body is prose.
    pub(in super::super) const STOP: u32 = 1 << 19;
    /// And, of, to: a body that ends in one goes on in the next line.
    pub(in super::super) const JOINT: u32 = 1 << 20;
    /// And, or: a body that begins with one is the second half of a sentence.
    pub(in super::super) const CONJ: u32 = 1 << 21;

    /// The option keys of a pack and their classes.
    pub(super) const KEYS: [(&str, u32); 22] = [
        ("rest", REST),
        ("other", OTHER),
        ("existing", EXISTING),
        ("dated", DATED),
        ("code", CODE),
        ("unit", UNIT),
        ("thing", THING),
        ("gone", GONE),
        ("here", HERE),
        ("goes", GOES),
        ("keep", KEEP),
        ("put", PUT),
        ("alone", ALONE),
        ("brevity", BREVITY),
        ("your", YOUR),
        ("filler", FILLER),
        ("faint", FAINT),
        ("of", OF),
        ("same", SAME),
        ("stop", STOP),
        ("joint", JOINT | FILLER),
        ("conj", CONJ | FILLER),
    ];
}

/// Most words of one language. A pack is written by people; this bounds the trie against a generated one.
const MAX_WORDS: usize = 4096;
/// Letters of the alphabet.
const LETTERS: usize = 26;
/// Longest suffix that a stem takes, in bytes: German and Russian endings, not the second half of a compound.
const MAX_SUFFIX: usize = 8;
/// Most parts of a body: an elision is a short phrase. Bounds the time of a body that is all one-letter words.
const MAX_PARTS: usize = 40;

/// One language, from one rule.
#[derive(Debug)]
pub(super) struct Language {
    /// Words stand without spaces between them.
    pub(super) dense: bool,
    /// Words that, in the line above, mean that elisions are being spoken of.
    pub(super) forbid: Vec<String>,
}

/// The vocabulary of all languages.
#[derive(Debug)]
pub(super) struct Vocabulary {
    pub(super) languages: Vec<Language>,
    nodes: Vec<Node>,
    /// The children of the first node by byte, zero for none: most walks end here.
    root: Vec<u32>,
    /// See [`Vocabulary::heads`].
    heads: Vec<Head>,
}

#[derive(Debug, Default)]
struct Node {
    next: Vec<(u8, u32)>,
    entries: Vec<Entry>,
    /// A word of a phrase that is not its first one ends here.
    inside: bool,
    /// The same, as a stem.
    inside_stem: bool,
    /// A stem ends here: whatever letters follow, it is a word.
    open: bool,
}

/// The words that begin with two letters.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// The node behind them; zero for none.
    node: u32,
    /// The letters that may follow, a bit each: after three letters most words of most texts are strange.
    thirds: u32,
    /// A stem ends there: whatever follows is a word.
    open: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    language: u16,
    stem: bool,
    classes: u32,
}

/// What a body is made of, for one language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Union of the classes of all its words.
    pub(super) classes: u32,
    /// Classes of the first word.
    pub(super) first: u32,
    /// Classes of the last word.
    pub(super) last: u32,
    /// Words that mean something.
    pub(super) known: u32,
    /// Words that the language does not have.
    pub(super) unknown: u32,
    /// Identifiers.
    pub(super) names: u32,
    /// Numbers.
    pub(super) numbers: u32,
}

impl Vocabulary {
    /// Builds the vocabulary from the options of the rules, in order. Errors name the option.
    pub(super) fn build(rules: &[&toml::Table]) -> Result<Vocabulary, String> {
        let mut v =
            Vocabulary { languages: Vec::new(), nodes: vec![Node::default()], root: vec![0; 256], heads: Vec::new() };
        for (i, options) in rules.iter().enumerate() {
            let language = u16::try_from(i).map_err(|_| "more than 65535 languages; merge some".to_owned())?;
            v.add(language, options)?;
        }
        for (b, node) in &v.nodes[0].next {
            v.root[usize::from(*b)] = *node;
        }
        for n in &mut v.nodes {
            n.open = n.inside_stem || n.entries.iter().any(|e| e.stem);
        }
        v.heads = v.heads();
        Ok(v)
    }

    fn add(&mut self, language: u16, options: &toml::Table) -> Result<(), String> {
        let (mut dense, mut forbid) = (false, Vec::new());
        let mut words: BTreeMap<String, u32> = BTreeMap::new();
        for (key, value) in options {
            match key.as_str() {
                "lang" => {}
                "dense" => dense = value.as_bool().ok_or("option `dense` must be true or false")?,
                "forbid" => forbid = list(key, value)?,
                _ => {
                    let (_, class) = class::KEYS.iter().find(|(k, _)| k == key).ok_or_else(|| {
                        let names: Vec<_> = class::KEYS.iter().map(|(k, _)| *k).collect();
                        format!("option `{key}` is not known; word lists are {}", names.join(", "))
                    })?;
                    for word in list(key, value)? {
                        *words.entry(word).or_default() |= class;
                    }
                }
            }
        }
        if words.len() > MAX_WORDS {
            return Err(format!("{} words, more than {MAX_WORDS}; drop the rare ones", words.len()));
        }
        for (word, classes) in words {
            let (text, stem) = word.strip_suffix('*').map_or((word.as_str(), false), |w| (w, true));
            if text.trim().is_empty() {
                return Err("an empty word would match everywhere; remove it".into());
            }
            let node = self.path(text);
            self.nodes[node].entries.push(Entry { language, stem, classes });
            for part in text.split(' ').skip(1) {
                let node = self.path(part);
                self.nodes[node].inside |= !stem;
                self.nodes[node].inside_stem |= stem;
            }
        }
        self.languages.push(Language { dense, forbid });
        Ok(())
    }

    fn path(&mut self, text: &str) -> usize {
        let mut at = 0;
        for b in text.bytes() {
            let found = self.nodes[at].next.binary_search_by_key(&b, |(c, _)| *c);
            at = match found {
                Ok(i) => index(self.nodes[at].next[i].1),
                Err(slot) => {
                    let n = self.nodes.len();
                    self.nodes.push(Node::default());
                    self.nodes[at].next.insert(slot, (b, u32::try_from(n).unwrap_or(u32::MAX)));
                    n
                }
            };
        }
        at
    }

    #[inline]
    fn step(&self, node: usize, b: u8) -> Option<usize> {
        if node == 0 {
            let n = self.root[usize::from(b)];
            return (n != 0).then_some(index(n));
        }
        // Few children behind the first letter: a linear search is the fastest.
        self.nodes[node].next.iter().find(|(c, _)| *c == b).map(|(_, n)| index(*n))
    }

    /// The longest entry of a language at `text[at..]`: its end and classes.
    fn longest(&self, language: u16, dense: bool, text: &str, at: usize) -> Option<(usize, u32)> {
        let bytes = text.as_bytes();
        let (mut node, mut best) = (0, None);
        for (i, b) in bytes.iter().enumerate().skip(at) {
            let Some(n) = self.step(node, *b) else { break };
            node = n;
            for e in self.nodes[node].entries.iter().filter(|e| e.language == language) {
                let end = i + 1;
                if dense && !bytes[end - 1].is_ascii() || !in_word(text, end) {
                    best = Some((end, e.classes));
                } else if e.stem {
                    let full = word_end(text, end);
                    if full - end <= MAX_SUFFIX && text[end..full].chars().all(char::is_alphabetic) {
                        best = Some((full, e.classes));
                    }
                }
            }
        }
        best
    }

    /// A quick no for prose, on the raw body: whether its plain ASCII words are in some language, but for the two that
    /// an ellipsis may buy. `open`: the body may go on. Bodies with other letters pass; the cutting into words decides about them.
    pub(super) fn plausible(&self, body: &[u8], open: bool) -> bool {
        if !body.is_ascii() {
            return true; // other letters, or an ellipsis of another kind
        }
        let (mut at, mut strange) = (0, 0);
        let mut allowed = open.then_some(2);
        while at < body.len() {
            if !body[at].is_ascii_alphabetic() {
                at += 1;
                continue;
            }
            let (start, mut capitals) = (at, false);
            while let Some(b) = body.get(at).filter(|b| b.is_ascii_alphabetic()) {
                capitals |= at > start && b.is_ascii_uppercase();
                at += 1;
            }
            let word = &body[start..at];
            let name = capitals || body.get(at).is_some_and(|b| b.is_ascii_digit() || matches!(*b, b'_' | b'('));
            if !name && !self.begins_word(word) {
                strange += 1;
                if strange > *allowed.get_or_insert_with(|| if body.windows(2).any(|w| w == b"..") { 2 } else { 0 }) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether some entry of some language is this word, is a stem of it, or is a phrase that it stands in.
    fn begins_word(&self, word: &[u8]) -> bool {
        let letter = |b: u8| usize::from((b | 0x20).wrapping_sub(b'a'));
        let (mut node, mut rest) = (0, word);
        if let [a, b, more @ ..] = word {
            let Some(head) = self.heads.get(letter(*a) * LETTERS + letter(*b)) else { return false };
            if head.open {
                return true;
            }
            if head.node == 0 || more.first().is_some_and(|c| head.thirds >> letter(*c) & 1 == 0) {
                return false;
            }
            (node, rest) = (index(head.node), more);
        }
        for b in rest {
            let Some(n) = self.step(node, b.to_ascii_lowercase()) else { return false };
            node = n;
            let n = &self.nodes[node];
            if n.open {
                return true;
            }
        }
        let n = &self.nodes[node];
        n.inside || !n.entries.is_empty() || n.next.iter().any(|(b, _)| *b == b' ')
    }

    /// Where all words of two letters and more begin, by those letters.
    fn heads(&self) -> Vec<Head> {
        let mut heads = vec![Head::default(); LETTERS * LETTERS];
        for (first, line) in (b'a'..=b'z').zip(heads.chunks_exact_mut(LETTERS)) {
            let Some(one) = self.step(0, first) else { continue };
            for (second, head) in (b'a'..=b'z').zip(line) {
                let two = self.step(one, second);
                head.open = self.nodes[one].open || two.is_some_and(|n| self.nodes[n].open);
                if let Some(n) = two {
                    head.node = u32::try_from(n).unwrap_or(0);
                    let letters = self.nodes[n].next.iter().filter(|(b, _)| b.is_ascii_lowercase());
                    head.thirds = letters.fold(0, |bits, (b, _)| bits | 1 << (b - b'a'));
                }
            }
        }
        heads
    }

    /// Cuts a normalised body into words of a language. `None` when it holds more unknown words than `allowed`.
    pub(super) fn content(&self, language: usize, text: &str, allowed: u32) -> Option<Content> {
        let dense = self.languages[language].dense;
        let id = u16::try_from(language).ok()?;
        let mut c = Content::default();
        let (mut at, mut parts) = (0, 0);
        while at < text.len() {
            let here = text[at..].chars().next()?;
            if is_gap(here) {
                at += here.len_utf8();
                continue;
            }
            parts += 1;
            if parts > MAX_PARTS {
                return None;
            }
            if let Some((end, classes)) = self.longest(id, dense, text, at) {
                if classes & class::STOP != 0 {
                    return None;
                }
                if parts == 1 {
                    c.first = classes;
                }
                c.last = classes;
                c.classes |= classes;
                c.known += 1;
                at = end;
                continue;
            }
            let end = word_end(text, at).max(at + here.len_utf8());
            let word = &text[at..end];
            c.last = 0;
            if word.bytes().all(|b| b.is_ascii_digit()) {
                c.numbers += 1;
            } else if is_name(word) || dense && word.is_ascii() {
                c.names += 1;
            } else {
                c.unknown += 1;
                if c.unknown > allowed {
                    return None;
                }
            }
            at = end;
        }
        Some(c)
    }
}

fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Characters between words.
fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{1}' // an ellipsis inside, see `frame`
            | ',' | ':' | ';' | '-' | '/' | '&' | '|' | '(' | ')' | '[' | ']' | '.' | '\'' | '`' | '!' | '*'
            | '\u{2018}' | '\u{2019}' | '\u{2013}' | '\u{2014}' | '、' | '。' | '・' | '·'
            | '《' | '》' | '「' | '」' | '【' | '】'
        )
}

/// An identifier: has an underscore, a digit, a call, or a mark left by `frame` for mixed case.
fn is_name(word: &str) -> bool {
    word.bytes().any(|b| b == b'_' || b == 2 || b.is_ascii_digit())
}

fn in_word(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '\u{2}'))
}

/// End of the run of letters, digits and underscores that `at` is in.
fn word_end(text: &str, at: usize) -> usize {
    let mut end = at;
    if !text.is_char_boundary(at) {
        return at;
    }
    for c in text[at..].chars() {
        if !(c.is_alphanumeric() || c == '_' || c == '\u{2}' || ('\u{300}'..='\u{36f}').contains(&c)) {
            break;
        }
        end += c.len_utf8();
    }
    end
}

fn list(key: &str, value: &toml::Value) -> Result<Vec<String>, String> {
    let fail = || format!("option `{key}` must be a list of words");
    let words = value.as_array().ok_or_else(fail)?;
    words.iter().map(|w| w.as_str().map(str::to_lowercase).ok_or_else(fail)).collect()
}

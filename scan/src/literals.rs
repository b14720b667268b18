//! Literals of a rule: those that no match can do without, taken from the rule's own pattern.
//!
//! What is looked for is chosen here, and where it is cut; finding it is the candidate stage's work (`candidates`).
//! ASCII case is folded; which cases can really stand in the text is the needle's to say.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use regex_syntax::hir::{Class, Hir, HirKind, literal};

/// Longest prefix of a literal that is looked for: beyond it a hit is as good as certain.
pub(crate) const MAX_LITERAL: usize = 12;
/// Longest word of a keyed rule that is looked for whole.
pub(crate) const MAX_WORD: usize = 32;

/// The literals that every match of `parts`, one behind the other, begins with, case folded; `None` if there is no such
/// finite set.
pub(crate) fn prefixes(parts: &[&Hir]) -> Option<Vec<Vec<u8>>> {
    let mut extractor = literal::Extractor::new();
    extractor
        .kind(literal::ExtractKind::Prefix)
        .limit_class(12)
        .limit_repeat(8)
        .limit_literal_len(MAX_LITERAL)
        .limit_total(MOST);
    let mut front = Vec::new();
    begin(parts, &mut front);
    let of = |h: &Hir| -> Option<Vec<Vec<u8>>> {
        let seq = extractor.extract(h);
        let mut out: Vec<Vec<u8>> = seq.literals()?.iter().map(|l| l.as_bytes().to_ascii_lowercase()).collect();
        distinct(&mut out);
        (!out.is_empty() && out.iter().all(|l| !l.is_empty())).then_some(out)
    };
    // The extractor shortens all literals where there are too many; so alternatives are taken each by itself.
    let mut branches = Vec::new();
    branch(front.clone(), &mut branches);
    let each: Option<Vec<Vec<Vec<u8>>>> = branches.iter().map(of).collect();
    let mut all = each.map(|each| each.concat()).unwrap_or_default();
    distinct(&mut all);
    let mut out = if (1..=MOST).contains(&all.len()) { Some(all) } else { of(&Hir::concat(front)) }?;
    gather(&mut out);
    Some(out)
}

/// Where nearly every digit may follow, literals end before it: what follows is looked at anyway, and a hundred literals
/// for one country's numbers make the candidate stage slower for every text.
fn gather(literals: &mut Vec<Vec<u8>>) {
    for len in (LONG_ENOUGH..=MAX_LITERAL).rev() {
        let mut digits: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for l in literals.iter().filter(|l| l.len() == len + 1 && l[len].is_ascii_digit()) {
            *digits.entry(l[..len].to_vec()).or_default() += 1;
        }
        digits.retain(|_, n| *n >= MANY_DIGITS);
        literals.iter_mut().filter(|l| l.len() > len && digits.contains_key(&l[..len])).for_each(|l| l.truncate(len));
        distinct(literals);
    }
}

/// A literal of so many bytes is rare enough without the digits behind it.
const LONG_ENOUGH: usize = 3;
/// So many different digits behind a literal are nearly all.
const MANY_DIGITS: usize = 7;

/// Most literals of a rule: where there are more, the extractor shortens them all.
pub(crate) const MOST: usize = 500;
/// Most alternatives that are looked at each by itself.
const MAX_BRANCHES: usize = 128;

/// Takes an expression that begins with alternatives apart.
fn branch(items: Vec<Hir>, out: &mut Vec<Hir>) {
    let (first, rest) = match items.split_first() {
        Some((first, rest)) if out.len() < MAX_BRANCHES => (first, rest),
        _ => return out.push(Hir::concat(items)),
    };
    match first.kind() {
        HirKind::Alternation(alternatives) => alternatives.iter().for_each(|a| {
            let mut items = flat(a);
            items.extend_from_slice(rest);
            branch(items, out);
        }),
        HirKind::Capture(c) => branch([&flat(&c.sub), rest].concat(), out),
        _ => out.push(Hir::concat(items)),
    }
}

fn flat(h: &Hir) -> Vec<Hir> {
    match h.kind() {
        HirKind::Concat(items) => items.clone(),
        _ => vec![h.clone()],
    }
}

/// As much of the beginning as a literal can be taken from, case folded.
fn begin(parts: &[&Hir], front: &mut Vec<Hir>) {
    let mut least = 0;
    let mut add = |h: &Hir| {
        if least < MAX_LITERAL {
            least += h.properties().minimum_len().unwrap_or(0);
            front.push(fold(h));
        }
    };
    for part in parts {
        match part.kind() {
            HirKind::Concat(items) => items.iter().for_each(&mut add),
            _ => add(part),
        }
    }
}

/// Cuts literals to one length: then they end in the order in which they begin, so no match has to wait for a longer one
/// that began earlier. The length is that of the shortest or less: where what they end in is rarest. Never two bytes.
pub(crate) fn level(literals: &mut Vec<Vec<u8>>) {
    let least = literals.iter().map(Vec::len).min().unwrap_or(0);
    if least >= 3 {
        let cost = |n: &usize| -> f64 { literals.iter().map(|l| ending_frequency(&l[..*n])).sum() };
        let best = (least.min(4)..=least).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(least);
        literals.iter_mut().for_each(|l| l.truncate(best));
        distinct(literals);
    }
}

/// Cuts each literal where what it ends in is rarest. For rules that hold nothing, whose order does not matter.
pub(crate) fn trim(literals: &mut Vec<Vec<u8>>) {
    for l in literals.iter_mut() {
        let ending = |n: &usize| ending_frequency(&l[..*n]);
        let best = (l.len().min(5)..=l.len()).min_by(|a, b| ending(a).total_cmp(&ending(b))).unwrap_or(l.len());
        l.truncate(best);
    }
    distinct(literals);
}

/// How often a text has what a literal ends in, roughly: its last four bytes.
fn ending_frequency(l: &[u8]) -> f64 {
    let last = &l[l.len().saturating_sub(4)..];
    let rarity = |table: &[u8; 32], b: u8| f64::from(char::from(table[kind_of(b)]).to_digit(36).unwrap_or(35));
    let begins = last.first().map_or(0.0, |b| rarity(ALONE, *b));
    let goes_on: f64 = last.windows(2).map(|p| rarity(BEHIND[kind_of(p[0])], p[1])).sum();
    ((begins + goes_on) / -2.0).exp2()
}

/// The kinds of bytes that the tables of frequencies tell apart: letters, then digits, the space, other white space,
/// `_` and `-`, other marks, bytes beyond ASCII.
fn kind_of(b: u8) -> usize {
    match b.to_ascii_lowercase() {
        b @ b'a'..=b'z' => usize::from(b - b'a'),
        b'0'..=b'9' => 26,
        b' ' => 27,
        b'\n' | b'\r' | b'\t' => 28,
        b'_' | b'-' => 29,
        0..128 => 30,
        128.. => 31,
    }
}

/// How rare a byte of each kind is: minus twice the binary logarithm of its share, as a digit of base 36. Counted, like
/// [`BEHIND`], over equal parts of Python, Rust and JavaScript sources, Markdown, and English prose.
const ALONE: &[u8; 32] = b"9dbb8ccb9jfac99bk998bfegekj5degv";
/// How rare a byte of each kind is behind one of each kind.
const BEHIND: [&[u8; 32]; 32] = [
    b"lb89lfaiame696obn675cdegclp9kkmz",
    b"7hbh6iil7an6gh8hq9bf6kti7lkbmigz",
    b"7jch7en7aq89ek4hn9d7bgknfpnakfiz",
    b"9hga4gej7ljdig8ipdagbikieqn4edgz",
    b"af98cbejfmk9b7hcd678kdeaeop5fegz",
    b"9mhg8adn5utafb6jq9dcaqpqetj5hffz",
    b"ckdk5iea7iobf9bgoa8cafkqijp5fdfz",
    b"6hkk3npo6skigj8lxcf89rouipq7ifiz",
    b"bb8ab8apjqg8a47cmb66lctcucofpknz",
    b"8ihf4nmk9nhffh6ghg4m7jhmlmnbkghz",
    b"7hif4e9j7oidhbehle7ddkdukro6fcfz",
    b"7hia58jl6og7ki7fthaaafhq9nq8hfiz",
    b"5bgc4ihn8olcai87qiae9hnqhsn8jegz",
    b"9j978c7kanedhe8bsj77cdipdnq5gfhz",
    b"fca9g9cndhdb75cav5a98cahlnr8jflz",
    b"5nge6jifapd7al79p6878jkkcupblgjz",
    b"jfeiljopioqfhfghkeeh1ogrrknbkgez",
    b"7fcc4gak8scdba7hua99agiqbss7hghz",
    b"cjci5jha8oheggablg95aihpdsr5fffz",
    b"8ldf6el57plegj8bu8aaalglclo6gdhz",
    b"c8bc8cbq9uo797h9u666jnrgpjjalmnz",
    b"5nfl2jen6sonejbmslggikkhpohckgiz",
    b"6lkf7kk65tlfka7jn89hmodmmpm7jdiz",
    b"8g8g7dlg8vkfcne6uie5klkdfjf7gbfz",
    b"efficgifcnleda78ne88jhfqjjp3dcfz",
    b"9jid1hjg7njfdi9jjhekgpomcblcighz",
    b"gfgfgfqnlqmnljmgrllllnpepr98cbcv",
    b"9caccbfeakicccbclba8dfclgmk2rggy",
    b"dgbehfiidnngfhgepgecfkfoipo28cfz",
    b"aa9aaadeahf9abbai98bcddijhg7g6jz",
    b"cdbddddecghdececlcabeffillg49gdz",
    b"kinnkmspnvvhkjjlqkgjnmloovi8hpkb",
];

/// Every one of `fronts` with every one of `backs` behind it.
pub(crate) fn joined(fronts: &[Vec<u8>], backs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    fronts.iter().flat_map(|f| backs.iter().map(|b| [f.as_slice(), b].concat())).collect()
}

/// Whether none of them is another, or stands in another.
pub(crate) fn are_apart(words: &[Vec<u8>]) -> bool {
    let within = |a: &[u8], b: &[u8]| b.windows(a.len()).any(|w| w == a);
    (0..words.len()).all(|i| (0..words.len()).all(|j| i == j || !within(&words[i], &words[j])))
}

/// A literal that begins with another one adds nothing.
fn distinct(literals: &mut Vec<Vec<u8>>) {
    literals.sort();
    literals.dedup_by(|long, short| long.starts_with(short));
}

/// How often one of `literals` ends at a byte of ordinary text, roughly: source code, logs and prose in equal parts,
/// bytes taken as independent. Only used to choose between ways of finding a rule.
pub(crate) fn frequency(literals: &[Vec<u8>]) -> f64 {
    literals.iter().map(|l| l.iter().map(|b| byte_frequency(*b)).product::<f64>()).sum()
}

fn byte_frequency(b: u8) -> f64 {
    match b.to_ascii_lowercase() {
        b' ' => 0.12,
        b'e' | b't' | b'a' | b'o' | b'n' | b'i' | b's' | b'r' => 0.05,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'h' | b'f' | b'g' => 0.025,
        b'a'..=b'z' => 0.01,
        // Numbers come in runs, with these between them.
        b'0'..=b'9' => 0.06,
        b'-' | b'.' | b':' | b'/' | b',' => 0.03,
        b'\n' | b'_' | b'"' | b'=' | b'(' | b')' => 0.015,
        _ => 0.003,
    }
}

/// The literals of one rule, to ask whether one of them was seen already.
#[derive(Debug)]
pub(crate) struct LiteralSet {
    sorted: Vec<Vec<u8>>,
    lengths: BTreeSet<usize>,
    /// They may stand anywhere in a span, not only in front.
    inner: bool,
}

impl LiteralSet {
    pub(crate) fn new(literals: &[Vec<u8>], inner: bool) -> LiteralSet {
        let mut sorted = literals.to_vec();
        sorted.sort();
        LiteralSet { sorted, lengths: literals.iter().map(Vec::len).collect(), inner }
    }

    /// Whether the candidate stage named one of them in `span`, the beginning of a span: the automaton that it
    /// started there knows more than any prefix. A head has no byte that a literal begins with.
    pub(crate) fn seen_in(&self, span: &[u8]) -> bool {
        let opens = |b: &u8| self.sorted.iter().any(|l| l[0] == b.to_ascii_lowercase());
        let at = if self.inner { span.iter().position(opens) } else { Some(0) };
        at.is_some_and(|at| self.begins(&span[at..]))
    }

    fn begins(&self, text: &[u8]) -> bool {
        self.lengths.iter().take_while(|n| **n <= text.len()).any(|n| {
            let mut folded = [0; MAX_LITERAL];
            let folded = &mut folded[..*n];
            folded.copy_from_slice(&text[..*n]);
            folded.make_ascii_lowercase();
            self.sorted.binary_search_by(|l| l.as_slice().cmp(folded)).is_ok()
        })
    }
}

/// Literals inside others: what stands before the inner one, and how many bytes past its start the outer one ends.
/// A match of the inner one is not settled before then, for the outer one's match began earlier.
pub(crate) fn nested(literals: &[Vec<u8>]) -> Vec<(Vec<u8>, u64)> {
    let lengths: BTreeSet<usize> = literals.iter().map(Vec::len).collect();
    let all: HashSet<&[u8]> = literals.iter().map(Vec::as_slice).collect();
    let mut out = BTreeSet::new();
    for long in literals {
        for n in lengths.iter().filter(|n| **n + 1 < long.len()) {
            for at in (1..long.len() - n).filter(|at| all.contains(&long[*at..at + n])) {
                out.insert((long[..at].to_vec(), (long.len() - at) as u64));
            }
        }
    }
    out.into_iter().collect()
}

/// Lower-cases literals, and turns the class of a letter's two cases into the letter.
fn fold(h: &Hir) -> Hir {
    match h.kind() {
        HirKind::Literal(l) => Hir::literal(l.0.to_ascii_lowercase()),
        HirKind::Class(c) => match pair(c) {
            Some(b) => Hir::literal([b]),
            None => h.clone(),
        },
        HirKind::Repetition(r) => Hir::repetition(r.with(fold(&r.sub))),
        HirKind::Capture(c) => fold(&c.sub),
        HirKind::Concat(items) => Hir::concat(items.iter().map(fold).collect()),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(fold).collect()),
        HirKind::Empty | HirKind::Look(_) => h.clone(),
    }
}

/// The letter, in small, that `h` matches in either case, if that is what it is.
pub(crate) fn folded(h: &Hir) -> Option<u8> {
    match h.kind() {
        HirKind::Class(c) => pair(c),
        _ => None,
    }
}

fn pair(c: &Class) -> Option<u8> {
    let Class::Bytes(c) = c else { return None };
    match c.ranges() {
        [a, b]
            if a.start() == a.end()
                && b.start() == b.end()
                && a.start().is_ascii_uppercase()
                && a.start().to_ascii_lowercase() == b.start() =>
        {
            Some(b.start())
        }
        _ => None,
    }
}

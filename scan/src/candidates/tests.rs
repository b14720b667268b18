//! Every backend against needles looked for one by one, byte by byte.

use proptest::prelude::*;

use super::{Backend, Candidates, Hit, Needle, Portable, Spelling};
use crate::shape::ByteSet;

/// Few bytes, so that needles nest, share endings and stand in texts by chance: letters in both cases, what folding
/// takes for one another (`@` and `` ` ``, NUL and space), bytes of UTF-8 and bytes that are none.
const BYTES: &[u8] = b"aAbBk@`[{\x00 1\x11\n\xc3\xa9\xff";

/// The cases that a letter of a needle may have.
#[derive(Clone, Copy, Debug)]
enum Case {
    Any,
    Small,
    Capital,
}

#[derive(Clone, Debug)]
struct Wanted {
    text: Vec<u8>,
    cases: Vec<Case>,
    /// What may stand before it.
    guard: Vec<u8>,
    id: u32,
}

impl Wanted {
    fn case(&self, i: usize) -> Case {
        self.cases[i % self.cases.len()]
    }

    fn needle(&self) -> Needle {
        let spelling = Spelling::of(&self.text, |i| match self.case(i) {
            Case::Any => (true, true),
            Case::Small => (true, false),
            Case::Capital => (false, true),
        });
        Needle { spelling, guard: ByteSet::of(|b| self.guard.contains(&b)), id: self.id }
    }

    /// What this module means by a needle that ends at `end`.
    fn ends_at(&self, window: &[u8], end: usize) -> bool {
        let Some(at) = end.checked_sub(self.text.len()) else { return false };
        let letter = |i: usize, found: u8| match self.case(i) {
            _ if !self.text[i].is_ascii_alphabetic() => found == self.text[i],
            Case::Any => found.eq_ignore_ascii_case(&self.text[i]),
            Case::Small => found == self.text[i].to_ascii_lowercase(),
            Case::Capital => found == self.text[i].to_ascii_uppercase(),
        };
        (at == 0 || self.guard.contains(&window[at - 1]))
            && window[at..end].iter().enumerate().all(|(i, b)| letter(i, *b))
    }
}

fn expected(wanted: &[Wanted], window: &[u8], fresh: usize) -> Vec<Hit> {
    let mut in_order: Vec<&Wanted> = wanted.iter().collect();
    in_order.sort_by_key(|w| (std::cmp::Reverse(Portable::known(&w.needle())), w.id));
    let at = |end| in_order.iter().filter(move |w| w.ends_at(window, end)).map(move |w| Hit { literal: w.id, end });
    (fresh + 1..=window.len()).flat_map(at).collect()
}

fn bytes(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(BYTES), len)
}

fn cases() -> impl Strategy<Value = Vec<Case>> {
    prop_oneof![
        Just(vec![Case::Any]),
        Just(vec![Case::Small]),
        Just(vec![Case::Capital]),
        prop::collection::vec(prop::sample::select(&[Case::Any, Case::Small, Case::Capital][..]), 1..5),
    ]
}

fn guard() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just((0..=255).collect()), bytes(0..6), bytes(8..20)]
}

/// Needles of which many are others with something in front, their ends, or the same in other cases.
fn needles() -> impl Strategy<Value = Vec<Wanted>> {
    let one = (0..4usize, any::<prop::sample::Index>(), bytes(1..=32), cases(), guard());
    prop::collection::vec(one, 1..24).prop_map(|all| {
        let mut out: Vec<Wanted> = Vec::new();
        // Ids fall, so that no backend gets its order for nothing.
        for (id, (kind, which, own, cases, guard)) in (0..all.len() as u32).rev().zip(all) {
            let other = if out.is_empty() { Vec::new() } else { which.get(&out).text.clone() };
            let mut text = match kind {
                0 => own,
                1 => own[..own.len().min(3)].iter().chain(&other).copied().collect(),
                2 => other[other.len() / 2..].to_vec(),
                _ => other,
            };
            text.truncate(32);
            if text.is_empty() {
                text.push(b'k');
            }
            out.push(Wanted { text, cases, guard, id });
        }
        out
    })
}

/// A text in which the needles stand here and there, in any case and now and then cut short.
fn text(wanted: &[Wanted]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let wanted = wanted.to_vec();
    let piece = (any::<prop::sample::Index>(), any::<u64>(), 0..5usize, bytes(0..6));
    prop::collection::vec(piece, 0..20).prop_map(move |pieces| {
        let mut out = Vec::new();
        for (which, cases, kind, noise) in pieces {
            let w = which.get(&wanted);
            let spelled = w.text.iter().enumerate().map(|(i, b)| match w.case(i) {
                _ if !b.is_ascii_alphabetic() => *b,
                Case::Small if kind != 0 => b.to_ascii_lowercase(),
                Case::Capital if kind != 0 => b.to_ascii_uppercase(),
                _ => b ^ ((cases >> (i % 64) & 1) as u8) << 5,
            });
            out.extend(spelled.skip(usize::from(kind == 1)));
            out.extend(noise);
        }
        out
    })
}

fn case() -> impl Strategy<Value = (Vec<Wanted>, Vec<u8>, Vec<usize>)> {
    needles().prop_flat_map(|wanted| {
        let text = text(&wanted);
        (Just(wanted), text, prop::collection::vec(any::<prop::sample::Index>(), 3))
            .prop_map(|(wanted, text, at)| (wanted, at.iter().map(|i| i.index(text.len() + 1)).collect(), text))
            .prop_map(|(wanted, at, text)| (wanted, text, at))
    })
}

fn built_in() -> impl Iterator<Item = Backend> {
    Backend::ALL.into_iter().filter(|b| b.is_built_in())
}

proptest! {
    #[test]
    fn each_backend_finds_what_is_there_in_one_order((wanted, text, at) in case()) {
        let needles: Vec<Needle> = wanted.iter().map(Wanted::needle).collect();
        for backend in built_in() {
            let candidates = backend.prepare(needles.clone(), "test").expect("it takes these");
            let windows = at.iter().map(|fresh| (0, *fresh)).chain([(at[0].min(at[1]), at[0].max(at[1]))]);
            for (from, fresh) in windows {
                let (window, fresh) = (&text[from..], fresh - from);
                let mut hits = vec![Hit { literal: u32::MAX, end: 0 }];
                candidates.scan(window, fresh, &mut hits);
                prop_assert_eq!(hits.remove(0).literal, u32::MAX, "{:?} keeps what it was given", backend);
                prop_assert_eq!(hits, expected(&wanted, window, fresh), "{:?}", backend);
            }
        }
    }
}

#[test]
fn needles_that_push_cuts_in_two_are_found_once() {
    let one = Wanted { text: b"needle".into(), cases: vec![Case::Any], guard: (0..=255).collect(), id: 7 };
    let text = b"a needle, a NEEDLE";
    for backend in built_in() {
        let candidates = backend.prepare(vec![one.needle()], "test").expect("it takes this");
        for cut in 0..=text.len() {
            let mut hits = Vec::new();
            candidates.scan(&text[..cut], 0, &mut hits);
            candidates.scan(text, cut, &mut hits);
            assert_eq!(hits.iter().map(|h| (h.literal, h.end)).collect::<Vec<_>>(), [(7, 8), (7, 18)], "{backend:?}");
        }
    }
}

#[test]
fn no_needles_are_no_hits() {
    for backend in built_in() {
        let mut hits = Vec::new();
        backend.prepare(Vec::new(), "test").expect("nothing is easy").scan(b"text", 0, &mut hits);
        assert!(hits.is_empty());
    }
}

/// Searches when its thread ends, and tells what it found.
struct AtTheEnd(Box<dyn Candidates>, std::sync::mpsc::SyncSender<Vec<Hit>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let mut hits = Vec::new();
        self.0.scan(b"a needle", 0, &mut hits);
        let _ = self.1.send(hits);
    }
}

std::thread_local! {
    static EARLY: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
    static LATE: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
}

/// What a thread keeps for itself goes one by one when it ends: for one of the two searches a backend's scratch space is
/// there no more.
#[test]
fn a_thread_that_ends_still_searches() {
    let one = Wanted { text: b"needle".into(), cases: vec![Case::Any], guard: (0..=255).collect(), id: 7 };
    for backend in built_in() {
        let (sender, hits) = std::sync::mpsc::sync_channel(2);
        let needles = vec![one.needle()];
        let thread = std::thread::spawn(move || {
            let make = || backend.prepare(needles.clone(), "test").expect("it takes this");
            EARLY.set(Some(AtTheEnd(make(), sender.clone())));
            make().scan(b"needle", 0, &mut Vec::new());
            LATE.set(Some(AtTheEnd(make(), sender)));
        });
        thread.join().expect("it does not panic");
        let all: Vec<Vec<Hit>> = hits.iter().collect();
        assert_eq!(all, vec![vec![Hit { literal: 7, end: 8 }]; 2], "{backend:?}");
    }
}

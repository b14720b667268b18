//! Finds all forms of all values at once: an Aho–Corasick automaton over symbols.
//!
//! Its state after a text is the longest end of the text that begins some form. That is everything a stream needs: the
//! forms that end here are the state's and those of the shorter ends behind it, and the state's depth *is* the least
//! hold. A text takes two steps a byte at most, whatever it is; nothing is verified afterwards, so no text can make it
//! slow.
//!
//! Symbols are bytes, or for base64 the six bits that a byte stands for. A base64 form may begin with a symbol of which
//! only the low bits are the value's ([`Lead`]): every symbol with these bits leads to the same state, which is sound
//! because nothing that the automaton falls back to includes the first symbol.
//!
//! This is *not* the candidate stage: it knows whole forms, and runs only where [`super::grams::Grams`] lets it.

use std::collections::HashMap;
use std::ops::Range;

/// Most states of an automaton: 21 bytes each, 84 MiB. Ordinary values take about ten states a byte (hex and base64 the
/// most of them), so this is 400 KB of secrets; a file with more is an attack on memory, or not a file of secrets.
pub(super) const MAX_NODES: usize = 4 << 20;

/// How much of a form's first symbol is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Lead {
    /// All of it: it is the first of the text.
    None,
    /// One more symbol stands in front, with these low four bits.
    Low4(u8),
    /// The same with two bits.
    Low2(u8),
}

impl Lead {
    fn kind(self) -> usize {
        match self {
            Lead::None => 0,
            Lead::Low4(_) => 1,
            Lead::Low2(_) => 2,
        }
    }

    /// The symbols that may stand in front; none without a lead.
    pub(super) fn symbols(self) -> impl Iterator<Item = u8> {
        (0..64).filter(move |s| match self {
            Lead::None => false,
            Lead::Low4(bits) => s & 15 == bits,
            Lead::Low2(bits) => s & 3 == bits,
        })
    }
}

/// A form of a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern {
    pub(super) lead: Lead,
    /// Symbols, without the lead.
    pub(super) text: Vec<u8>,
    /// Index of the value.
    pub(super) value: u32,
}

impl Pattern {
    /// How many symbols it has with its lead.
    pub(super) fn len(&self) -> usize {
        self.text.len() + usize::from(self.lead != Lead::None)
    }
}

/// A state.
pub(super) type Node = u32;
/// Nothing was read that begins a form.
pub(super) const ROOT: Node = 0;
const NONE: u32 = u32::MAX;

struct State {
    /// Its first edge; the next state's is behind its last.
    edges: u32,
    fail: Node,
    /// What ends here: index into `outs`.
    out: u32,
    depth: u16,
}

/// Forms that end in a state.
struct Out {
    depth: u16,
    /// Indices into `values`.
    values: Range<u32>,
    /// Of the next shorter end.
    next: u32,
}

/// The automaton.
pub(super) struct Automaton {
    states: Vec<State>,
    labels: Vec<u8>,
    targets: Vec<Node>,
    root: Box<[Node; 256]>,
    outs: Vec<Out>,
    values: Vec<u32>,
}

impl Automaton {
    /// Builds it. `None` if it would be larger than [`MAX_NODES`].
    pub(super) fn new(mut patterns: Vec<Pattern>) -> Option<Automaton> {
        patterns.sort();
        patterns.dedup();
        Builder { patterns, ..Builder::default() }.build()
    }

    /// Takes a symbol.
    #[inline]
    pub(super) fn next(&self, mut node: Node, symbol: u8) -> Node {
        while node != ROOT {
            if let Some(next) = self.edge(node, symbol) {
                return next;
            }
            node = self.states[node as usize].fail;
        }
        self.root[usize::from(symbol)]
    }

    #[inline]
    fn edge(&self, node: Node, symbol: u8) -> Option<Node> {
        let range = self.states[node as usize].edges as usize..self.states[node as usize + 1].edges as usize;
        let labels = &self.labels[range.clone()];
        let at = if labels.len() < 4 {
            labels.iter().position(|l| *l == symbol)
        } else {
            labels.binary_search(&symbol).ok()
        };
        at.map(|at| self.targets[range.start + at])
    }

    /// How many symbols at the end of the text begin a form.
    #[inline]
    pub(super) fn depth(&self, node: Node) -> usize {
        usize::from(self.states[node as usize].depth)
    }

    /// How a beginning goes on: symbols, and where they lead.
    pub(super) fn edges(&self, node: Node) -> impl Iterator<Item = (u8, Node)> {
        let range = self.states[node as usize].edges as usize..self.states[node as usize + 1].edges as usize;
        self.labels[range.clone()].iter().copied().zip(self.targets[range].iter().copied())
    }

    /// Whether a form ends here that begins where the state's text begins.
    pub(super) fn is_whole(&self, node: Node) -> bool {
        self.matches(node).any(|(_, len)| len == self.depth(node))
    }

    /// The longest shorter beginning.
    pub(super) fn shorter(&self, node: Node) -> Node {
        self.states[node as usize].fail
    }

    /// The longest beginning that can still go on, of a state in which something ended.
    #[inline]
    pub(super) fn open(&self, mut node: Node) -> Node {
        while node != ROOT && self.states[node as usize].edges == self.states[node as usize + 1].edges {
            node = self.states[node as usize].fail;
        }
        node
    }

    /// Whether anything ends in a state.
    #[inline]
    pub(super) fn ends(&self, node: Node) -> bool {
        self.states[node as usize].out != NONE
    }

    /// What ends in a state, the longest first: values and length in symbols.
    pub(super) fn matches(&self, node: Node) -> impl Iterator<Item = (&[u32], usize)> {
        let get = |out: u32| self.outs.get(out as usize);
        std::iter::successors(get(self.states[node as usize].out), move |o| get(o.next))
            .map(|o| (&self.values[o.values.start as usize..o.values.end as usize], usize::from(o.depth)))
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.states.len() * size_of::<State>()
            + self.labels.len()
            + self.targets.len() * size_of::<Node>()
            + self.outs.len() * size_of::<Out>()
            + self.values.len() * size_of::<u32>()
            + 1024
    }
}

/// For each kind of lead, the patterns that a state's text begins: ranges of the sorted list.
type Ranges = [(u32, u32); 3];

#[derive(Default)]
struct Builder {
    patterns: Vec<Pattern>,
    states: Vec<State>,
    labels: Vec<u8>,
    targets: Vec<Node>,
    outs: Vec<Out>,
    values: Vec<u32>,
    root: Vec<Node>,
}

impl Builder {
    /// Level by level, so that what a state falls back to is finished before it.
    fn build(mut self) -> Option<Automaton> {
        let leads = self.patterns.iter().any(|p| p.lead != Lead::None);
        self.root = vec![ROOT; 256];
        self.states.push(State { edges: 0, fail: ROOT, out: NONE, depth: 0 });
        let mut level: Vec<(Node, Ranges)> = vec![(ROOT, [(0, 0); 3])];
        let mut depth = 0;
        let mut children = Vec::new();
        while !level.is_empty() {
            let mut next = Vec::new();
            let mut known: HashMap<Ranges, Node> = HashMap::new();
            for (node, ranges) in level {
                self.states[node as usize].edges = self.labels.len() as u32;
                children.clear();
                if depth == 0 {
                    self.first(&mut children)
                } else {
                    self.behind(&ranges, depth, &mut children)
                }
                children.sort_unstable_by_key(|(symbol, _)| *symbol);
                for (symbol, ranges) in &children {
                    let child = match known.get(ranges) {
                        Some(child) => *child,
                        None => {
                            let child = self.state(node, *symbol, ranges, depth + 1)?;
                            if leads {
                                known.insert(*ranges, child);
                            }
                            next.push((child, *ranges));
                            child
                        }
                    };
                    self.labels.push(*symbol);
                    self.targets.push(child);
                }
                if node == ROOT {
                    for (symbol, target) in self.labels.iter().zip(&self.targets) {
                        self.root[usize::from(*symbol)] = *target;
                    }
                }
            }
            level = next;
            depth += 1;
        }
        // Behind the last state's edges.
        self.states.push(State { edges: self.labels.len() as u32, fail: ROOT, out: NONE, depth: 0 });
        Some(Automaton {
            states: self.states,
            labels: self.labels,
            targets: self.targets,
            root: self.root.try_into().ok()?,
            outs: self.outs,
            values: self.values,
        })
    }

    /// A new state, reached from `parent` by `symbol`.
    fn state(&mut self, parent: Node, symbol: u8, ranges: &Ranges, depth: usize) -> Option<Node> {
        let node = self.states.len() as Node;
        if self.states.len() >= MAX_NODES {
            return None;
        }
        let fail = if parent == ROOT { ROOT } else { self.fall(self.states[parent as usize].fail, symbol) };
        let shorter = self.states[fail as usize].out;
        let from = self.values.len();
        for (kind, (lo, hi)) in ranges.iter().enumerate() {
            let here = &self.patterns[*lo as usize..*hi as usize];
            let ended = here.iter().take_while(|p| p.text.len() + usize::from(kind > 0) == depth);
            self.values.extend(ended.map(|p| p.value));
        }
        let mut ended = self.values.split_off(from);
        ended.sort_unstable();
        ended.dedup();
        self.values.extend(ended);
        let out = if self.values.len() == from {
            shorter
        } else {
            let values = from as u32..self.values.len() as u32;
            self.outs.push(Out { depth: depth as u16, values, next: shorter });
            self.outs.len() as u32 - 1
        };
        self.states.push(State { edges: 0, fail, out, depth: depth as u16 });
        Some(node)
    }

    /// Where a finished state goes with `symbol`.
    fn fall(&self, mut node: Node, symbol: u8) -> Node {
        while node != ROOT {
            let range = self.states[node as usize].edges as usize..self.states[node as usize + 1].edges as usize;
            if let Ok(at) = self.labels[range.clone()].binary_search(&symbol) {
                return self.targets[range.start + at];
            }
            node = self.states[node as usize].fail;
        }
        self.root[usize::from(symbol)]
    }

    /// What the first symbol can be.
    fn first(&self, out: &mut Vec<(u8, Ranges)>) {
        let mut of: Vec<Ranges> = vec![[(0, 0); 3]; 256];
        let mut from = 0;
        while from < self.patterns.len() {
            let p = &self.patterns[from];
            let head = |p: &Pattern| (p.lead, (p.lead == Lead::None).then_some(p.text[0]));
            let to = from + self.patterns[from..].partition_point(|q| head(q) <= head(p));
            let range = (from as u32, to as u32);
            match p.lead {
                Lead::None => of[usize::from(p.text[0])][0] = range,
                lead => lead.symbols().for_each(|s| of[usize::from(s)][lead.kind()] = range),
            }
            from = to;
        }
        out.extend((0..=255u8).zip(of).filter(|(_, r)| r.iter().any(|(lo, hi)| lo < hi)));
    }

    /// What can follow `depth` symbols.
    fn behind(&self, ranges: &Ranges, depth: usize, out: &mut Vec<(u8, Ranges)>) {
        for (kind, (lo, hi)) in ranges.iter().enumerate() {
            let at = depth - usize::from(kind > 0);
            let here = &self.patterns[*lo as usize..*hi as usize];
            let mut from = here.iter().take_while(|p| p.text.len() == at).count();
            while from < here.len() {
                let symbol = here[from].text[at];
                let to = from + here[from..].partition_point(|p| p.text[at] <= symbol);
                let range = (lo + from as u32, lo + to as u32);
                match out.iter_mut().find(|(s, _)| *s == symbol) {
                    Some((_, r)) => r[kind] = range,
                    None => {
                        let mut r = [(0, 0); 3];
                        r[kind] = range;
                        out.push((symbol, r));
                    }
                }
                from = to;
            }
        }
    }
}

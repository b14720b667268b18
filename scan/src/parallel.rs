//! Work that is cut into equal jobs, on all processors.
//!
//! For loading rules only: a stream is filtered on the thread that pushes.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Fewer jobs than this are done here: starting a thread costs what a few plans do.
const WORTH_A_THREAD: usize = 32;
/// Most threads: the largest built-in set has a second of work in it, and other programs have work too.
const MAX_THREADS: usize = 8;
/// Stack of a thread, in bytes: what a main thread has. The compiler of automata recurses into groups.
const STACK: usize = 8 << 20;

/// `f` of each item, in order. Cheap jobs.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    run(items, if items.len() < WORTH_A_THREAD { 1 } else { MAX_THREADS }, f)
}

/// The same for jobs that are worth a thread each. The longest should come first.
pub(crate) fn map_heavy<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    run(items, MAX_THREADS.min(items.len()), f)
}

fn run<T: Sync, R: Send>(items: &[T], threads: usize, f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(threads);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, f(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut done = work();
        for other in others {
            // A panic there is one here.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, r)| r).collect()
}

//! Seccomp: the system calls that the daemon makes once its sockets are open. Any other is answered as if the kernel had it
//! not (`ENOSYS`), so that a newer C library falls back to an older call instead of failing.
//!
//! Each group says who needs it. There is no call that starts a program, loads code, opens a network socket, mounts,
//! traces or changes users. Memory is never made executable.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls whose arguments do not matter.
const ANY: &[&[libc::c_long]] = &[
    // Sockets of clients, of metrics and of systemd, and the ring's descriptors.
    &[libc::SYS_accept4, libc::SYS_connect, libc::SYS_shutdown, libc::SYS_getsockopt, libc::SYS_setsockopt],
    &[libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_socketpair],
    &[libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_sendto, libc::SYS_sendmsg],
    // The runtime: readiness, wake-ups, time.
    &[libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_eventfd2, libc::SYS_pipe2],
    &[libc::SYS_ppoll, libc::SYS_timerfd_create, libc::SYS_timerfd_settime],
    &[libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep, libc::SYS_gettimeofday],
    // Threads: of the runtime, of a compilation, of the audit log.
    &[libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_membarrier],
    &[libc::SYS_clone, libc::SYS_clone3, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_gettid, libc::SYS_getpid],
    &[libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_getcpu],
    // Signals: SIGHUP, SIGTERM, stack overflow; `tgkill` is how a panic in a panic aborts.
    &[
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_tgkill,
    ],
    &[libc::SYS_restart_syscall],
    // Memory, and the ring's memory files.
    &[libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_madvise, libc::SYS_memfd_create],
    // Files: config, packs, secrets, rule cache, audit log, /proc/self.
    &[libc::SYS_openat, libc::SYS_close, libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev],
    &[libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_lseek, libc::SYS_fcntl, libc::SYS_dup, libc::SYS_flock],
    &[libc::SYS_statx, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_getdents64, libc::SYS_readlinkat],
    &[libc::SYS_ftruncate, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_unlinkat, libc::SYS_mkdirat],
    &[libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_faccessat],
    // Who am I, how much may I, and chance.
    &[libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getrandom, libc::SYS_uname],
    &[libc::SYS_sysinfo, libc::SYS_getrusage],
];

/// The same calls by their older names, which the C library uses where they are.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_unlink,
    libc::SYS_mkdir,
    libc::SYS_rename,
    libc::SYS_readlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Confines all threads that there are, and those that they start. Gives a line for people.
pub(super) fn confine() -> Result<String, String> {
    let told = |e: &dyn std::fmt::Display| format!("seccomp ({e})");
    let rules = rules().map_err(|e| told(&e))?;
    let n = rules.len();
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|e| told(&e))?;
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch).map_err(|e| told(&e))?;
    let program: BpfProgram = filter.try_into().map_err(|e: seccompiler::BackendError| told(&e))?;
    seccompiler::apply_filter_all_threads(&program).map_err(|e| told(&e))?;
    Ok(format!("seccomp ({n} calls)"))
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules() -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    let mut rules: Rules = ANY.iter().copied().flatten().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    let mut only = |call: libc::c_long, argument: u8, allowed: &[(SeccompCmpOp, u64)]| {
        let rule = |(op, value): &(SeccompCmpOp, u64)| {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op.clone(), *value)?;
            SeccompRule::new(vec![condition])
        };
        let of_call: Result<Vec<_>, _> = allowed.iter().map(rule).collect();
        rules.insert(call, of_call?);
        Ok::<_, seccompiler::BackendError>(())
    };
    // To tell systemd. No other family: no network, no netlink.
    only(libc::SYS_socket, 0, &[(Eq, libc::AF_UNIX as u64)])?;
    let executable = u64::from(libc::PROT_EXEC as u32);
    only(libc::SYS_mmap, 2, &[(MaskedEq(executable), 0)])?;
    only(libc::SYS_mprotect, 2, &[(MaskedEq(executable), 0)])?;
    // Non-blocking, close-on-exec, and whether standard error is a terminal.
    let ioctls = [libc::FIONBIO, libc::FIOCLEX, libc::TCGETS].map(|n| (Eq, n));
    only(libc::SYS_ioctl, 1, &ioctls)?;
    // Names of threads, and of the allocator's memory.
    only(libc::SYS_prctl, 0, &[(Eq, libc::PR_SET_NAME as u64), (Eq, libc::PR_SET_VMA as u64)])?;
    // Reading limits, not setting them: the new ones are at no address.
    let condition = SeccompCondition::new(2, SeccompCmpArgLen::Qword, Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![condition])?]);
    Ok(rules)
}

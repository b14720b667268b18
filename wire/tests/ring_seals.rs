//! What the kernel keeps a peer from doing with a ring's files: one test a seal, each by trying.
#![allow(unsafe_code)] // An attacker maps files as it likes.
#![allow(clippy::unwrap_used)] // A test that cannot go on fails.

use std::os::fd::{AsFd, OwnedFd};

use bytes::BytesMut;
use forebay_wire::ring::{End, HEADER, MIN_CAPACITY, RingError, RingFiles};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect, munmap};

const UP: u32 = MIN_CAPACITY;
const DOWN: u32 = 2 * MIN_CAPACITY;

/// Tries to map a file as an attacker would. The mapping is taken away again.
fn try_map(file: impl AsFd, protection: ProtFlags, then: Option<MprotectFlags>) -> Result<(), Errno> {
    // SAFETY: a new mapping at an address of the kernel's choice, which nobody touches and this function unmaps.
    unsafe {
        let base = mmap(std::ptr::null_mut(), HEADER, protection, MapFlags::SHARED, file, 0)?;
        let changed = then.map_or(Ok(()), |p| mprotect(base, HEADER, p));
        munmap(base, HEADER).unwrap();
        changed
    }
}

fn files() -> RingFiles {
    RingFiles::create(UP, DOWN).unwrap().0
}

#[test]
fn neither_file_shrinks_or_grows() {
    let files = files();
    for (file, capacity) in [(&files.to_daemon, UP), (&files.to_client, DOWN)] {
        let size = HEADER as u64 + u64::from(capacity);
        assert_eq!(ftruncate(file, size - 1), Err(Errno::PERM));
        assert_eq!(ftruncate(file, 0), Err(Errno::PERM));
        assert_eq!(ftruncate(file, size + 1), Err(Errno::PERM));
        assert_eq!(fallocate(file, FallocateFlags::empty(), size, 1), Err(Errno::PERM));
        assert_eq!(ftruncate(file, size), Ok(()), "its own size is no change");
    }
}

#[test]
fn no_seal_can_be_added() {
    let files = files();
    for file in [&files.to_daemon, &files.to_client] {
        // Sealing the file that the client writes would turn its own stores into faults, and the daemon's into none.
        assert_eq!(fcntl_add_seals(file, SealFlags::FUTURE_WRITE), Err(Errno::PERM));
    }
}

#[test]
fn nobody_but_the_daemon_writes_the_file_to_the_client() {
    let (files, daemon) = RingFiles::create(UP, DOWN).unwrap();
    let file = &files.to_client;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    assert_eq!(try_map(file, both, None), Err(Errno::PERM));
    assert_eq!(try_map(file, ProtFlags::READ, Some(MprotectFlags::READ | MprotectFlags::WRITE)), Err(Errno::ACCESS));
    assert_eq!(rustix::io::pwrite(file, b"x", 0), Err(Errno::PERM));
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    assert_eq!(fallocate(file, hole, 0, 4096), Err(Errno::PERM));
    // Opening it anew gives a descriptor that can write, but the seal is the file's.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    let again: OwnedFd = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap().into();
    assert_eq!(try_map(&again, both, None), Err(Errno::PERM));
    assert_eq!(rustix::io::pwrite(&again, b"x", 0), Err(Errno::PERM));

    // The daemon's own mapping, made before the seal, still writes, and a client reads it.
    let (mut daemon, mut client) = (End::new(daemon), End::new(files.accept().unwrap()));
    assert_eq!(daemon.write(b"still"), 5);
    let _ = daemon.publish();
    client.refresh().unwrap();
    let mut got = BytesMut::with_capacity(16);
    assert_eq!(client.read(&mut got, 16), 5);
    assert_eq!(&got[..], b"still");
}

/// What no seal forbids: the client's file can lose its pages. The daemon reads zeros, and no more memory is used.
#[test]
fn a_hole_in_the_file_to_the_daemon_is_zeros() {
    let (files, daemon) = RingFiles::create(UP, DOWN).unwrap();
    let (mut daemon, mut client) = (End::new(daemon), End::new(files.accept().unwrap()));
    assert_eq!(client.write(&[7; 6000]), 6000);
    let _ = client.publish();
    daemon.refresh().unwrap();
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    assert_eq!(fallocate(&files.to_daemon, hole, HEADER as u64, 4096), Ok(()));
    let mut got = BytesMut::with_capacity(6000);
    assert_eq!(daemon.read(&mut got, 6000), 6000);
    assert!(got[..4096].iter().all(|b| *b == 0));
    assert!(got[4096..].iter().all(|b| *b == 7));
    assert!(forebay_wire::decode(&mut got).is_err(), "zeros are no frame");

    // A hole where the words are is an index that went back.
    assert_eq!(fallocate(&files.to_daemon, hole, 0, HEADER as u64), Ok(()));
    assert_eq!(daemon.refresh().map_err(|v| v.as_str()), Err("tail-rewound"));
}

/// A file of `size` bytes with these seals, as an impostor would send it.
fn made(size: u64, seals: SealFlags) -> OwnedFd {
    let file = memfd_create(c"impostor", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, size).unwrap();
    if !seals.is_empty() {
        fcntl_add_seals(&file, seals).unwrap();
    }
    file
}

#[test]
fn a_client_takes_no_file_that_can_change() {
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let size = |capacity: u32| HEADER as u64 + u64::from(capacity);
    let offer = |to_daemon: OwnedFd, to_client: OwnedFd, capacities| {
        RingFiles { to_daemon, to_client, capacities }.accept().map(|_| ()).unwrap_err()
    };
    let good = || made(size(UP), all);
    let read_only = || made(size(DOWN), all | SealFlags::FUTURE_WRITE);
    let to = (UP, DOWN);
    let taken = RingFiles { to_daemon: good(), to_client: read_only(), capacities: to };
    assert!(taken.accept().is_ok(), "the files that the rest is compared with");

    for seals in [SealFlags::empty(), SealFlags::SHRINK, all.difference(SealFlags::SEAL)] {
        assert_eq!(offer(made(size(UP), seals), read_only(), to), RingError::Unsealed);
        assert_eq!(offer(good(), made(size(DOWN), seals), to), RingError::Unsealed);
    }
    assert_eq!(offer(good(), made(size(DOWN), all), to), RingError::Unsealed, "others could write it");
    let (expected, found) = (i64::try_from(size(UP)).unwrap(), i64::try_from(size(UP) - 1).unwrap());
    assert_eq!(offer(made(size(UP) - 1, all), read_only(), to), RingError::Size { found, expected });
    for bad in [0, 1, MIN_CAPACITY - 1, MIN_CAPACITY + 1, 3 * MIN_CAPACITY, 1 << 31, u32::MAX] {
        assert_eq!(offer(good(), read_only(), (bad, DOWN)), RingError::Capacity(bad));
        assert_eq!(offer(good(), read_only(), (UP, bad)), RingError::Capacity(bad));
        assert_eq!(RingFiles::create(bad, DOWN).map(|_| ()).unwrap_err(), RingError::Capacity(bad));
    }
    let regular: OwnedFd = std::fs::File::open("/proc/self/exe").unwrap().into();
    assert_eq!(offer(regular, read_only(), to), RingError::Unsealed);
    let (pipe, _) = rustix::pipe::pipe().unwrap();
    assert_eq!(offer(pipe, read_only(), to), RingError::Unsealed);
}

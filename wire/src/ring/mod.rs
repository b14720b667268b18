//! The shared-memory ring: the fast path between a client and the daemon that granted it.
//!
//! Two files of memory a connection, each with one writer: the client writes the one to the daemon, the daemon the one to
//! the client, and each is read-only for the other side. Each holds a ring of bytes, and the bytes are the same frames
//! that the socket carries. While both sides are busy no system call is made. What it is *not*: a queue of messages, a
//! pool of buffers that both sides point into, or anything that needs the peer to behave.
//!
//! ```text
//! offset 0      the writer's words, one cache line: Tail, Head (of the other ring), Parked, Wake, Cpu
//! offset 4096   the ring's bytes, a power of two of them
//! ```
//!
//! - [`End`] is one side's state machine: private counts, one look at the peer's a pass, checks, copies; when the peer
//!   must be woken. It is written against [`Memory`], so that a model checker drives the very type that ships.
//! - [`RingFiles`] makes and seals the files, and checks them at the client; [`Mapped`] is the memory that ships.
//!   [`send_files`] and [`receive_files`] pass them over the socket, [`send_wake`] wakes who sleeps there.
//! - [`Waiter`] pauses and sleeps; [`Pauses`] is its budget.
//!
//! # Parking and waking
//! A side that has nothing to do announces in its own `Parked` word what it wants, under a new ticket, then looks once
//! more, then sleeps. A side that publishes looks at the peer's `Parked` afterwards, and wakes it once a ticket. Between
//! announcing and looking, and between publishing and looking, stands a sequentially consistent fence: one of the two
//! must see the other. How it sleeps differs:
//!
//! - A client sleeps by futex on the daemon's `Wake` word, with the value that it had *before* the announcement. The waker
//!   changes that word first: the word slept on is the one that a wake-up changes, never an index.
//! - The daemon sleeps on its socket, where its other events are, and is woken by a Wake frame. It never sleeps on memory
//!   that a client writes, never blocks on anything a client owns: its futex call is a wake, its send is `MSG_DONTWAIT`. A full
//!   socket needs no Wake frame, since it wakes by itself. Async clients are woken the same way ([`Bell::Socket`]).
//!
//! # What is checked
//! Attacker: the peer, who may store anything in its words and bytes at any time, between any two instructions of ours.
//!
//! | what it does | what happens |
//! |---|---|
//! | an index goes back, or beyond what is free or written | [`Violation`], the connection ends |
//! | bytes change while they are copied | some mixture is copied, once; it is parsed from private memory |
//! | says that it sleeps, and does not | one wake-up a ticket, at most one a pass |
//! | says that it is awake, and sleeps | it sleeps on |
//! | lies about its processor | this side pauses its bounded budget, or sleeps at once |
//! | shrinks, grows, unseals a file; maps the daemon's for writing | refused by seals |
//! | punches holes into its own file | zeros, which are no frame |
//! | never reads | room runs out, as a socket's buffer does |
//! | dies | the socket ends; what it had published is still there to be read |
//!
//! # What could make it fail
//! - *A lost wake-up*: the fences and the word slept on; `tests/ring_model.rs` tries every interleaving that loom knows, and
//!   shows that leaving a fence out, or sleeping past a changed word, is found.
//! - *2²⁹ parks in a row of which not one was seen by the peer*: the ticket repeats, and the peer takes it for one that it
//!   rang for. Each of them is a sleep that ran out, so this takes years; the next slice of the sleep mends it.
//! - *A peer's client in another language that stores words without release*: on arm64 the bytes may come after the index.
//!   It garbles its own stream, nothing else.
#![deny(unsafe_code)]

#[allow(unsafe_code)] // Memory that another process writes.
mod copy;
mod end;
mod layout;
mod mapped;
mod memfd;
mod memory;
mod pauses;
#[allow(unsafe_code)] // Memory that another process writes.
mod region;
mod socket;
mod violation;
mod wait;

pub use end::{Bell, End, Park, Ring, Want};
pub use layout::{HEADER, MAX_CAPACITY, MIN_CAPACITY, Word, is_capacity};
pub use mapped::Mapped;
pub use memfd::{RingError, RingFiles};
pub use memory::Memory;
pub use pauses::{LONGEST_PAUSE, Pauses, USUAL_PAUSE};
pub use socket::{receive_files, send_files, send_wake};
pub use violation::Violation;
pub use wait::{Paused, Waiter, Woken};

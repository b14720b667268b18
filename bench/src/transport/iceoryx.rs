//! iceoryx2 publish-subscribe, and a process with the filter behind it: a message a push, and one back. Both sides poll
//! without ever sleeping, which is how its own benchmarks measure it; it trusts its peers, as it says.

use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, anyhow};
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use rustix::process::{Pid, Signal, kill_process};

use super::{Filter, PIECE, Way, rules};

/// Longest message, in bytes: a piece and what a hold may add to it.
const LONGEST: usize = 4 * PIECE;

/// Pieces sent ahead of their answers.
const AHEAD: usize = 8;

/// An empty message ends a stream, and is answered by one.
const END: &[u8] = &[];

type Out = Publisher<ipc::Service, [u8], ()>;
type In = Subscriber<ipc::Service, [u8], ()>;

/// The client's end.
pub struct Iceoryx {
    child: Child,
    to: Out,
    from: In,
    _node: Node<ipc::Service>,
}

fn ends(name: &str, client: bool) -> Result<(Node<ipc::Service>, Out, In)> {
    let node = NodeBuilder::new().create::<ipc::Service>().map_err(|e| anyhow!("{e:?}"))?;
    let service = |way: &str| {
        node.service_builder(&format!("forebay-bench/{name}/{way}").as_str().try_into().map_err(|e| anyhow!("{e:?}"))?)
            .publish_subscribe::<[u8]>()
            .subscriber_max_buffer_size(4 * AHEAD)
            .open_or_create()
            .map_err(|e| anyhow!("{e:?}"))
    };
    let (there, back) = (service("there")?, service("back")?);
    let (out, into) = if client { (&there, &back) } else { (&back, &there) };
    let publisher = out.publisher_builder().initial_max_slice_len(LONGEST).create().map_err(|e| anyhow!("{e:?}"))?;
    let subscriber = into.subscriber_builder().create().map_err(|e| anyhow!("{e:?}"))?;
    Ok((node, publisher, subscriber))
}

fn send(to: &Out, bytes: &[u8]) -> Result<()> {
    let sample = to.loan_slice_uninit(bytes.len()).map_err(|e| anyhow!("{e:?}"))?;
    sample.write_from_slice(bytes).send().map_err(|e| anyhow!("{e:?}"))?;
    Ok(())
}

/// The next message, copied: what it points to goes back to the sender.
fn receive(from: &In, buffer: &mut Vec<u8>) -> Result<bool> {
    match from.receive().map_err(|e| anyhow!("{e:?}"))? {
        Some(sample) => {
            buffer.clear();
            buffer.extend_from_slice(sample.payload());
            Ok(true)
        }
        None => Ok(false),
    }
}

impl Iceoryx {
    /// Starts this program as the server, and waits until it answers.
    ///
    /// # Errors
    /// It does not.
    pub fn start(profile: &str) -> Result<Iceoryx> {
        let name = format!("{profile}-{}", std::process::id());
        let (node, to, from) = ends(&name, true)?;
        let child = Command::new(std::env::current_exe()?)
            .args(["--serve", "iceoryx2", "--name", &name, "--profile", profile])
            .stdin(Stdio::piped())
            .spawn()?;
        let way = Iceoryx { child, to, from, _node: node };
        let (began, mut buffer) = (std::time::Instant::now(), Vec::new());
        loop {
            send(&way.to, END)?;
            std::thread::sleep(std::time::Duration::from_millis(20));
            if receive(&way.from, &mut buffer)? {
                break;
            }
            anyhow::ensure!(began.elapsed().as_secs() < 120, "the iceoryx2 server does not answer");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        while receive(&way.from, &mut buffer)? {}
        let mut way = way;
        way.turn(false)?;
        Ok(way)
    }

    fn answer(&self) -> Result<()> {
        let mut buffer = Vec::with_capacity(LONGEST);
        while !receive(&self.from, &mut buffer)? {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

impl Drop for Iceoryx {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It polls until then.
        let _ = self.child.wait();
    }
}

impl Way for Iceoryx {
    fn trip(&mut self, bytes: &[u8]) -> Result<()> {
        send(&self.to, bytes)?;
        self.answer()
    }

    fn through(&mut self, text: &[u8]) -> Result<()> {
        let mut ahead = 0;
        for piece in text.chunks(PIECE).chain([END]) {
            send(&self.to, piece)?;
            ahead += 1;
            if ahead == AHEAD {
                self.answer()?;
                ahead -= 1;
            }
        }
        (0..ahead).try_for_each(|_| self.answer())
    }

    fn turn(&mut self, begins: bool) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        Ok(kill_process(pid, if begins { Signal::CONT } else { Signal::STOP })?)
    }
}

/// The server. Ends when it is killed, or nobody is there any more.
///
/// # Errors
/// The rules do not compile, or the library fails.
pub fn serve(name: &str, profile: &str) -> Result<()> {
    let mut filter = Filter::new(rules(profile)?);
    let (_node, to, from) = ends(name, false)?;
    let mut buffer = Vec::with_capacity(LONGEST);
    loop {
        if !receive(&from, &mut buffer)? {
            std::hint::spin_loop();
        } else if buffer.is_empty() {
            filter.restart();
            send(&to, END)?;
        } else {
            send(&to, filter.push(&buffer).context("pushing")?)?;
        }
    }
}

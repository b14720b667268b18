//! The terminal view: numbers, two curves of the last minutes, findings.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Sparkline};
use ratatui::{DefaultTerminal, Frame};

use super::numbers::{Numbers, size, time};
use super::scrape::Reading;

/// Looks kept for the curves: more than a wide terminal has columns.
const HISTORY: usize = 512;

struct View {
    numbers: Numbers,
    bytes: VecDeque<u64>,
    /// Nanoseconds.
    p99: VecDeque<u64>,
    paused: bool,
    /// Why the last look failed: the numbers are old then.
    lost: Option<String>,
    color: bool,
}

/// Shows the view until the user ends it. The terminal is given back as it was, also if something fails.
pub(super) fn run(socket: &Path, first: Reading, interval: Duration, color: bool) -> anyhow::Result<()> {
    let mut terminal =
        ratatui::try_init().context("the terminal cannot be taken over; `forebay top | cat` needs none")?;
    let done = turn(&mut terminal, socket, first, interval, color);
    ratatui::restore();
    done
}

fn turn(
    terminal: &mut DefaultTerminal,
    socket: &Path,
    mut before: Reading,
    interval: Duration,
    color: bool,
) -> anyhow::Result<()> {
    let mut view = View {
        numbers: Numbers::between(&before, &before),
        bytes: VecDeque::new(),
        p99: VecDeque::new(),
        paused: false,
        lost: None,
        color,
    };
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| view.draw(frame)).context("cannot draw on the terminal")?;
        if event::poll(next.saturating_duration_since(Instant::now())).context("cannot read the terminal")? {
            if let Event::Key(key) = event::read().context("cannot read the terminal")?
                && key.kind == KeyEventKind::Press
            {
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                    KeyCode::Char('p') => view.paused = !view.paused,
                    _ => {}
                }
            }
            continue;
        }
        next = Instant::now() + interval;
        if view.paused {
            continue;
        }
        match Reading::take(socket) {
            Ok(now) => {
                view.take(Numbers::between(&before, &now));
                before = now;
            }
            // A daemon that restarts comes back.
            Err(e) => view.lost = Some(e.to_string()),
        }
    }
}

impl View {
    fn take(&mut self, numbers: Numbers) {
        self.lost = None;
        for (history, value) in [
            (&mut self.bytes, numbers.bytes_in as u64),
            (&mut self.p99, numbers.push.map_or(0, |q| (q[1] * 1e9) as u64)),
        ] {
            history.push_back(value);
            if history.len() > HISTORY {
                history.pop_front();
            }
        }
        self.numbers = numbers;
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let lines = self.numbers.lines();
        let [text, bytes, p99, foot] =
            Layout::vertical([Constraint::Min(9), Constraint::Length(5), Constraint::Length(5), Constraint::Length(1)])
                .areas(frame.area());
        let text_lines: Vec<Line<'_>> = lines.iter().map(|l| self.line(l)).collect();
        frame.render_widget(Paragraph::new(text_lines), text);
        let title = format!("bytes in: {}/s", size(self.numbers.bytes_in));
        frame.render_widget(self.curve(&self.bytes, title, bytes.width, Color::Cyan), bytes);
        let title = format!("p99 of a push: {}", self.numbers.push.map_or("none".to_owned(), |q| time(q[1])));
        frame.render_widget(self.curve(&self.p99, title, p99.width, Color::Yellow), p99);
        let told = match &self.lost {
            Some(why) => format!("OLD NUMBERS: {why}"),
            None if self.paused => "paused; p goes on, q ends".to_owned(),
            None => "q ends, p pauses".to_owned(),
        };
        frame.render_widget(Paragraph::new(self.line(&told)), foot);
    }

    /// What is wrong stands out.
    fn line<'a>(&self, text: &'a str) -> Line<'a> {
        let wrong = ["REFUSED", "CANNOT BE WRITTEN", "OLD NUMBERS"].iter().any(|w| text.contains(w));
        match (wrong, self.color) {
            (true, true) => Line::styled(text, Style::new().fg(Color::Red).bold()),
            (true, false) => Line::styled(text, Style::new().bold()),
            _ => Line::raw(text),
        }
    }

    fn curve<'a>(&'a self, history: &VecDeque<u64>, title: String, width: u16, color: Color) -> Sparkline<'a> {
        let room = usize::from(width.saturating_sub(2));
        let shown: Vec<u64> = history.iter().skip(history.len().saturating_sub(room)).copied().collect();
        let style = if self.color { Style::new().fg(color) } else { Style::new() };
        Sparkline::default().block(Block::bordered().title(title)).data(shown).style(style)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_frame_shows_what_matters_and_fits_small_terminals() {
        let numbers = Numbers { version: "9.9".to_owned(), refused: true, bytes_in: 2.5e6, ..Numbers::default() };
        let mut view = View {
            numbers: Numbers::default(),
            bytes: VecDeque::new(),
            p99: VecDeque::new(),
            paused: false,
            lost: None,
            color: false,
        };
        for _ in 0..1000 {
            view.take(numbers.clone());
        }
        for (width, height) in [(120, 40), (80, 24), (20, 5), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|f| view.draw(f)).unwrap();
            let shown = terminal.backend().to_string();
            if width >= 80 {
                assert!(shown.contains("forebayd 9.9") && shown.contains("LAST RELOAD REFUSED"), "{shown}");
                assert!(shown.contains("bytes in: 2.5 MB/s") && shown.contains("q ends"), "{shown}");
            }
        }
    }
}

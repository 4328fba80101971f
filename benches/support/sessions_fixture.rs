//! A directory of many sessions for benchmarks and tests, always with the same bytes.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Words that occur only in the middle session.
pub(crate) const NEEDLE: &str = "quagga_in_the_middle";
/// Ideographs that occur only in the middle session.
pub(crate) const DENSE_NEEDLE: &str = "数据库连接池";

/// Exchanges of a session; an exchange is a prompt, an answer with a call, its output, and an answer.
const EXCHANGES: usize = 5;
/// The number of projects.
const PROJECTS: usize = 40;

/// Writes `count` sessions of about 17 kB each below `data`; the last ones are the newest.
pub(crate) fn write_sessions(data: &Path, count: usize) -> io::Result<()> {
    for number in 0..count {
        let project = number % PROJECTS;
        let folder = data.join(format!("sessions/--work-project{project:02}--"));
        if number < PROJECTS {
            std::fs::create_dir_all(&folder)?;
        }
        let id = format!("0199b3c4-0000-7000-8000-{number:012x}");
        let path = folder.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
        let text = session(number, &id, &format!("/work/project{project:02}"), count);
        #[expect(
            clippy::disallowed_methods,
            reason = "files for measuring need no care"
        )]
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// A line that can be appended to any of these sessions.
pub(crate) fn later_prompt(text: &str) -> String {
    format!(
        "{{\"id\":\"fffffff1\",\"parentId\":null,\"timestamp\":\"2026-02-01T00:00:00.000Z\",\"type\":\"message\",\
         \"message\":{{\"role\":\"user\",\"text\":\"{text}\",\"timestamp\":1}}}}\n"
    )
}

fn session(number: usize, id: &str, cwd: &str, count: usize) -> String {
    let mut words =
        Words(((number as u64).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9_7f4a_7c15) | 1);
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":1,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
         \"cwd\":\"{cwd}\"}}\n"
    );
    let mut entry = 0;
    let minutes = number % 40_000;
    let mut line = |body: String| {
        let parent = match entry {
            0 => "null".to_owned(),
            _ => format!("\"{:08x}\"", entry - 1),
        };
        let (day, hour, minute) = (1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
        let _ = writeln!(
            text,
            "{{\"id\":\"{entry:08x}\",\"parentId\":{parent},\
             \"timestamp\":\"2026-01-{day:02}T{hour:02}:{minute:02}:{:02}.000Z\",{body}}}",
            entry % 60
        );
        entry += 1;
    };
    for exchange in 0..EXCHANGES {
        let needle = match (exchange, number == count / 2) {
            (2, true) => format!("{NEEDLE} {DENSE_NEEDLE}"),
            _ => String::new(),
        };
        line(format!(
            "\"type\":\"message\",\"message\":{{\"role\":\"user\",\"text\":\"{} {needle}\",\"timestamp\":1}}",
            words.sentence(12)
        ));
        let path = format!("src/{}/{}.rs", words.word(), words.word());
        line(format!(
            "\"type\":\"message\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}},\
             {{\"type\":\"toolCall\",\"id\":\"c{exchange}\",\"name\":\"read\",\"arguments\":{{\"file_path\":\"{path}\"}}}}],\
             \"provider\":\"demo\",\"model\":\"tour\",\"usage\":{{\"input\":100,\"output\":20,\"cost\":{{\"total\":0.01}}}},\
             \"timestamp\":2}}",
            words.sentence(30)
        ));
        line(format!(
            "\"type\":\"message\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"c{exchange}\",\"toolName\":\"read\",\
             \"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}],\"isError\":false,\"timestamp\":3}}",
            words.code(40)
        ));
        line(format!(
            "\"type\":\"message\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{}\"}}],\
             \"provider\":\"demo\",\"model\":\"tour\",\"usage\":{{\"input\":100,\"output\":20}},\"timestamp\":4}}",
            words.sentence(80)
        ));
    }
    if number.is_multiple_of(5) {
        let name = words.sentence(3);
        line(format!("\"type\":\"session_info\",\"name\":\"{name}\""));
    }
    text
}

/// A generator of a few thousand words (xorshift64*).
struct Words(u64);

impl Words {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    /// The next word. Common words are more frequent.
    fn word(&mut self) -> String {
        const PARTS: &[&str] = &[
            "par", "ser", "to", "ken", "in", "dex", "lo", "ck", "se", "ssion", "wri", "te", "re",
            "ad", "bu", "ffer",
        ];
        let first = self.below(4000);
        let mut rank = self.below(first + 1);
        let mut word = String::new();
        loop {
            word.push_str(PARTS[(rank % 16) as usize]);
            rank /= 16;
            if rank == 0 {
                return word;
            }
        }
    }

    fn sentence(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn code(&mut self, lines: usize) -> String {
        let mut text = String::new();
        for line in 0..lines {
            let (one, two) = (self.word(), self.word());
            let _ = write!(text, "{line:>5}\\t    let {one} = self.{two}({line})?;\\n");
        }
        text
    }
}

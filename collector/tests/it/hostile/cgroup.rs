//! A group of processes with a limit of memory, made by the kernel as for a container.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A new cgroup, removed when dropped. Its processes must have ended by then.
pub(super) struct MemoryGroup {
    folder: PathBuf,
    files: &'static Files,
}

/// Names that differ between the versions of cgroups.
struct Files {
    parent: &'static str,
    limit: &'static str,
    peak: &'static str,
    /// Has the line `oom_kill N`.
    kills: &'static str,
}

const VERSIONS: [Files; 2] = [
    Files { parent: "/sys/fs/cgroup", limit: "memory.max", peak: "memory.peak", kills: "memory.events" },
    Files {
        parent: "/sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        peak: "memory.max_usage_in_bytes",
        kills: "memory.oom_control",
    },
];

impl MemoryGroup {
    /// `None`, and a word about it that no test runner hides, where this machine lets us make no such group.
    pub(super) fn of(name: &str, memory_bytes: u64) -> Option<Self> {
        let made = VERSIONS.iter().find_map(|files| Self::make(files, name, memory_bytes));
        if made.is_none() {
            // The runner captures `eprintln!` of tests that pass.
            let _ = writeln!(
                std::io::stderr(),
                "\nNO WRITABLE CGROUP: {name} runs with `memory_bytes = {memory_bytes}` instead. Neither the default of \
                 `memory_bytes` nor the kernel's limit is tested. Run it as root on a machine with cgroups.\n"
            );
        }
        made
    }

    fn make(files: &'static Files, name: &str, memory_bytes: u64) -> Option<Self> {
        let folder = Path::new(files.parent).join(format!("llm-rum-{name}-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Self { folder, files };
        // A folder that is no group of this version has no such file.
        let limit = group.folder.join(files.limit);
        (limit.exists() && fs::write(limit, memory_bytes.to_string()).is_ok()).then_some(group)
    }

    /// Begins the same program in this group.
    pub(super) fn within(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.folder.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }

    /// Processes that the kernel has killed, and the most memory that the group ever had, with pages of files.
    pub(super) fn kills_and_peak(&self) -> (u64, Option<u64>) {
        let read = |file: &str| fs::read_to_string(self.folder.join(file));
        let kills = read(self.files.kills).unwrap();
        let kills = kills.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok()).unwrap();
        (kills, read(self.files.peak).ok().and_then(|bytes| bytes.trim().parse().ok()))
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The last process may not have left yet.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

//! Finds the memory that this process may use: the limit of its cgroup, or half of the machine's memory.

use std::fs;
use std::path::Path;

/// The budget of a collector whose configuration names none. `None` if the system says nothing.
pub(crate) fn detected_bytes() -> Option<usize> {
    smallest_limit(Path::new("/"))
}

/// `root` has the folders `proc` and `sys`.
fn smallest_limit(root: &Path) -> Option<usize> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| of_group(root, line));
    of_groups.chain(half_of_machine(root)).min().and_then(|bytes| usize::try_from(bytes).ok())
}

/// The lowest limit of a cgroup and of those around it. A container may see its own group as the topmost folder.
fn of_group(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (folder, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let own = Path::new(path.trim_start_matches('/'));
    own.ancestors().filter_map(|group| number(&root.join(folder).join(group).join(file))).min()
}

/// `None` for `max` too.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn half_of_machine(root: &Path) -> Option<u64> {
    let info = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024 / 2)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn check(files: &[(&str, &str)], expected: Option<usize>) {
        let root = TempDir::new().unwrap();
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        assert_eq!(smallest_limit(root.path()), expected, "{files:?}");
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:       4194304 kB\nMemFree: 1 kB\n");

    #[test]
    fn the_limit_of_a_cgroup_of_version_2_is_the_budget() {
        let group = ("proc/self/cgroup", "0::/system.slice/llm-rum.service\n");
        let own = ("sys/fs/cgroup/system.slice/llm-rum.service/memory.max", "536870912\n");
        check(&[MACHINE, group, own], Some(536_870_912));
        let none = (own.0, "max\n");
        check(&[MACHINE, group, none], Some(2_147_483_648));
        let around = ("sys/fs/cgroup/system.slice/memory.max", "268435456\n");
        check(&[MACHINE, group, own, around], Some(268_435_456));
        let in_container =
            [MACHINE, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "134217728\n")];
        check(&in_container, Some(134_217_728));
    }

    #[test]
    fn the_limit_of_a_cgroup_of_version_1_is_the_budget() {
        let group = ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/1\n0::/\n");
        let own = ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "536870912\n");
        check(&[MACHINE, group, own], Some(536_870_912));
        let unlimited = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        check(&[MACHINE, group, unlimited], Some(2_147_483_648));
        // A container sees its group at the top, but its name as outside.
        check(
            &[MACHINE, group, ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n")],
            Some(268_435_456),
        );
    }

    #[test]
    fn a_system_without_figures_sets_no_budget() {
        check(&[], None);
        check(&[("proc/meminfo", "MemTotal: many kB\n")], None);
    }
}

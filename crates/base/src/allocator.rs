//! Returns memory to the system: large blocks that are freed, and code that runs only at the start.

/// Minimum bytes of a block that is mapped separately and returned to the system when freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 256 * 1024;

/// Returns large blocks to the system when they are freed. Call it at the start, before other threads exist. Does
/// nothing without the GNU C library.
///
/// The C library raises this limit by itself, up to 32 MB, with each large block that is freed. Later blocks then
/// come from the heaps of its threads, which retain them: a session with entries of 5 MB used 89 MB instead of 36.
/// See `M_MMAP_THRESHOLD` in mallopt(3).
pub fn give_back_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(
            unsafe_code,
            reason = "mallopt has no safe form; it takes two numbers, refuses bad ones and only sets a limit"
        )]
        // SAFETY: no pointer is passed, and no other thread allocates yet.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        }
    }
}

/// Unmaps the code that the program has used so far, most of which runs only at the start. Code
/// that runs again is mapped again from the system's cache. Does nothing on other systems than
/// Linux.
///
/// A debugger's breakpoints in the code are lost.
pub fn give_back_code() {
    #[cfg(target_os = "linux")]
    for (start, length) in code::mappings().unwrap_or_default() {
        #[expect(unsafe_code, reason = "madvise has no safe form")]
        // SAFETY: the range is code and constants of the program file, which are mapped without the right to write. The
        // kernel reads them from the file when they are used again.
        unsafe {
            libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(target_os = "linux")]
mod code {
    use std::fs;

    /// The start and length of the mappings of the program file up to its code. Behind the code, a mapping can have been
    /// written before it was protected.
    pub(super) fn mappings() -> Option<Vec<(usize, usize)>> {
        let program = format!(" {}", fs::read_link("/proc/self/exe").ok()?.display());
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        let own = maps.lines().filter(|line| line.ends_with(&program));
        let mut found = Vec::new();
        for line in own {
            let (range, rest) = line.split_once(' ')?;
            if rest.starts_with("rw") {
                break;
            }
            let (start, end) = range.split_once('-')?;
            let start = usize::from_str_radix(start, 16).ok()?;
            let end = usize::from_str_radix(end, 16).ok()?;
            found.push((start, end - start));
            if rest.starts_with("r-x") {
                return Some(found);
            }
        }
        None
    }

    #[cfg(test)]
    mod tests {
        /// Bytes of the code that are mapped.
        fn mapped() -> usize {
            let code = *super::mappings().unwrap().last().unwrap();
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let mut lines = smaps.lines();
            lines.find(|line| line.starts_with(&format!("{:x}-", code.0)));
            let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
            resident
                .trim()
                .strip_suffix(" kB")
                .unwrap()
                .parse()
                .unwrap()
        }

        #[test]
        fn code_is_unmapped_and_runs_again() {
            // Other tests of this process run code at the same time.
            let shrinks = || {
                let before = mapped();
                super::super::give_back_code();
                mapped() < before
            };
            assert!((0..1000).any(|_| shrinks()));
        }
    }
}

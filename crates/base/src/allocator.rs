//! Configures the system's allocator for large blocks.

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
        // SAFETY: no pointer goes in or out, and no other thread allocates yet.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        }
    }
}

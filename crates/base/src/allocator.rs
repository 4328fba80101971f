//! How the system's allocator is to treat large blocks.

/// Bytes from which a block is mapped by itself and goes back to the system when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 256 * 1024;

/// Makes what was read in large pieces leave the process when it is let go. To be called at the start,
/// before there are threads. Does nothing where the C library is not GNU's.
///
/// The C library raises this limit by itself, up to 32 MB, with each large block that is freed; later
/// ones then come from the heaps of its threads, which keep them: a session with entries of 5 MB held
/// 89 MB instead of 36. See `M_MMAP_THRESHOLD` in mallopt(3).
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

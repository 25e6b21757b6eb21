//! A buffer to read into that starts on a page.
//!
//! The kernel copies a pipe into an unaligned buffer at half the speed, and `malloc` never gives an aligned one: the
//! allocation has its header in front.

const PAGE_BYTES: usize = 4096;

/// Bytes to read into.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// Makes a buffer of `len` bytes.
    pub fn new(len: usize) -> Buffer {
        let bytes = vec![0; len + PAGE_BYTES];
        let start = bytes.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Buffer { bytes, start }
    }

    /// Returns all of it.
    pub fn bytes(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - PAGE_BYTES + self.start;
        &mut self.bytes[self.start..end]
    }
}

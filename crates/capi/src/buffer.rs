//! Memory lent by a C program: read at once, or written when a message arrives.
#![expect(unsafe_code, reason = "C's pointers are dereferenced here")]

use crate::types::LLCaddress;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

/// Destination of a message to be received. The code that creates one guarantees that its pointers
/// are valid until it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    message: Option<NonNull<u8>>,
    octets: usize,
    from: Option<NonNull<LLCaddress>>,
    length: Option<NonNull<usize>>,
}

impl Buffer {
    /// Creates a buffer of `octets`; `None` if `message` is null and `octets` is not 0.
    ///
    /// # Safety
    /// Until it is dropped, `message` must be writable for `octets`, and `from` and `length`,
    /// unless null, for one value each; nothing else may use them meanwhile.
    pub(crate) unsafe fn lent(
        message: *mut c_void,
        octets: usize,
        from: *mut LLCaddress,
        length: *mut usize,
    ) -> Option<Self> {
        let message = NonNull::new(message.cast());
        if message.is_none() && octets > 0 {
            return None;
        }
        Some(Self { message, octets, from: NonNull::new(from), length: NonNull::new(length) })
    }

    /// Writes a message, truncated to the buffer.
    pub(crate) fn write(self, from: LLCaddress, parts: [&[u8]; 2]) {
        let mut written = 0;
        for part in parts {
            let octets = part.len().min(self.octets - written);
            if let Some(message) = self.message {
                // SAFETY: `written + octets` does not exceed the octets that were lent, and no
                // slice of this library overlaps them.
                unsafe {
                    message
                        .add(written)
                        .copy_from_nonoverlapping(NonNull::from(part).cast(), octets)
                };
            }
            written += octets;
        }
        if let Some(place) = self.from {
            // SAFETY: lent for one address; its alignment is 1.
            unsafe { place.write(from) };
        }
        if let Some(place) = self.length {
            // SAFETY: lent for one value. A program may have put it anywhere.
            unsafe { place.write_unaligned(written) };
        }
    }
}

/// Returns the octets at a pointer; `None` if `octets` is not 0 and the pointer is null.
///
/// # Safety
/// `place` must be readable for `octets`, which are fewer than half of the address space, and
/// nothing may write there while the slice lives.
pub(crate) unsafe fn octets<'a>(place: *const c_void, octets: usize) -> Option<&'a [u8]> {
    if octets == 0 {
        return Some(&[]);
    }
    let place = NonNull::new(place.cast_mut().cast::<u8>())?;
    // SAFETY: the caller guarantees the address, the length, and no writes.
    Some(unsafe { core::slice::from_raw_parts(place.as_ptr(), octets) })
}

/// Returns the text at a pointer; `None` if it is null or not UTF-8.
///
/// # Safety
/// `place` must be null or point to a zero-terminated string, and nothing may write there
/// meanwhile.
pub(crate) unsafe fn text<'a>(place: *const c_char) -> Option<&'a str> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller guarantees the terminator.
    unsafe { CStr::from_ptr(place) }.to_str().ok()
}

/// Reads the value at a pointer, unless it is null.
///
/// # Safety
/// `place` must be null or readable for one value.
pub(crate) unsafe fn value<T: Copy>(place: *const T) -> Option<T> {
    // SAFETY: not null, and the caller guarantees the rest; any alignment is allowed.
    (!place.is_null()).then(|| unsafe { place.read_unaligned() })
}

/// Writes a value at a pointer, unless it is null; returns whether it was written.
///
/// # Safety
/// `place` must be null or writable for one value.
pub(crate) unsafe fn put<T: Copy>(place: *mut T, value: T) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: not null, and the caller guarantees the rest; any alignment is allowed.
    unsafe { place.write_unaligned(value) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: LLCaddress = LLCaddress { socket: 4, station: [2, 0, 0, 0, 0, 1] };

    #[test]
    fn a_message_fills_no_more_than_its_buffer() {
        for (octets, expected) in [(5, *b"abcde.."), (7, *b"abcdefg"), (1, *b"a......")] {
            let mut place = *b".......";
            let (mut from, mut length) = (LLCaddress { socket: 0, station: [0; 6] }, 0);
            // SAFETY: all three values live until the message is written.
            let buffer = unsafe {
                Buffer::lent((&raw mut place).cast(), octets, &raw mut from, &raw mut length)
            };
            buffer.unwrap().write(FROM, [b"abc", b"defg"]);
            assert_eq!((place, from, length), (expected, FROM, octets));
        }
    }

    #[test]
    fn null_pointers_are_rejected_unless_empty() {
        let null = core::ptr::null_mut::<c_void>();
        let (from, length) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: null pointers are never dereferenced.
        unsafe {
            assert!(Buffer::lent(null, 1, from, length).is_none());
            Buffer::lent(null, 0, from, length).unwrap().write(FROM, [b"lost", b""]);
            assert_eq!((octets(null, 1), octets(null, 0)), (None, Some(&[][..])));
            assert_eq!((text(null.cast()), value::<u8>(null.cast())), (None, None));
            assert!(!put::<u8>(null.cast(), 1));
        }
    }
}

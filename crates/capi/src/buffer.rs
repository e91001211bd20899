//! The memory that a C program lends: read at once, or written when a message is there.
#![expect(unsafe_code, reason = "C's pointers are followed here")]

use crate::types::LLCaddress;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

/// Where a message that arrives is to be put. Whoever makes one vouches that its pointers are good
/// until it is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    message: Option<NonNull<u8>>,
    octets: usize,
    from: Option<NonNull<LLCaddress>>,
    length: Option<NonNull<usize>>,
}

impl Buffer {
    /// A buffer of so many octets; `None` where it has octets and no place.
    ///
    /// # Safety
    /// Until it is dropped, `message` may be written for `octets`, and `from` and `length`, where
    /// they are not null, for one value each; nothing else uses them meanwhile.
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

    /// Writes a message; what is longer than the buffer is cut.
    pub(crate) fn write(self, from: LLCaddress, parts: [&[u8]; 2]) {
        let mut written = 0;
        for part in parts {
            let octets = part.len().min(self.octets - written);
            if let Some(message) = self.message {
                // SAFETY: `written + octets` is at most the octets that were lent, and no slice of
                // this library's lies in them.
                unsafe {
                    message
                        .add(written)
                        .copy_from_nonoverlapping(NonNull::from(part).cast(), octets)
                };
            }
            written += octets;
        }
        if let Some(place) = self.from {
            // SAFETY: lent for one address; C aligns it, and its alignment is 1.
            unsafe { place.write(from) };
        }
        if let Some(place) = self.length {
            // SAFETY: lent for one value. A program may have put it anywhere.
            unsafe { place.write_unaligned(written) };
        }
    }
}

/// The octets at a pointer; `None` where there are some and the pointer is null.
///
/// # Safety
/// `place` may be read for `octets`, which are fewer than half of the address space, and nothing
/// writes there while the slice lives.
pub(crate) unsafe fn octets<'a>(place: *const c_void, octets: usize) -> Option<&'a [u8]> {
    if octets == 0 {
        return Some(&[]);
    }
    let place = NonNull::new(place.cast_mut().cast::<u8>())?;
    // SAFETY: the caller vouches for place, extent and quiet.
    Some(unsafe { core::slice::from_raw_parts(place.as_ptr(), octets) })
}

/// The text at a pointer; `None` where it is null or no UTF-8.
///
/// # Safety
/// `place` is null, or points to octets of which one is zero, and nothing writes there meanwhile.
pub(crate) unsafe fn text<'a>(place: *const c_char) -> Option<&'a str> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the zero.
    unsafe { CStr::from_ptr(place) }.to_str().ok()
}

/// The value at a pointer, unless it is null.
///
/// # Safety
/// `place` is null or may be read for one value.
pub(crate) unsafe fn value<T: Copy>(place: *const T) -> Option<T> {
    // SAFETY: not null, and the caller vouches for the rest; any alignment is good.
    (!place.is_null()).then(|| unsafe { place.read_unaligned() })
}

/// Puts a value at a pointer, unless it is null; tells whether it did.
///
/// # Safety
/// `place` is null or may be written for one value.
pub(crate) unsafe fn put<T: Copy>(place: *mut T, value: T) -> bool {
    if place.is_null() {
        return false;
    }
    // SAFETY: not null, and the caller vouches for the rest; any alignment is good.
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
            // SAFETY: the three live until after the message is written.
            let buffer = unsafe {
                Buffer::lent((&raw mut place).cast(), octets, &raw mut from, &raw mut length)
            };
            buffer.unwrap().write(FROM, [b"abc", b"defg"]);
            assert_eq!((place, from, length), (expected, FROM, octets));
        }
    }

    #[test]
    fn null_is_nothing_and_nothing_may_be_null() {
        let null = core::ptr::null_mut::<c_void>();
        let (from, length) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: null pointers are never followed.
        unsafe {
            assert!(Buffer::lent(null, 1, from, length).is_none());
            Buffer::lent(null, 0, from, length).unwrap().write(FROM, [b"lost", b""]);
            assert_eq!((octets(null, 1), octets(null, 0)), (None, Some(&[][..])));
            assert_eq!((text(null.cast()), value::<u8>(null.cast())), (None, None));
            assert!(!put::<u8>(null.cast(), 1));
        }
    }
}

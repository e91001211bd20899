//! Decompressor of zstd files: one frame after another (RFC 8878).

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// Default window limit of the zstd command. RFC 8878 3.1.1.1.2 recommends 8 MiB.
const MAX_WINDOW_OCTETS: u64 = 128 << 20;

/// Empty last block, with room for a checksum (RFC 8878 3.1.1.2); ends any frame.
///
/// The decoder holds back a window of octets, up to 128 MiB, until its frame ends. If the file is
/// truncated inside a frame, these octets end it, so that all its whole blocks come out.
const END_OF_FRAME: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// Reader that records whether the file has been read to its end.
struct Packed {
    read: BufReader<Box<dyn Read + Send>>,
    ended: bool,
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Decompresses all frames of a file and skips skippable frames.
pub(super) struct Frames {
    packed: Packed,
    decoder: Box<FrameDecoder>,
    inside: bool,
    /// The frame was ended by [`END_OF_FRAME`]; nothing can follow.
    cut: bool,
}

impl Frames {
    pub(super) fn new(read: Box<dyn Read + Send>) -> Self {
        let mut decoder = Box::new(FrameDecoder::new());
        decoder.set_max_window_size(MAX_WINDOW_OCTETS);
        let packed = Packed { read: BufReader::with_capacity(64 << 10, read), ended: false };
        Self { packed, decoder, inside: false, cut: false }
    }

    /// Starts the next frame; returns false at the end of the file.
    fn enter(&mut self) -> io::Result<bool> {
        while !self.packed.read.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => {
                    self.inside = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.packed).take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(false)
    }

    /// Decodes until output is available or the frame ends.
    fn advance(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let one = || BlockDecodingStrategy::UptoBlocks(1);
            if let Err(error) = self.decoder.decode_blocks(&mut self.packed, one()) {
                let error = self.failed(error);
                if !self.packed.ended || self.cut {
                    return Err(error);
                }
                self.cut = true;
                self.decoder.decode_blocks(END_OF_FRAME, one()).map_err(|_| error)?;
            }
        }
        Ok(())
    }

    /// Converts a decoder error: a file that ends inside a frame is truncated, not corrupt.
    fn failed(&self, error: FrameDecoderError) -> io::Error {
        if self.packed.ended {
            io::ErrorKind::UnexpectedEof.into()
        } else {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        }
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.enter()? {
                return Ok(0);
            }
            self.advance()?;
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if self.cut {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.inside = false;
        }
    }
}

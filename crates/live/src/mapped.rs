//! Capture files mapped into memory, so that only the required octets are copied.
//!
//! Another process may truncate such a file meanwhile, and an access to the missing part then
//! raises SIGBUS. The handler maps zeros there and sets a flag ([`wire::capture::Mapped::torn`]);
//! the reader reports the truncation and loses nothing it had read before. A SIGBUS from another
//! cause goes to the previous handler.
#![expect(unsafe_code, reason = "files in memory exist only as pointers, and handlers get no more")]

use crate::clock;
use bytes::Bytes;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, OnceLock};
use wire::capture::{Capture, CaptureError, Mapped};

/// Octets populated at a time: some hundred microseconds of work, and few calls.
const PART_OCTETS: usize = 1 << 20;
/// Pages that Linux maps around a page that is populated, if they are in its cache
/// (`fault_around_bytes`). Any other page is loaded on access.
const AROUND_OCTETS: usize = 64 << 10;
/// Parts at the start of a file that are populated in turn with each step of [`Populate`].
const TRIED_PARTS: usize = 8;
/// Maximum number of files mapped at a time; further files are read normally.
const MOST_FILES: usize = 16;

/// Address range of a mapped file, for the signal handler.
struct Place {
    is_taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    torn: AtomicBool,
}

impl Place {
    const fn new() -> Self {
        let [is_taken, torn] = [const { AtomicBool::new(false) }; 2];
        let [start, end] = [const { AtomicUsize::new(0) }; 2];
        Self { is_taken, start, end, torn }
    }

    fn holds(&self, address: usize) -> bool {
        (self.start.load(Ordering::Acquire)..self.end.load(Ordering::Acquire)).contains(&address)
    }
}

static PLACES: [Place; MOST_FILES] = [const { Place::new() }; MOST_FILES];
/// Previous action of SIGBUS, and the page size in octets; `None` if the handler could not be
/// installed.
static BEFORE: OnceLock<Option<(libc::sigaction, usize)>> = OnceLock::new();

/// Installs the SIGBUS handler; returns whether it is installed.
fn install() -> bool {
    let installed = BEFORE.get_or_init(|| {
        // SAFETY: an all-zero `sigaction` is valid, and these calls only fill it in.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            let mut before: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).ok()?;
            let done = libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before);
            (done == 0).then_some((before, page))
        }
    });
    installed.is_some()
}

/// Maps a page of zeros where a file has been truncated. Uses only async-signal-safe calls.
extern "C" fn on_bus_error(signal: i32, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(Some((before, page))) = BEFORE.get() else { return };
    // SAFETY: the kernel passes a valid siginfo, which for a SIGBUS has an address.
    let address = unsafe { (*about).si_addr() } as usize;
    if let Some(place) = PLACES.iter().find(|place| place.holds(address)) {
        place.torn.store(true, Ordering::Release);
        // SAFETY: the page lies in a mapping of this module, which begins and ends at page
        // boundaries and is read only; the reader's flag was set above. errno is restored.
        unsafe {
            let errno = *libc::__errno_location();
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let at = (address - address % page) as *mut libc::c_void;
            let zeros = libc::mmap(at, *page, libc::PROT_READ, flags, -1, 0);
            *libc::__errno_location() = errno;
            if zeros != libc::MAP_FAILED {
                return;
            }
        }
    }
    // SAFETY: restores the previous action; the access is retried, and the previous action handles
    // it.
    unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
}

/// All pages of a file.
#[derive(Debug)]
struct Pages {
    base: NonNull<u8>,
    octets: usize,
    place: &'static Place,
}

// SAFETY: the memory is read only, and belongs to this value alone.
unsafe impl Send for Pages {}
// SAFETY: likewise.
unsafe impl Sync for Pages {}

impl core::fmt::Debug for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Place").field("torn", &self.torn).finish_non_exhaustive()
    }
}

impl Pages {
    /// Maps `octets` of a file; `None` if that is not possible.
    fn of(file: &File, octets: usize) -> Option<Self> {
        let is_free = |place: &&Place| !place.is_taken.swap(true, Ordering::AcqRel);
        if octets == 0 || !install() {
            return None;
        }
        let place = PLACES.iter().find(is_free)?;
        // SAFETY: maps new memory, which nothing else uses, to be read only.
        let base = unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(ptr::null_mut(), octets, read, shared, file.as_raw_fd(), 0)
        };
        let mapped = NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED);
        let Some(base) = mapped else {
            place.is_taken.store(false, Ordering::Release);
            return None;
        };
        place.torn.store(false, Ordering::Release);
        place.start.store(base.as_ptr() as usize, Ordering::Release);
        place.end.store(base.as_ptr() as usize + octets, Ordering::Release);
        Some(Self { base, octets, place })
    }

    /// Advises the kernel about a part that begins at a page boundary.
    fn advise(&self, from: usize, to: usize, advice: libc::c_int) -> io::Result<()> {
        let (from, to) = (from.min(self.octets), to.min(self.octets));
        if from >= to {
            return Ok(());
        }
        // SAFETY: inside the mapping, as was just checked, and no advice given here changes its
        // contents.
        let said = unsafe { libc::madvise(self.base.as_ptr().add(from).cast(), to - from, advice) };
        if said == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // This comes first, because a later mapping may use the same addresses.
        self.place.end.store(0, Ordering::Release);
        // SAFETY: it was mapped with this length, and nothing points to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
        self.place.start.store(0, Ordering::Release);
        self.place.is_taken.store(false, Ordering::Release);
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the mapping has this length and is read only. Concurrent writes to the file may
        // or may not be visible; octets are only used as numbers, and truncated parts read as zeros
        // (above).
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.octets) }
    }
}

/// Pages shared by `Bytes` and the code that advises the kernel about them.
struct Shared(Arc<Pages>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// Choice of the step in which the pages of a part are populated.
///
/// If the page cache holds the file in single pages, one page of each window takes the kernel half
/// the time of all pages. If it holds the file in large folios, one call for the whole part is
/// faster. Processes cannot see which it is, so the first parts are populated in both steps in turn,
/// and the others in the step that took less CPU time.
#[derive(Debug)]
struct Populate {
    /// Octets of each step, and the least CPU time of a part.
    steps: [(usize, Duration); 2],
    parts: usize,
}

impl Populate {
    const fn new() -> Self {
        let steps = [(AROUND_OCTETS, Duration::MAX), (PART_OCTETS, Duration::MAX)];
        Self { steps, parts: 0 }
    }

    /// Populates a part of at most [`PART_OCTETS`] that begins at a page boundary.
    fn part(&mut self, pages: &Pages, from: usize, to: usize) -> io::Result<()> {
        if self.parts >= TRIED_PARTS {
            let [one, other] = self.steps;
            let faster = if one.1 < other.1 { one } else { other };
            return Self::by(faster.0, pages, from, to);
        }
        let (step, least) = &mut self.steps[self.parts % 2];
        self.parts += 1;
        let before = clock::processor();
        Self::by(*step, pages, from, to)?;
        *least = clock::processor().saturating_sub(before).min(*least);
        Ok(())
    }

    fn by(step: usize, pages: &Pages, from: usize, to: usize) -> io::Result<()> {
        // One page stands for its window: Linux maps those around it.
        let length = if step == AROUND_OCTETS { 1 } else { step };
        (from..to)
            .step_by(step)
            .try_for_each(|at| pages.advise(at, to.min(at + length), libc::MADV_POPULATE_READ))
    }
}

/// Plain file, mapped at the length it has when opened. Octets appended later are read normally.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    pages: Arc<Pages>,
    /// End of the populated part, and end of the part given back.
    ready: usize,
    given_back: usize,
    populate: Populate,
}

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// Returns the file if it cannot be mapped: it is no plain file, is empty, or mapping failed.
    pub fn new(file: File) -> Result<Self, File> {
        let octets = match file.metadata() {
            Ok(about) if about.is_file() => usize::try_from(about.len()).unwrap_or(0),
            _ => 0,
        };
        match Pages::of(&file, octets) {
            Some(pages) => {
                let (pages, populate) = (Arc::new(pages), Populate::new());
                Ok(Self { file, pages, ready: 0, given_back: 0, populate })
            }
            None => Err(file),
        }
    }
}

/// Opens a capture mapped into memory, or reads it if it cannot be mapped.
///
/// # Errors
/// Errors of [`Capture::open`].
pub fn open(file: File) -> Result<Capture, CaptureError> {
    match MappedFile::new(file) {
        Ok(file) => Capture::open_mapped(Box::new(file)),
        Err(file) => Capture::open(file),
    }
}

impl Mapped for MappedFile {
    fn octets(&self) -> Bytes {
        Bytes::from_owner(Shared(Arc::clone(&self.pages)))
    }

    fn reach(&mut self, from: usize) -> usize {
        let behind = from - from % PART_OCTETS;
        if behind > self.given_back {
            // If this fails, the process only holds more memory than necessary.
            self.pages.advise(self.given_back, behind, libc::MADV_DONTNEED).ok();
            self.given_back = behind;
        }
        if self.octets_now() < self.pages.octets as u64 {
            return self.ready;
        }
        let next = self.pages.octets.min(self.ready + PART_OCTETS);
        match self.populate.part(&self.pages, self.ready, next) {
            Ok(()) => self.ready = next,
            // Linux before 5.14 lacks this advice; each page is then loaded on access.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.ready = next,
            // Reading reports the error.
            Err(_) => return self.ready,
        }
        // The next part is read ahead from the disk meanwhile.
        self.pages.advise(next, next + PART_OCTETS, libc::MADV_WILLNEED).ok();
        self.ready
    }

    fn torn(&self) -> &'static AtomicBool {
        &self.pages.place.torn
    }

    fn octets_now(&self) -> u64 {
        self.file.metadata().map_or(0, |about| about.len())
    }

    fn rest(mut self: Box<Self>, from: u64) -> io::Result<Box<dyn Read + Send>> {
        self.file.seek(SeekFrom::Start(from))?;
        Ok(Box::new(self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use wire::dissect::Link;
    use wire::pcap::Writer;
    use wire::time::Instant;

    const FRAMES: u64 = 5_000;

    /// Capture of 5,000 frames of 1,000 octets: 5,080,024 octets.
    fn capture() -> (tempfile::NamedTempFile, Box<MappedFile>) {
        capture_of(1_000)
    }

    fn capture_of(octets: usize) -> (tempfile::NamedTempFile, Box<MappedFile>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
        for frame in 0..FRAMES {
            let content = vec![frame as u8; octets];
            writer.write(Instant::from_nanos(frame), &content, octets).unwrap();
        }
        file.write_all(&writer.into_inner()).unwrap();
        let mapped = MappedFile::new(file.reopen().unwrap()).unwrap();
        (file, Box::new(mapped))
    }

    fn take(capture: &mut Capture, from: u64, to: u64) {
        for frame in from..to {
            let record = capture.next().unwrap().unwrap();
            assert_eq!(record.at, Instant::from_nanos(frame));
            assert_eq!(record.octets, [frame as u8; 1_000]);
        }
    }

    /// Reads to the error, one by one or passed, and returns the number of frames before it.
    fn frames_before_error(capture: &mut Capture, is_passed: bool) -> (usize, CaptureError) {
        let mut frames = 0;
        loop {
            let more = if is_passed {
                capture.each(|_| {
                    frames += 1;
                    true
                })
            } else {
                capture.next().map(|record| {
                    record.is_some_and(|_| {
                        frames += 1;
                        true
                    })
                })
            };
            match more {
                Ok(more) => assert!(more, "the end of the file is no error"),
                Err(error) => return (frames, error),
            }
        }
    }

    #[test]
    fn every_frame_is_read_including_those_appended_later() {
        let (mut file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, FRAMES - 1);
        let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
        for frame in FRAMES..FRAMES + 3 {
            writer.write(Instant::from_nanos(frame), &[frame as u8; 1_000], 1_000).unwrap();
        }
        file.write_all(&writer.into_inner()[24..]).unwrap();
        take(&mut capture, FRAMES - 1, FRAMES + 3);
        assert_eq!(capture.next(), Ok(None));
    }

    #[test]
    fn a_file_cut_while_read_ends_with_an_error_and_no_false_frame() {
        let (file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, 10);
        file.as_file().set_len(0).unwrap();
        let error = capture.next().unwrap_err();
        let CaptureError::Unreadable { offset, ref reason, .. } = error else { panic!("{error}") };
        // 24 octets and ten records of 16 + 1,000.
        assert_eq!((offset, reason.as_str()), (24 + 10_160, "the file was cut while it was read"));
        assert_eq!(capture.next().unwrap_err(), error);
    }

    #[test]
    fn a_file_cut_beyond_the_populated_part_is_cut_short() {
        let (file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, 10);
        // Inside the third part; the first two were populated before.
        file.as_file().set_len(3_000_000).unwrap();
        // (3,000,000 - 24) / 1,016 = 2,952.7
        take(&mut capture, 10, 2_952);
        let cut = CaptureError::CutShort { offset: 24 + 2_952 * 1_016 };
        assert_eq!(capture.next().unwrap_err(), cut);
    }

    #[test]
    fn zeros_after_the_end_of_a_truncated_file_are_no_frames() {
        // The rest of the last page reads as zeros. Cut after a frame, in its header, and in its
        // octets.
        for (cut, whole) in [(20 * 1_016, 20), (20 * 1_016 + 8, 20), (20 * 1_016 + 500, 21)] {
            for is_passed in [false, true] {
                let (file, mapped) = capture();
                let mut capture = Capture::open_mapped(mapped).unwrap();
                take(&mut capture, 0, 10);
                file.as_file().set_len(24 + cut).unwrap();
                take(&mut capture, 10, 15);
                let (more, error) = frames_before_error(&mut capture, is_passed);
                assert_eq!(15 + more, whole, "cut at {cut}, passed: {is_passed}");
                let error = error.to_string();
                assert!(error.ends_with("the file was cut while it was read"), "{error}");
            }
        }
    }

    #[test]
    fn a_header_on_the_page_of_the_cut_is_that_of_no_frame() {
        // 24 octets and four records of 16 + 999: the lengths of the fifth lie on both sides of 4,096,
        // and the page beyond no longer exists.
        for is_passed in [false, true] {
            let (file, mapped) = capture_of(999);
            let mut capture = Capture::open_mapped(mapped).unwrap();
            assert!(capture.next().unwrap().is_some());
            file.as_file().set_len(4_096).unwrap();
            let (more, error) = frames_before_error(&mut capture, is_passed);
            assert_eq!(1 + more, 4, "passed: {is_passed}");
            let error = error.to_string();
            assert!(error.ends_with("the file was cut while it was read"), "{error}");
        }
    }

    #[test]
    fn a_file_cut_in_its_last_frame_ends_with_an_error() {
        let (file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, FRAMES - 1);
        file.as_file().set_len(24 + FRAMES * 1_016 - 300).unwrap();
        // The rest of its page reads as zeros: the frame is returned, and then the error.
        assert_eq!(capture.next().unwrap().unwrap().octets[699..701], [(FRAMES - 1) as u8, 0]);
        let error = capture.next().unwrap_err();
        assert!(error.to_string().ends_with("the file was cut while it was read"), "{error}");
    }

    #[test]
    fn a_truncated_pcapng_file_is_reported_wherever_it_is_cut() {
        let mut writer = wire::pcapng::Writer::new(Vec::new()).unwrap();
        let interface = writer.interface(Link::Ethernet, "").unwrap();
        for frame in 0..100 {
            let at = Instant::from_nanos(frame);
            writer.write(interface, at, &[frame as u8; 1_000], 1_000, "").unwrap();
        }
        let octets = writer.into_inner();
        // After a block of 1,032 octets, and in its type, length, time, frame and second length.
        let block = octets.len() - 80 * 1_032;
        for cut in [0, 2, 4, 5, 14, 500, 1_028] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&octets).unwrap();
            let mapped = MappedFile::new(file.reopen().unwrap()).unwrap();
            let mut capture = Capture::open_mapped(Box::new(mapped)).unwrap();
            (0..10).for_each(|_| assert!(capture.next().unwrap().is_some()));
            file.as_file().set_len((block + cut) as u64).unwrap();
            let more = (10..).find(|_| !matches!(capture.next(), Ok(Some(_)))).unwrap();
            assert_eq!(more, 20, "cut at {cut}");
            let error = capture.next().unwrap_err();
            assert!(error.to_string().ends_with("the file was cut while it was read"), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_returned() {
        let (reader, _writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(MappedFile::new(pipe).is_err());
        assert!(MappedFile::new(tempfile::tempfile().unwrap()).is_err(), "empty");
        assert!(MappedFile::new(File::open("/proc/self/stat").unwrap()).is_err());
    }

    #[test]
    fn closing_a_file_frees_its_place() {
        for _ in 0..3 * MOST_FILES {
            let (_file, mapped) = capture();
            assert_eq!(mapped.octets().len(), 5_080_024);
        }
    }
}

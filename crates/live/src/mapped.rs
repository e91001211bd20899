//! Capture files looked at where they lie in memory, so that nothing is copied but what is wanted of them.
//!
//! Such a file can be cut by somebody else meanwhile, and then a look at what is gone raises SIGBUS. Its handler
//! puts zeros there and takes notice ([`wire::capture::Mapped::torn`]); whoever reads hears of it and loses nothing
//! that it had. A SIGBUS that has nothing to do with these files goes where it went before.
#![expect(unsafe_code, reason = "files in memory exist only as pointers, and handlers get no more")]

use bytes::Bytes;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, OnceLock};
use wire::capture::{Capture, CaptureError, Mapped};

/// So much is made ready at a time: a matter of some hundred microseconds, and few enough calls.
const PART_OCTETS: usize = 1 << 20;
/// More files than anybody reads at a time; what goes beyond is read as any other.
const MOST_FILES: usize = 16;

/// Where a file lies, for the handler.
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
/// What SIGBUS did before, and octets of a page; nothing where that could not be changed.
static BEFORE: OnceLock<Option<(libc::sigaction, usize)>> = OnceLock::new();

/// Has SIGBUS come here; whether it does.
fn install() -> bool {
    let installed = BEFORE.get_or_init(|| {
        // SAFETY: all zeros is a `sigaction` that says nothing, and these calls only fill it in.
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

/// Puts a page of zeros where a file has none any more. Nothing here but calls that a handler may make.
extern "C" fn on_bus_error(signal: i32, about: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(Some((before, page))) = BEFORE.get() else { return };
    // SAFETY: the kernel hands over what is to be known of a SIGBUS, and that has an address.
    let address = unsafe { (*about).si_addr() } as usize;
    if let Some(place) = PLACES.iter().find(|place| place.holds(address)) {
        place.torn.store(true, Ordering::Release);
        // SAFETY: the page lies in a mapping of this module, which begins and ends at pages; it is read only, and
        // who reads it was told just now. errno is put back.
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
    // SAFETY: puts back what was there; the access is tried again, and what was there hears of it.
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
    /// Those of so many octets of a file; nothing where it cannot be.
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

    /// Tells the kernel something about a part, which begins at a page; what it said.
    fn advise(&self, from: usize, to: usize, advice: libc::c_int) -> io::Result<()> {
        let (from, to) = (from.min(self.octets), to.min(self.octets));
        if from >= to {
            return Ok(());
        }
        // SAFETY: inside the mapping, as was just seen to, and no advice that is given here changes what it holds.
        let said = unsafe { libc::madvise(self.base.as_ptr().add(from).cast(), to - from, advice) };
        if said == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // First, since what is mapped next may lie where this did.
        self.place.end.store(0, Ordering::Release);
        // SAFETY: it was mapped with this length, and nothing points to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.octets) };
        self.place.start.store(0, Ordering::Release);
        self.place.is_taken.store(false, Ordering::Release);
    }
}

impl AsRef<[u8]> for Pages {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the mapping is that long and is read only. What another program writes to the file meanwhile is
        // seen or not; no octet is taken for more than a number, and what is gone is zeros (above).
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.octets) }
    }
}

/// The pages, from `Bytes` and from whoever advises on them.
struct Shared(Arc<Pages>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// A plain file, as it is when it is opened. What is appended to it later is read as of any file.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    pages: Arc<Pages>,
    /// Up to where the pages are there, and up to where they were given back.
    ready: usize,
    given_back: usize,
}

impl MappedFile {
    /// A file that lies in memory from now on.
    ///
    /// # Errors
    /// The file, where it cannot: what is no plain file, is empty, or lies where nothing can be mapped.
    pub fn new(file: File) -> Result<Self, File> {
        let octets = match file.metadata() {
            Ok(about) if about.is_file() => usize::try_from(about.len()).unwrap_or(0),
            _ => 0,
        };
        match Pages::of(&file, octets) {
            Some(pages) => Ok(Self { file, pages: Arc::new(pages), ready: 0, given_back: 0 }),
            None => Err(file),
        }
    }
}

/// Opens a capture where it lies in memory, or reads it where it cannot.
///
/// # Errors
/// Those of [`Capture::open`].
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
            // Where it cannot, more memory counts as this program's than needs to.
            self.pages.advise(self.given_back, behind, libc::MADV_DONTNEED).ok();
            self.given_back = behind;
        }
        if self.octets_now() < self.pages.octets as u64 {
            return self.ready;
        }
        let next = self.pages.octets.min(self.ready + PART_OCTETS);
        match self.pages.advise(self.ready, next, libc::MADV_POPULATE_READ) {
            Ok(()) => self.ready = next,
            // Linux before 5.14 does not know that, and gets each page when it is looked at.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.ready = next,
            // Reading tells what is the matter.
            Err(_) => return self.ready,
        }
        // From a disk the next part comes meanwhile.
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

    /// A capture of 5,000 frames of 1,000 octets: 5,080,024 octets.
    fn capture() -> (tempfile::NamedTempFile, Box<MappedFile>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = Writer::new(Vec::new(), Link::Ethernet).unwrap();
        for frame in 0..FRAMES {
            writer.write(Instant::from_nanos(frame), &[frame as u8; 1_000], 1_000).unwrap();
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

    #[test]
    fn every_frame_is_there_and_those_that_came_later_too() {
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
    fn a_file_that_is_cut_while_it_is_read_says_so_and_gives_no_frame_that_it_does_not_have() {
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
    fn a_file_that_is_cut_before_it_is_reached_is_cut_short() {
        let (file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, 10);
        // Inside the third part; the first two are looked at as they were.
        file.as_file().set_len(3_000_000).unwrap();
        // (3,000,000 - 24) / 1,016 = 2,952.7
        take(&mut capture, 10, 2_952);
        let cut = CaptureError::CutShort { offset: 24 + 2_952 * 1_016 };
        assert_eq!(capture.next().unwrap_err(), cut);
    }

    #[test]
    fn zeros_behind_the_end_of_a_file_that_was_cut_are_no_frames() {
        // The rest of the page in which it ends now is zeros. Cut behind a frame, in its header, and in its octets.
        for (cut, whole) in [(20 * 1_016, 20), (20 * 1_016 + 8, 20), (20 * 1_016 + 500, 21)] {
            let (file, mapped) = capture();
            let mut capture = Capture::open_mapped(mapped).unwrap();
            take(&mut capture, 0, 10);
            file.as_file().set_len(24 + cut).unwrap();
            take(&mut capture, 10, 20);
            let more = (20..).find(|_| !matches!(capture.next(), Ok(Some(_)))).unwrap();
            assert_eq!(more, whole, "cut at {cut}");
            let error = capture.next().unwrap_err();
            assert!(error.to_string().ends_with("the file was cut while it was read"), "{error}");
        }
    }

    #[test]
    fn a_file_whose_last_frame_is_cut_while_it_is_looked_at_does_not_end_well() {
        let (file, mapped) = capture();
        let mut capture = Capture::open_mapped(mapped).unwrap();
        take(&mut capture, 0, FRAMES - 1);
        file.as_file().set_len(24 + FRAMES * 1_016 - 300).unwrap();
        // The rest of its page is zeros: it is given, and then it is said.
        assert_eq!(capture.next().unwrap().unwrap().octets[699..701], [(FRAMES - 1) as u8, 0]);
        let error = capture.next().unwrap_err();
        assert!(error.to_string().ends_with("the file was cut while it was read"), "{error}");
    }

    #[test]
    fn a_file_of_blocks_that_is_cut_says_so_wherever_it_is_cut() {
        let mut writer = wire::pcapng::Writer::new(Vec::new()).unwrap();
        let interface = writer.interface(Link::Ethernet, "").unwrap();
        for frame in 0..100 {
            let at = Instant::from_nanos(frame);
            writer.write(interface, at, &[frame as u8; 1_000], 1_000, "").unwrap();
        }
        let octets = writer.into_inner();
        // Behind a block of 1,032 octets, and in its type, length, time, frame and second length.
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
    fn what_is_no_plain_file_is_given_back() {
        let (reader, _writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(MappedFile::new(pipe).is_err());
        assert!(MappedFile::new(tempfile::tempfile().unwrap()).is_err(), "empty");
        assert!(MappedFile::new(File::open("/proc/self/stat").unwrap()).is_err());
    }

    #[test]
    fn there_is_a_place_again_when_a_file_is_closed() {
        for _ in 0..3 * MOST_FILES {
            let (_file, mapped) = capture();
            assert_eq!(mapped.octets().len(), 5_080_024);
        }
    }
}

//! LAN interfaces of this host: names and properties.
//!
//! All queries go to the kernel through a socket, not to `/sys`: a socket belongs to a network
//! namespace, whereas `/sys` shows the namespace it was mounted in.
#![expect(unsafe_code, reason = "interfaces are queried through ioctl, namespaces through setns")]

use crate::hardware_clock::HardwareStamps;
use crate::port::PortError;
use crate::socket::Socket;
use core::ffi::CStr;
use core::mem;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use wire::addr::Mac;
use wire::units::BitRate;

/// Kind of interface, as far as relevant to measurements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Loopback of the host.
    Loopback,
    /// One end of a veth pair within this host.
    Veth,
    /// Anything else: treated as a wire on which other hosts depend.
    Wire,
}

/// LAN interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Index in its network namespace.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Maximum number of data octets in a frame, MAC header not counted.
    pub mtu: usize,
    /// Station address.
    pub mac: Mac,
    /// True if the interface is administratively up.
    pub is_up: bool,
    /// True if there is a link to a peer.
    pub has_link: bool,
    /// Bit rate of the link as reported by the driver.
    pub rate: Option<BitRate>,
    /// Kind.
    pub kind: Kind,
}

impl Interface {
    /// Returns the interface of this name in the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`PortError::NoSuchInterface`], or the system's error.
    pub fn named(name: &str) -> Result<Self, PortError> {
        let failed = PortError::system("ask for interfaces");
        let socket = Socket::inquiry().map_err(failed)?;
        let fd = socket.fd();
        let missing = || PortError::NoSuchInterface(name.to_owned());
        let mut request = request(name).ok_or_else(missing)?;

        if ask(fd, libc::SIOCGIFINDEX, &mut request).is_err() {
            return Err(missing());
        }
        // SAFETY: SIOCGIFINDEX has filled in this member of the union.
        let index = unsafe { request.ifr_ifru.ifru_ifindex };
        ask(fd, libc::SIOCGIFFLAGS, &mut request).map_err(failed)?;
        // SAFETY: SIOCGIFFLAGS has filled in this member of the union.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        ask(fd, libc::SIOCGIFHWADDR, &mut request).map_err(failed)?;
        // SAFETY: SIOCGIFHWADDR has filled in this member of the union.
        let [a, b, c, d, e, g, ..] = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
        let mac = Mac([a, b, c, d, e, g].map(|octet| octet as u8));

        ask(fd, libc::SIOCGIFMTU, &mut request).map_err(failed)?;
        // SAFETY: SIOCGIFMTU has filled in this member of the union.
        let mtu = unsafe { request.ifr_ifru.ifru_mtu };
        let kind = if flags & libc::IFF_LOOPBACK != 0 {
            Kind::Loopback
        } else if driver(fd, &mut request).is_ok_and(|driver| driver == "veth") {
            Kind::Veth
        } else {
            Kind::Wire
        };
        Ok(Self {
            index: u32::try_from(index).unwrap_or(0),
            name: name.to_owned(),
            mtu: usize::try_from(mtu).unwrap_or(0),
            mac,
            is_up: flags & libc::IFF_UP != 0,
            has_link: flags & libc::IFF_RUNNING != 0,
            rate: rate(fd, &mut request),
            kind,
        })
    }

    /// Returns all interfaces in the network namespace of the calling thread, in the order of their
    /// indices.
    ///
    /// # Errors
    /// The system's error.
    pub fn all() -> Result<Vec<Self>, PortError> {
        let mut names = Vec::new();
        // SAFETY: takes nothing; gives an array that if_freenameindex takes back.
        let list = unsafe { libc::if_nameindex() };
        if list.is_null() {
            return Err(PortError::system("list interfaces")(io::Error::last_os_error()));
        }
        for place in 0.. {
            // SAFETY: the array ends with an entry whose index is zero, and the loop ends there.
            let entry = unsafe { &*list.add(place) };
            if entry.if_index == 0 || entry.if_name.is_null() {
                break;
            }
            // SAFETY: the name is a C string that lives until if_freenameindex.
            let name = unsafe { CStr::from_ptr(entry.if_name) };
            names.push(name.to_string_lossy().into_owned());
        }
        // SAFETY: the array came from if_nameindex and is not used any more.
        unsafe { libc::if_freenameindex(list) };
        names.iter().map(|name| Self::named(name)).collect()
    }
}

impl Interface {
    /// Number of receive queues, in the network namespace of the calling thread; 1 if the driver
    /// reports none.
    #[must_use]
    pub fn receive_queues(&self) -> u32 {
        let (Ok(socket), Some(mut request)) = (Socket::inquiry(), request(&self.name)) else {
            return 1;
        };
        let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
        request.ifr_ifru.ifru_data = (&raw mut channels).cast();
        match ask(socket.fd(), libc::SIOCETHTOOL as _, &mut request) {
            Ok(()) => (channels.receiving + channels.combined).max(1),
            Err(_) => 1,
        }
    }
}

impl Interface {
    /// Name of its driver, in the network namespace of the calling thread, if it reports one.
    #[must_use]
    pub fn driver(&self) -> Option<String> {
        let (socket, mut request) = (Socket::inquiry().ok()?, request(&self.name)?);
        driver(socket.fd(), &mut request).ok().filter(|name| !name.is_empty())
    }

    /// Names of the offloads that are on and join or divide frames, in the network namespace of the
    /// calling thread: frames seen on this host are then others than those on the wire.
    #[must_use]
    pub fn offloads(&self) -> Vec<&'static str> {
        let (Ok(socket), Some(mut request)) = (Socket::inquiry(), request(&self.name)) else {
            return Vec::new();
        };
        let mut is_on = |command| {
            let mut value = Value { command, data: 0 };
            request.ifr_ifru.ifru_data = (&raw mut value).cast();
            ask(socket.fd(), libc::SIOCETHTOOL as _, &mut request).is_ok() && value.data != 0
        };
        OFFLOADS.iter().filter(|(_, command)| is_on(*command)).map(|(name, _)| *name).collect()
    }

    /// Returns whether the interface stamps the frames that it receives, in the network namespace of
    /// the calling thread. The interface is asked and not changed.
    #[must_use]
    pub fn hardware_stamps(&self) -> HardwareStamps {
        let (Ok(socket), Some(mut request)) = (Socket::inquiry(), request(&self.name)) else {
            return HardwareStamps::None;
        };
        let mut ability = StampAbility { command: GET_STAMP_ABILITY, ..StampAbility::default() };
        request.ifr_ifru.ifru_data = (&raw mut ability).cast();
        let asked = ask(socket.fd(), libc::SIOCETHTOOL as _, &mut request);
        // SAFETY: an all-zero hwtstamp_config is a valid one.
        let mut config: libc::hwtstamp_config = unsafe { mem::zeroed() };
        request.ifr_ifru.ifru_data = (&raw mut config).cast();
        let in_force = ask(socket.fd(), libc::SIOCGHWTSTAMP, &mut request);
        let ability = asked.is_ok().then_some(ability);
        let filter = in_force.is_ok().then_some(config.rx_filter);
        HardwareStamps::of(ability.as_ref(), filter)
    }
}

impl HardwareStamps {
    /// From what an interface can do and the filter in force, as far as its driver reports them.
    fn of(ability: Option<&StampAbility>, filter: Option<libc::c_int>) -> Self {
        let all = libc::HWTSTAMP_FILTER_ALL;
        let able = ability.filter(|it| it.stamping & libc::SOF_TIMESTAMPING_RX_HARDWARE != 0);
        let Some((able, Ok(clock))) = able.map(|it| (it, u32::try_from(it.clock))) else {
            return Self::None;
        };
        match filter.map(u32::try_from) {
            Some(Ok(filter)) if filter == all => Self::By(clock),
            _ if able.filters & 1 << all != 0 => Self::Off,
            _ => Self::OfPtp,
        }
    }
}

/// Runs `work` in another network namespace, on a separate thread, so that the caller's namespace
/// does not change. A socket created there stays in that namespace. Without a name, runs it here.
///
/// # Errors
/// [`PortError::NoSuchNamespace`], [`PortError::NotPermitted`] if CAP_SYS_ADMIN is missing, or the
/// errors of `work`.
pub fn in_namespace<T: Send>(
    name: Option<&str>,
    work: impl FnOnce() -> Result<T, PortError> + Send,
) -> Result<T, PortError> {
    let Some(name) = name else { return work() };
    let missing = || PortError::NoSuchNamespace(name.to_owned());
    if name.contains('/') {
        return Err(missing());
    }
    let namespace = File::open(format!("/run/netns/{name}")).map_err(|_| missing())?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: takes an open descriptor and an integer; moves this thread alone.
            let status = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
            if status != 0 {
                let error = io::Error::last_os_error();
                return Err(PortError::from_opening(name, "CAP_SYS_ADMIN", error));
            }
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Opens an interface that is up, perhaps in another network namespace, and a raw socket there. The
/// socket receives nothing until it is bound.
///
/// # Errors
/// [`PortError::NoSuchInterface`], [`PortError::NoSuchNamespace`], [`PortError::Down`],
/// [`PortError::NotPermitted`] if CAP_NET_RAW is missing, or the system's error.
pub(crate) fn raw_socket(
    name: &str,
    namespace: Option<&str>,
) -> Result<(Interface, Socket), PortError> {
    in_namespace(namespace, || {
        let interface = Interface::named(name)?;
        if !interface.is_up {
            return Err(PortError::Down(interface.name));
        }
        let socket = Socket::raw()
            .map_err(|error| PortError::from_opening(&interface.name, "CAP_NET_RAW", error))?;
        Ok((interface, socket))
    })
}

fn request(name: &str) -> Option<libc::ifreq> {
    // SAFETY: an all-zero ifreq is a valid one.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last octet stays zero: names are C strings.
    let room = request.ifr_name.len() - 1;
    if name.is_empty() || name.len() > room || name.contains('\0') {
        return None;
    }
    for (slot, octet) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *slot = octet as libc::c_char;
    }
    Some(request)
}

fn ask(fd: RawFd, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each request used here reads and writes one ifreq, and whatever structure that points
    // to, which the callers keep alive.
    let status = unsafe { libc::ioctl(fd, what as _, ptr_to(request)) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

const fn ptr_to(request: &mut libc::ifreq) -> *mut libc::ifreq {
    &raw mut *request
}

/// ETHTOOL_GDRVINFO.
const GET_DRIVER: u32 = 3;
/// ETHTOOL_GSET: settings in their older form, which every driver with a known speed supports.
const GET_SETTINGS: u32 = 1;

/// ETHTOOL_GCHANNELS.
const GET_CHANNELS: u32 = 0x3C;

/// Offloads by the names of ethtool, and the commands that ask for them: ETHTOOL_GTSO, GGSO, GGRO.
const OFFLOADS: [(&str, u32); 3] = [("TSO", 0x1E), ("GSO", 0x23), ("GRO", 0x2B)];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// ETHTOOL_GET_TS_INFO.
const GET_STAMP_ABILITY: u32 = 0x41;

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Default)]
struct StampAbility {
    command: u32,
    /// SOF_TIMESTAMPING_… that it can do.
    stamping: u32,
    /// Number of its clock, -1 if it has none.
    clock: i32,
    sending: [u32; 4],
    /// A bit for each HWTSTAMP_FILTER_… that it can do.
    filters: u32,
    rest: [u32; 3],
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receiving: u32,
    sending: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_cmd`.
#[repr(C)]
struct Settings {
    command: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    modes: [u8; 14],
    speed_high: u16,
    rest: [u8; 14],
}

fn driver(fd: RawFd, request: &mut libc::ifreq) -> io::Result<String> {
    let mut info = DriverInfo { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
    request.ifr_ifru.ifru_data = (&raw mut info).cast();
    ask(fd, libc::SIOCETHTOOL as _, request)?;
    let name = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Bit rate of the link; `None` if the driver does not report one.
fn rate(fd: RawFd, request: &mut libc::ifreq) -> Option<BitRate> {
    let mut settings = Settings {
        command: GET_SETTINGS,
        supported: 0,
        advertising: 0,
        speed: 0,
        modes: [0; 14],
        speed_high: 0,
        rest: [0; 14],
    };
    request.ifr_ifru.ifru_data = (&raw mut settings).cast();
    ask(fd, libc::SIOCETHTOOL as _, request).ok()?;
    let megabits = u32::from(settings.speed_high) << 16 | u32::from(settings.speed);
    // All ones mean "unknown"; in the older form only 16 bits.
    let is_known = megabits != u32::MAX && megabits != u32::from(u16::MAX);
    if is_known { BitRate::new(u64::from(megabits) * 1_000_000) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_kernels_sizes() {
        // linux/ethtool.h: 4 + 32 x 5 + 12 + 4 x 5 = 196; 3 x 4 + 2 + 6 + 2 x 4 + 2 + 2 + 3 x 4 =
        // 44.
        assert_eq!(mem::size_of::<DriverInfo>(), 196);
        assert_eq!(mem::size_of::<Settings>(), 44);
        assert_eq!(mem::offset_of!(Settings, speed_high), 28);
        // Nine counters, command included.
        assert_eq!(mem::size_of::<Channels>(), 36);
        // Command, abilities, clock, four words for sending and four for receiving.
        assert_eq!(mem::size_of::<StampAbility>(), 44);
        assert_eq!(mem::offset_of!(StampAbility, filters), 28);
    }

    /// Answers of an interface that is made up.
    #[test]
    fn an_interface_stamps_frames_if_it_can_and_is_set_to() {
        let able = |filters| StampAbility {
            stamping: libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE,
            clock: 3,
            filters,
            ..StampAbility::default()
        };
        let (every, ptp) = (able(0b11), able(1 << 12 | 1));
        let of = HardwareStamps::of;
        assert_eq!(of(Some(&every), Some(1)), HardwareStamps::By(3));
        assert_eq!(of(Some(&every), Some(0)), HardwareStamps::Off);
        // Older drivers cannot say what is in force.
        assert_eq!(of(Some(&every), None), HardwareStamps::Off);
        assert_eq!(of(Some(&ptp), Some(12)), HardwareStamps::OfPtp);
        let software = StampAbility { clock: -1, ..StampAbility::default() };
        for ability in [None, Some(&software)] {
            assert_eq!(of(ability, None), HardwareStamps::None);
        }
        assert_eq!(Interface::named("lo").unwrap().hardware_stamps(), HardwareStamps::None);
    }

    #[test]
    fn the_loopback_is_recognised() {
        let lo = Interface::named("lo").unwrap();
        assert_eq!((lo.kind, lo.mac, lo.rate), (Kind::Loopback, Mac([0; 6]), None));
        assert!(Interface::all().unwrap().iter().any(|interface| interface.index == lo.index));
    }

    #[test]
    fn a_missing_interface_is_named_in_the_error() {
        for name in ["", "no-such-wire", "a name far too long for an interface"] {
            let error = Interface::named(name).unwrap_err();
            assert_eq!(error.to_string(), format!("no such interface: {name:?}"));
        }
        let error = in_namespace(Some("no-such-namespace"), || Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "no such network namespace: \"no-such-namespace\"");
        assert!(in_namespace(Some("../escape"), || Ok(())).is_err());
    }
}

//! Interpreter of the kernel's packet filter programs, after Linux's `filter.txt`; and the entry
//! point of the filter language's fuzz target: a text and a frame in, claims checked.

use wire::dissect::Link;
use wire::filter::{Filter, Instruction};

/// Longest program that the kernel accepts (`BPF_MAXINSNS`), and its words of scratch memory.
const MOST_INSTRUCTIONS: usize = 4_096;
const WORDS: u32 = 16;

/// Metadata of a frame: the VLAN tag that was removed.
type Taken = Option<u16>;

/// Returns a program's result for a frame; a load beyond the frame ends it with 0, as in the
/// kernel.
fn run(program: &[Instruction], frame: &[u8], taken: Taken) -> u32 {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; 16]);
    let mut at = 0;
    let load = |place: u32, octets: usize| {
        let place = place as usize;
        let octets = frame.get(place..place.checked_add(octets)?)?;
        Some(octets.iter().fold(0, |value, octet| value << 8 | u32::from(*octet)))
    };
    loop {
        let Instruction { code, jump_true, jump_false, operand: k } = program[at];
        at += 1;
        let mut jump = |holds: bool| at += usize::from(if holds { jump_true } else { jump_false });
        let loaded = match code {
            0x20 if k == 0xFFFF_F000 + 44 => Some(taken.map_or(0, u32::from)),
            0x20 if k == 0xFFFF_F000 + 48 => Some(u32::from(taken.is_some())),
            0x20 => load(k, 4),
            0x28 => load(k, 2),
            0x40 => load(x + k, 4),
            0x48 => load(x + k, 2),
            0x50 => load(x + k, 1),
            0x80 => Some(frame.len() as u32),
            0x60 => Some(memory[k as usize]),
            0x00 => Some(k),
            0x04 => Some(a.wrapping_add(k)),
            0x0C => Some(a.wrapping_add(x)),
            0x54 => Some(a & k),
            0x64 => Some(a << k),
            0x74 => Some(a >> k),
            _ => Some(a),
        };
        let Some(value) = loaded else { return 0 };
        a = value;
        match code {
            0x01 => x = k,
            0x61 => x = memory[k as usize],
            0x02 => memory[k as usize] = a,
            0x03 => memory[k as usize] = x,
            0x07 => x = a,
            0x05 => at += k as usize,
            0x15 => jump(a == k),
            0x35 => jump(a >= k),
            0x3D => jump(a >= x),
            0x06 => return k,
            0x20 | 0x28 | 0x40 | 0x48 | 0x50 | 0x80 | 0x60 | 0x00 | 0x04 | 0x0C | 0x54 | 0x64
            | 0x74 => {}
            _ => panic!("no instruction: {code:#x}"),
        }
    }
}

/// The frame as a kernel presents it after removing the outer tag, and that tag.
fn taken_out(octets: &[u8]) -> Option<(Vec<u8>, u16)> {
    let (addresses, rest) = octets.split_at_checked(12)?;
    let ([high, low, tag @ ..], rest) = rest.split_first_chunk::<4>()?;
    let is_tag = [0x8100, 0x88A8].contains(&u16::from_be_bytes([*high, *low]));
    is_tag.then(|| ([addresses, rest].concat(), u16::from_be_bytes(*tag)))
}

/// Returns whether the filter matches a frame, and whether the program keeps it. Panics if the
/// program drops a matching frame.
#[track_caller]
pub(crate) fn judge(
    text: &str,
    filter: &Filter,
    program: &[Instruction],
    octets: &[u8],
    original: usize,
) -> [bool; 2] {
    let wanted = filter.matches(Link::Ethernet, octets, original);
    let kept = run(program, octets, None) > 0;
    assert!(kept || !wanted, "{text}: dropped {octets:02x?}");
    if let Some((octets, tag)) = taken_out(octets) {
        let kept = run(program, &octets, Some(tag)) > 0;
        assert!(kept || !wanted, "{text}: dropped {octets:02x?} and its tag {tag:04x}");
    }
    [wanted, kept]
}

/// Checks that the kernel accepts a program: it is not too long, ends with a return, and no jump or
/// memory access is out of bounds.
#[track_caller]
pub(crate) fn check(program: &[Instruction]) {
    assert!(program.len() <= MOST_INSTRUCTIONS);
    assert!(program.last().is_some_and(|last| last.code == 6), "it returns");
    // All jumps go forward, so they only need to stay within the program.
    for (place, step) in program.iter().enumerate() {
        let far = if step.code == 5 { step.operand as usize } else { 0 };
        let near = usize::from(step.jump_true.max(step.jump_false));
        let is_last = usize::from(step.code == 6);
        assert!(place + 1 + far.max(near) < program.len() + is_last, "at {place}: {step:?}");
        assert!(!matches!(step.code, 0x02 | 0x03 | 0x60 | 0x61) || step.operand < WORDS);
    }
}

/// Takes a text, an octet of zero, and a frame. An invalid filter reports a column. A valid one
/// parses again from its printed form, and its program keeps every frame that it matches. Returns
/// true for a valid filter.
pub(crate) fn script(octets: &[u8]) -> bool {
    let end = octets.iter().position(|octet| *octet == 0).unwrap_or(octets.len());
    let (text, behind) = octets.split_at(end);
    let Ok(text) = core::str::from_utf8(text) else { return false };
    let filter: Filter = match text.parse() {
        Ok(filter) => filter,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column()), "{text:?}: {error}");
            assert!(!error.problem().is_empty() && error.to_string().ends_with('^'));
            return false;
        }
    };
    assert_eq!(filter.to_string().parse().as_ref(), Ok(&filter), "{text:?}");
    let program = filter.program(256);
    check(&program);
    judge(text, &filter, &program, behind, behind.len());
    let both = filter.clone().and("tcp".parse().unwrap());
    let is_wanted = |filter: &Filter| filter.matches(Link::Ethernet, behind, behind.len());
    let tcp = is_wanted(&"tcp".parse().unwrap());
    assert_eq!(is_wanted(&both), is_wanted(&filter) && tcp, "{both}");
    if let Ok(again) = both.to_string().parse::<Filter>() {
        assert_eq!(is_wanted(&again), is_wanted(&both), "{both} has another meaning");
    }
    true
}

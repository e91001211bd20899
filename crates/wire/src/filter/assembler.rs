//! Assembler for classic BPF programs (McCanne and Jacobson, "The BSD Packet Filter", 1993, and
//! Linux's `filter.txt`), with jumps to labels.

/// Instruction in the kernel's layout (`struct sock_filter`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Operation code.
    pub code: u16,
    /// Number of instructions to skip if a comparison holds.
    pub jump_true: u8,
    /// Number of instructions to skip if it does not hold.
    pub jump_false: u8,
    /// Constant, offset or distance.
    pub operand: u32,
}

/// Jump target. Labels lie ahead of the jumps to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(usize);

// Loads into the accumulator: a word or half-word at an offset in the frame, or a word, half-word
// or octet at an offset from the index.
pub(super) const WORD: u16 = 0x20;
pub(super) const HALF: u16 = 0x28;
pub(super) const WORD_BEHIND: u16 = 0x40;
pub(super) const HALF_BEHIND: u16 = 0x48;
pub(super) const OCTET_BEHIND: u16 = 0x50;
/// Loads a constant into the accumulator.
pub(super) const CONSTANT: u16 = 0x00;
/// Loads the length of the frame in octets into the accumulator.
pub(super) const LENGTH: u16 = 0x80;
/// Loads a word of scratch memory into the accumulator.
pub(super) const RECALL: u16 = 0x60;
/// Loads a constant, or a word of scratch memory, into the index.
pub(super) const INDEX: u16 = 0x01;
pub(super) const RECALL_INDEX: u16 = 0x61;
/// Stores the accumulator, or the index, in scratch memory.
pub(super) const KEEP: u16 = 0x02;
pub(super) const KEEP_INDEX: u16 = 0x03;
// Arithmetic with a constant, and with the index.
pub(super) const ADD: u16 = 0x04;
pub(super) const ADD_INDEX: u16 = 0x0C;
pub(super) const AND: u16 = 0x54;
pub(super) const SHIFT_LEFT: u16 = 0x64;
pub(super) const SHIFT_RIGHT: u16 = 0x74;
/// Copies the accumulator to the index.
pub(super) const TO_INDEX: u16 = 0x07;
// Comparisons of the accumulator with a constant, and with the index.
pub(super) const EQUAL: u16 = 0x15;
pub(super) const AT_LEAST: u16 = 0x35;
pub(super) const AT_LEAST_INDEX: u16 = 0x3D;
const GO: u16 = 0x05;
/// Ends the program with a constant.
pub(super) const RETURN: u16 = 0x06;

#[derive(Clone, Copy, Debug)]
enum Step {
    Plain(u16, u32),
    Compare(u16, u32, [Label; 2]),
    Go(Label),
    Here(Label),
}

impl Step {
    const fn instructions(self) -> usize {
        match self {
            Self::Plain(..) | Self::Go(_) => 1,
            // A comparison reaches 255 instructions; the two jumps after it have unlimited reach.
            Self::Compare(..) => 3,
            Self::Here(_) => 0,
        }
    }
}

/// Program under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembler {
    steps: Vec<Step>,
    labels: usize,
}

impl Assembler {
    pub(super) const fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub(super) fn plain(&mut self, code: u16, operand: u32) {
        self.steps.push(Step::Plain(code, operand));
    }

    /// Jumps to `yes` if a comparison holds, else to `no`.
    pub(super) fn compare(&mut self, code: u16, operand: u32, yes: Label, no: Label) {
        self.steps.push(Step::Compare(code, operand, [yes, no]));
    }

    /// Jumps to `no` if a comparison does not hold.
    pub(super) fn unless(&mut self, code: u16, operand: u32, no: Label) {
        let on = self.label();
        self.compare(code, operand, on, no);
        self.here(on);
    }

    /// Jumps to `yes` if a comparison holds.
    pub(super) fn when(&mut self, code: u16, operand: u32, yes: Label) {
        let on = self.label();
        self.compare(code, operand, yes, on);
        self.here(on);
    }

    pub(super) fn go(&mut self, to: Label) {
        self.steps.push(Step::Go(to));
    }

    /// Places a label before the next instruction.
    pub(super) fn here(&mut self, label: Label) {
        self.steps.push(Step::Here(label));
    }

    /// Resolves the labels and returns the program.
    pub(super) fn finish(self) -> Vec<Instruction> {
        let mut places = vec![0; self.labels];
        let mut at = 0;
        for step in &self.steps {
            if let Step::Here(Label(label)) = step
                && let Some(place) = places.get_mut(*label)
            {
                *place = at;
            }
            at += step.instructions();
        }
        let plain = |code, operand| Instruction { code, jump_true: 0, jump_false: 0, operand };
        let mut program: Vec<Instruction> = Vec::with_capacity(at);
        for step in self.steps {
            let go = |from: usize, Label(label): Label| {
                let place = places.get(label).copied().unwrap_or_default();
                let distance = place.checked_sub(from + 1).expect("labels lie ahead");
                plain(GO, distance as u32)
            };
            let from = program.len();
            match step {
                Step::Plain(code, operand) => program.push(plain(code, operand)),
                Step::Go(label) => program.push(go(from, label)),
                Step::Compare(code, operand, [yes, no]) => program.extend([
                    Instruction { code, jump_true: 0, jump_false: 1, operand },
                    go(from + 1, yes),
                    go(from + 2, no),
                ]),
                Step::Here(_) => {}
            }
        }
        program
    }
}

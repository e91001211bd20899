use super::*;

const HEAD: [u8; 4] = *b"TWRV";

fn sample() -> Hello {
    Hello {
        role: Role::Sender,
        offered: Limits { frames_per_second: 100, bits_per_second: 100_000 },
        least: Limits::NONE,
        flows: 3,
        cookie: 0xC00C_1E00,
        program: text("tidewire 0.1.0"),
        purpose: text("cyclic 20 ms"),
        receive: None,
        has_streams: false,
    }
}

const POLICY: ReceivePolicy = ReceivePolicy {
    acknowledge: Acknowledge::Each,
    acknowledge_every: 2,
    acknowledgement_delay_ns: 10_000_000,
    window: 15,
};

#[test]
fn each_kind_reads_as_it_was_written() {
    let counts = Counts {
        delivered: 1,
        octets: 2,
        duplicates: 3,
        damaged: 4,
        frames: u64::MAX,
        not_agreed: 6,
    };
    let limits = Limits { frames_per_second: u32::MAX, bits_per_second: 1 << 40 };
    for body in [
        Body::Hello(sample()),
        Body::Hello(Hello { receive: Some(POLICY), ..sample() }),
        Body::Hello(Hello { has_streams: true, ..sample() }),
        Body::Refuse(Refusal::Streams),
        Body::Accept(Accept {
            limits,
            program: text("tidewire 9.9.9"),
            receive: None,
            has_streams: true,
        }),
        Body::Accept(Accept {
            limits,
            program: text("tidewire 9"),
            receive: Some(POLICY),
            has_streams: false,
        }),
        Body::Refuse(Refusal::Busy),
        Body::Refuse(Refusal::Limits),
        Body::Refuse(Refusal::Unwilling),
        Body::Refuse(Refusal::Version),
        Body::Refuse(Refusal::Policy),
        Body::Refuse(Refusal::Unknown(77)),
        Body::KeepAlive { counter: 5 },
        Body::Stop,
        Body::Counts { counts, is_final: true },
        Body::Counts { counts, is_final: false },
        Body::Challenge { cookie: u64::MAX },
        Body::Done,
        Body::Foreign { version: 1, kind: 1 },
    ] {
        let pdu = Pdu { nonce: 0x0102_0304_0506_0708, body };
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        assert_eq!(Pdu::decode(&octets), Ok(pdu), "{pdu}");
        octets.extend([0; 46]);
        assert_eq!(Pdu::decode(&octets), Ok(pdu), "padding changed {pdu}");
    }
}

#[test]
fn an_alive_is_these_eighteen_octets() {
    let mut octets = Vec::new();
    Pdu { nonce: 0xAB, body: Body::KeepAlive { counter: 258 } }.encode(&mut octets);
    let expected = [b'T', b'W', b'R', b'V', 2, 4, 0, 0, 0, 0, 0, 0, 0, 0xAB, 0, 0, 1, 2].as_slice();
    assert_eq!(octets, expected);
}

#[test]
fn every_truncated_pdu_names_a_field_and_none_exceeds_the_limit() {
    let full = Hello {
        program: text(&"p".repeat(99)),
        purpose: text(&"q".repeat(99)),
        receive: Some(POLICY),
        has_streams: true,
        ..sample()
    };
    let mut octets = Vec::new();
    Pdu { nonce: 1, body: Body::Hello(full) }.encode(&mut octets);
    assert_eq!(octets.len(), MAX_OCTETS);
    // Without its options, of 15 and 2 octets, it is a whole Hello of a peer of an earlier version.
    let without = [17, 2].map(|options| octets.len() - options);
    let old = without.map(|length| Pdu::decode(&octets[..length]).unwrap().body);
    let unable = Hello { has_streams: false, ..full };
    assert_eq!(old, [Hello { receive: None, ..unable }, unable].map(Body::Hello));
    for length in (0..octets.len()).filter(|length| !without.contains(length)) {
        let complaint = Pdu::decode(&octets[..length]).unwrap_err();
        assert!(complaint.offset <= length, "{complaint} of {length} octets");
    }
}

#[test]
fn a_pdu_with_a_changed_octet_is_refused_or_round_trips() {
    let mut octets = Vec::new();
    Pdu { nonce: 1, body: Body::Hello(sample()) }.encode(&mut octets);
    let mut understood = 0;
    for place in 0..octets.len() {
        for value in 0..=255 {
            let mut changed = octets.clone();
            changed[place] = value;
            let Ok(pdu) = Pdu::decode(&changed) else { continue };
            let mut again = Vec::new();
            pdu.encode(&mut again);
            assert_eq!(Pdu::decode(&again), Ok(pdu), "octet {place} = {value}");
            understood += 1;
        }
    }
    // Any nonce (8 octets), limits (24), flows (2) and cookie (8) are as valid as the sample's.
    assert!(understood > 42 * 256, "{understood} of {} decoded", octets.len() * 256);
}

#[test]
fn options_of_a_later_version_are_skipped() {
    let mut octets = Vec::new();
    Pdu { nonce: 1, body: Body::Hello(sample()) }.encode(&mut octets);
    // An option that this version does not define, a rule that it does not define, and the policy.
    let later = |first: u8| [&[1, 13, first][..], &[0; 12]].concat();
    octets.extend([&[9, 2, 1, 2][..], &later(77)].concat());
    let mut both = octets.clone();
    POLICY.encode(&mut both);
    for (octets, receive) in [(octets, None), (both, Some(POLICY))] {
        let body = Body::Hello(Hello { receive, ..sample() });
        assert_eq!(Pdu::decode(&octets), Ok(Pdu { nonce: 1, body }));
    }
}

#[test]
fn a_policy_too_short_for_its_fields_names_the_first_missing() {
    let mut octets = Vec::new();
    Pdu { nonce: 1, body: Body::Hello(sample()) }.encode(&mut octets);
    let start = octets.len();
    octets.extend([1, 3, 1, 0, 2]);
    let malformed = Malformed { field: "A_L", offset: start + 5 };
    assert_eq!(Pdu::decode(&octets), Err(malformed));
}

#[test]
fn a_text_with_terminal_controls_is_refused() {
    let mut octets = Vec::new();
    let agree =
        Accept { limits: Limits::NONE, program: text("ab"), receive: None, has_streams: false };
    Pdu { nonce: 1, body: Body::Accept(agree) }.encode(&mut octets);
    let last = octets.len() - 1;
    for bad in [0x1B, 0xFF] {
        octets[last] = bad;
        // 14 octets of head and 12 of limits precede the text's length.
        assert_eq!(Pdu::decode(&octets), Err(Malformed { field: "text", offset: 26 }));
    }
    assert_eq!(text::<8>("a\u{202e}b").as_str(), "a?b", "a bidirectional override");
    assert_eq!(text::<8>("a\u{1b}[2J\u{e9}\u{e9}").as_str(), "a?[2J\u{e9}");
}

#[test]
fn a_refuse_reads_the_same_in_every_version() {
    let mut octets = Vec::new();
    Pdu::encode_refuse(1, 9, Refusal::Version, &mut octets);
    assert_eq!(octets, [b"TWRV", &[1, 3, 0, 0, 0, 0, 0, 0, 0, 9, 4][..]].concat());
    assert_eq!(octets.len(), REFUSE_OCTETS);
    let body = Body::Refuse(Refusal::Version);
    assert_eq!(Pdu::decode(&octets), Ok(Pdu { nonce: 9, body }));
}

#[test]
fn counts_of_a_later_version_are_skipped() {
    let mut octets = HEAD.to_vec();
    octets.extend([2, 6, 0, 0, 0, 0, 0, 0, 0, 9]);
    // Final, two counts: code 200 (unknown) and code 4 (damaged) with the value 3.
    octets.extend([1, 2, 200, 1, 1, 1, 1, 1, 1, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 3]);
    let counts = Counts { damaged: 3, ..Counts::default() };
    let body = Body::Counts { counts, is_final: true };
    assert_eq!(Pdu::decode(&octets), Ok(Pdu { nonce: 9, body }));
}

#[test]
fn limits_are_the_lesser_of_both_and_may_be_too_low() {
    let slow = Limits { frames_per_second: 10, bits_per_second: 1_000 };
    let wide = Limits { frames_per_second: 5, bits_per_second: 2_000 };
    let both = slow.both(wide);
    assert_eq!(both, Limits { frames_per_second: 5, bits_per_second: 1_000 });
    assert!(slow.meet(both) && wide.meet(both) && !both.meet(slow) && both.meet(Limits::NONE));
}

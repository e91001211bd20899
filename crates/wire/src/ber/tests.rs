use super::*;
use crate::read::Malformed;

/// Octets written as hexadecimal digits.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(octet).collect()
}

#[test]
fn a_tag_is_its_identifier_octets() {
    for (number, primitive, constructed) in [
        (0, 0x80, 0xA0),
        (30, 0x9E, 0xBE),
        (31, 0x9F1F, 0xBF1F),
        (72, 0x9F48, 0xBF48),
        (127, 0x9F7F, 0xBF7F),
        (128, 0x9F_8100, 0xBF_8100),
        (0x3FFF, 0x9F_FF7F, 0xBF_FF7F),
        (0x4000, 0x9F81_8000, 0xBF81_8000),
        (0x1F_FFFF, 0x9FFF_FF7F, 0xBFFF_FF7F),
    ] {
        assert_eq!(Tag::primitive(number), Tag(primitive));
        assert_eq!(Tag::constructed(number), Tag(constructed));
        assert_eq!(Tag(primitive).number(), number);
        assert!(Tag(constructed).is_constructed() && !Tag(primitive).is_constructed());
        assert!(Tag(constructed).is_context());
        let mut writer = Writer::new();
        writer.element(Tag(constructed), &[5, 0]);
        let element = Reader::new(writer.octets()).element("any").unwrap();
        assert_eq!((element.tag, element.content), (Tag(constructed), &[5, 0][..]));
    }
    assert_eq!(Reader::new(&[0x1F, 0x05, 0]).peek(), None, "a short number in the long form");
    assert_eq!(Reader::new(&[0x1F, 0x80, 0x48, 0]).peek(), None, "a leading zero");
    assert_eq!(Reader::new(&[0x1F, 0x81, 0x81, 0x81, 0x01]).peek(), None, "more than 21 bits");
}

#[test]
fn a_length_has_its_shortest_form() {
    for (length, header) in [
        (0, &[0x30, 0][..]),
        (127, &[0x30, 0x7F]),
        (128, &[0x30, 0x81, 0x80]),
        (255, &[0x30, 0x81, 0xFF]),
        (256, &[0x30, 0x82, 1, 0]),
        (65_535, &[0x30, 0x82, 0xFF, 0xFF]),
        (65_536, &[0x30, 0x83, 1, 0, 0]),
    ] {
        let mut writer = Writer::new();
        writer.element(Tag::SEQUENCE, &vec![7; length]);
        assert_eq!(&writer.octets()[..header.len()], header);
        assert_eq!(writer.len(), header.len() + length);
        let element = Reader::new(writer.octets()).element("any").unwrap();
        assert_eq!((element.content.len(), element.content_offset), (length, header.len()));
    }
}

#[test]
fn an_integer_has_as_few_octets_as_its_sign_allows() {
    for (value, octets) in [
        (0, &[2, 1, 0][..]),
        (127, &[2, 1, 127]),
        (128, &[2, 2, 0, 128]),
        (-128, &[2, 1, 128]),
        (-129, &[2, 2, 0xFF, 0x7F]),
        (65_000, &[2, 3, 0, 0xFD, 0xE8]),
        (i64::MIN, &[2, 8, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (i64::MAX, &[2, 8, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
    ] {
        let mut writer = Writer::new();
        writer.integer(Tag::INTEGER, value);
        assert_eq!(writer.octets(), octets);
        let element = Reader::new(octets).element("any").unwrap();
        assert_eq!(element.integer("any"), Ok(value));
        assert_eq!(element.unsigned("any").ok(), u32::try_from(value).ok());
    }
}

#[test]
fn a_length_beyond_the_input_is_refused() {
    let long = [0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2];
    let longer = [0x30, 0x89, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2];
    let longest = [[0x30, 0xFE].as_slice(), &[0xFF; 126], &[1]].concat();
    for octets in [&[][..], &[0x30], &[0x30, 2, 1], &[0x30, 0x82, 1], &[0x30, 0xFF, 1], &long] {
        check_refused(octets);
    }
    check_refused(&longer);
    check_refused(&longest);
    // 126 octets of length, all but the last of them zero.
    let padded = [[0x30, 0xFE].as_slice(), &[0; 125], &[1, 9]].concat();
    assert_eq!(Reader::new(&padded).element("list").unwrap().content, [9]);
}

#[track_caller]
fn check_refused(octets: &[u8]) {
    let refused = Reader::at(octets, 5).element("list");
    assert_eq!(refused, Err(Malformed { field: "list", offset: 5 }));
}

#[test]
fn the_indefinite_form_ends_at_its_own_end_of_contents() {
    let octets = [0x30, 0x80, 0xA0, 0x80, 4, 2, 0, 0, 0, 0, 5, 0, 0, 0, 0x99];
    let mut reader = Reader::new(&octets);
    let element = reader.element("list").unwrap();
    assert_eq!(element.content, &octets[2..12]);
    assert_eq!((reader.offset(), reader.rest()), (14, &[0x99][..]));
    let mut inside = element.reader();
    assert_eq!(inside.element("first").unwrap().content, [4, 2, 0, 0]);
    assert_eq!(inside.element("second").unwrap().tag, Tag::NULL);
    check_refused(&[0x04, 0x80, 0, 0]);
    check_refused(&octets[..13]);
}

#[test]
fn the_indefinite_form_nests_sixteen_times() {
    let nested = |levels: usize| [[0x30, 0x80].repeat(levels), [0, 0].repeat(levels)].concat();
    assert!(Reader::new(&nested(16)).element("list").is_ok());
    check_refused(&nested(17));
    check_refused(&nested(10_000));
}

#[test]
fn values_print_on_one_line() {
    let oid = |octets| Oid(octets).to_string();
    assert_eq!(oid(&[0x28, 0xCA, 0x22, 0x02, 0x03]), "1.0.9506.2.3");
    assert_eq!(oid(&[0x52, 1, 0, 1]), "2.2.1.0.1");
    assert_eq!(oid(&[0x88, 0x37]), "2.999");
    assert_eq!(oid(&[[0x2A].as_slice(), &[0xFF; 20], &[1]].concat()), "1.2.*");
    let bits = BitString { unused: 3, octets: &[0b1010_0000, 0b1111_1000] };
    assert_eq!(
        (bits.to_string().as_str(), bits.bit(2), bits.bit(13)),
        ("1010000011111", true, false)
    );
    assert_eq!(Text(b"a\n\"b\"\xFF\x1b").to_string(), r#""a\n\"b\"\xff\u{1b}""#);
    assert_eq!(Hex(&[1; 34]).to_string(), format!("{}+2", "01".repeat(32)));
}

#[test]
fn a_writer_grows_at_its_front() {
    let mut writer = Writer::new();
    let mut expected = Vec::new();
    for number in 0..2_000_u32 {
        writer.put(&number.to_be_bytes());
        expected.splice(0..0, number.to_be_bytes());
    }
    assert_eq!(writer.octets(), expected);
    assert_eq!(writer.clone().into_bytes(), expected);
    assert!(Writer::new().into_bytes().is_empty());
    writer.clear();
    assert!(writer.is_empty() && writer.octets().is_empty());
}

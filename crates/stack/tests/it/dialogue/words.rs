//! Conversion of TPDUs, indications and parameters to words, and back.

use core::time::Duration;
use stack::tp4::{
    Acknowledgement, Credit, Indication, Params, Retransmission, RetransmissionTimer,
};
use wire::tp::{
    ClassOption, Connect, Data, Disconnect, DisconnectConfirm, Expedited, ExpeditedAcknowledgement,
    Format, Kind, Parameter, ParameterBuffer, Pdu, Raw, Reference, Rejected, seal,
};

/// Longest user data printed as text; of longer data only the length is printed.
const TEXT_OCTETS: usize = 40;

/// Words of a line, separated by spaces except within quotes; `#` ends them.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        quoted ^= c == '"';
        if c == '#' && !quoted && words.last().is_none_or(String::is_empty) {
            break;
        } else if c == ' ' && !quoted {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Value after `key=`.
pub(super) fn value<'a>(words: &'a [String], key: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("not a number: {text}"))
}

pub(super) fn small<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    T::try_from(number(text)?).map_err(|_| format!("too large: {text}"))
}

/// Octets written as text in quotes or as hexadecimal digits.
pub(super) fn octets(text: &str) -> Result<Vec<u8>, String> {
    if let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(inner.as_bytes().to_vec());
    }
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let pairs = digits.filter(|digits| digits.len().is_multiple_of(2));
    let pairs = pairs.ok_or_else(|| format!("neither quoted nor hexadecimal: {text}"))?;
    Ok(pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Time such as `100 ms` or `2 s`, in one word or two.
pub(super) fn duration(words: &[String]) -> Result<Duration, String> {
    let text = words.concat();
    let parsed = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(ms), _) => ms.parse().ok().map(Duration::from_millis),
        (None, Some(s)) => s.parse().ok().map(Duration::from_secs),
        (None, None) => None,
    };
    parsed.ok_or_else(|| format!("not a time: {text}"))
}

/// User data: text, `octets=n`, or none.
pub(super) fn user_data(words: &[String]) -> Result<Vec<u8>, String> {
    if let Some(count) = value(words, "octets") {
        return Ok(vec![b'x'; small(count)?]);
    }
    words.iter().find(|word| word.starts_with('"')).map_or(Ok(Vec::new()), |word| octets(word))
}

// ---- TPDUs of the peer -------------------------------------------------------------------------

fn parameter(word: &str) -> Result<Option<(u8, Vec<u8>)>, String> {
    let Some((key, text)) = word.split_once('=') else { return Ok(None) };
    let two = |text: &str| small::<u16>(text).map(|number| number.to_be_bytes().to_vec());
    Ok(Some(match key {
        "tpdu-size" => (0xC0, vec![number(text)?.ilog2() as u8]),
        "calling" => (0xC1, octets(text)?),
        "called" => (0xC2, octets(text)?),
        "version" => (0xC4, vec![small(text)?]),
        "options" => (0xC6, octets(text)?),
        "alternatives" => (0xC7, octets(text)?),
        "ack-time" => (0x85, two(text.trim_end_matches("ms"))?),
        "subsequence" => (0x8A, two(text)?),
        "selective" => (0x8F, octets(text)?),
        "preferred-size" => (0xF0, vec![small(&(number(text)? / 128).to_string())?]),
        "confirms" => {
            let parts: Vec<&str> = text.split('/').collect();
            let [edge, subsequence, credit] = parts[..] else {
                return Err(format!("not edge/subsequence/credit: {text}"));
            };
            let edge = small::<u32>(edge)?.to_be_bytes().to_vec();
            (0x8C, [edge, two(subsequence)?, two(credit)?].concat())
        }
        _ => match key.strip_prefix('?') {
            Some(code) => (small(&format!("0x{code}"))?, octets(text)?),
            None => return Ok(None),
        },
    }))
}

/// Default fields of a TPDU of the peer.
pub(super) struct Defaults {
    pub(super) to: u16,
    pub(super) from: u16,
    pub(super) format: Format,
}

/// Octets of the TPDU described by `words`: the kind first, then fields and parameters.
pub(super) fn tpdu(words: &[String], defaults: &Defaults) -> Result<Vec<u8>, String> {
    let name = words.first().map_or("", String::as_str);
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let kind = kind.ok_or_else(|| format!("not a kind of TPDU: {name}"))?;
    let says = |word: &str| words.iter().any(|given| given == word);
    let mut buffer = ParameterBuffer::new();
    for word in words {
        if let Some((code, octets)) = parameter(word)? {
            buffer.push(&Parameter::Unknown { code, octets: &octets }).ok_or("too long")?;
        }
    }
    let class4 = kind == Kind::Cr && value(words, "class").is_none_or(|class| class == "4");
    let sealed = says("checksum") || (class4 && !says("unsealed"));
    if sealed {
        buffer.push(&Parameter::Checksum([0, 0])).ok_or("too long")?;
    }
    let data = user_data(words)?;
    let pdu = pdu(kind, words, defaults, (&buffer, &data))?;
    let mut octets = Vec::new();
    pdu.encode_header(&mut octets);
    if sealed {
        let at = octets.len() - 2;
        seal(&mut octets, at, &data);
    }
    octets.extend_from_slice(&data);
    if says("damaged")
        && let Some(last) = octets.last_mut()
    {
        *last ^= 0x10;
    }
    Ok(octets)
}

fn pdu<'a>(
    kind: Kind,
    words: &[String],
    defaults: &Defaults,
    (buffer, data): (&'a ParameterBuffer, &'a [u8]),
) -> Result<Pdu<'a>, String> {
    let says = |word: &str| words.iter().any(|given| given == word);
    let field = |key, default: u64| value(words, key).map_or(Ok(default), number);
    let parameters = buffer.parameters(kind);
    let to = if kind == Kind::Cr { 0 } else { defaults.to };
    let destination_reference = Reference(field("to", u64::from(to))? as u16);
    let source_reference = Reference(field("from", u64::from(defaults.from))? as u16);
    let (format, number) = (defaults.format, field("nr", 0)? as u32);
    let credit = field("credit", 8)?;
    Ok(match kind {
        Kind::Cr | Kind::Cc => {
            let class = (field("class", 4)? << 4) as u8 | u8::from(says("extended")) << 1;
            let connect = Connect {
                credit: credit as u8,
                destination_reference,
                source_reference,
                class: ClassOption::from_octet(class),
                parameters,
                data,
            };
            if kind == Kind::Cr { Pdu::Cr(connect) } else { Pdu::Cc(connect) }
        }
        Kind::Dr => {
            let reason = field("reason", 128)? as u8;
            Pdu::Dr(Disconnect {
                destination_reference,
                source_reference,
                reason,
                parameters,
                data,
            })
        }
        Kind::Dc => {
            Pdu::Dc(DisconnectConfirm { destination_reference, source_reference, parameters })
        }
        Kind::Dt => Pdu::Dt(Data {
            format,
            destination_reference,
            number,
            end_of_tsdu: says("eot"),
            acknowledgement_requested: says("roa"),
            parameters,
            data,
        }),
        Kind::Ed => Pdu::Ed(Expedited { format, destination_reference, number, parameters, data }),
        Kind::Ak | Kind::Rj => {
            let (next, credit) = (number, credit as u16);
            let ak = wire::tp::Acknowledgement {
                format,
                destination_reference,
                next,
                credit,
                parameters,
            };
            if kind == Kind::Ak { Pdu::Ak(ak) } else { Pdu::Rj(ak) }
        }
        Kind::Ea => {
            Pdu::Ea(ExpeditedAcknowledgement { format, destination_reference, number, parameters })
        }
        Kind::Er => {
            let cause = field("cause", 0)? as u8;
            Pdu::Er(Rejected { destination_reference, cause, parameters })
        }
    })
}

// ---- outputs of the entity ---------------------------------------------------------------------

/// TPDU of the entity in words: those of its printed line, with references and lengths named.
pub(super) fn of_tpdu(raw: &Raw<'_>, format: Format) -> Result<Vec<String>, String> {
    let pdu = Pdu::decode(raw, Some(format)).map_err(|e| format!("undecodable: {e}"))?;
    let line = pdu.to_string();
    let mut rest: Vec<&str> = line.split(' ').skip(1).collect();
    let mut words = vec![rest.remove(0).to_owned()];
    match rest.remove(0).split_once('>') {
        Some((from, to)) => words.extend([format!("from={from}"), format!("to={to}")]),
        None => words.push(format!("to={}", pdu.destination_reference())),
    }
    if rest.last() == Some(&"octets") {
        rest.truncate(rest.len() - 2);
    }
    words.extend(rest.into_iter().map(str::to_owned));
    if !pdu.data().is_empty() {
        words.push(format!("octets={}", pdu.data().len()));
        words.extend(quoted(pdu.data()));
    }
    Ok(words)
}

fn quoted(octets: &[u8]) -> Option<String> {
    let printable = octets.len() <= TEXT_OCTETS && octets.iter().all(|c| (b' '..=b'~').contains(c));
    printable.then(|| format!("\"{}\"", String::from_utf8_lossy(octets)))
}

/// An indication in words.
pub(super) fn of_indication(indication: &Indication) -> Vec<String> {
    let name = format!("{indication:?}");
    let mut words = vec![name.split([' ', '{']).next().unwrap_or_default().to_owned()];
    let mut named = |key: &str, octets: &[u8]| {
        words.extend(quoted(octets).filter(|_| !octets.is_empty()).map(|it| format!("{key}={it}")));
    };
    match indication {
        Indication::Connect { called, calling, data, .. } => {
            named("called", called);
            named("calling", calling);
            named("data", data);
        }
        Indication::Confirm { data, .. } => named("data", data),
        Indication::Data { octets, end, .. } => {
            words.extend(quoted(octets));
            words.push(format!("octets={}", octets.len()));
            words.extend(end.then(|| "end".to_owned()));
        }
        Indication::Expedited { data, .. } | Indication::ExpeditedRefused { data, .. } => {
            words.extend(quoted(data));
        }
        Indication::Full { tsdu, .. } => words.extend(quoted(tsdu)),
        Indication::Disconnect { reason, .. } => words.push(format!("\"{reason}\"")),
        Indication::Established { .. }
        | Indication::Ready { .. }
        | Indication::Drained { .. }
        | Indication::Closed { .. } => {}
    }
    words
}

/// Returns true if `found` has every word of `expected`, and none that it negates with `!`.
pub(super) fn fits(expected: &[String], found: &[String]) -> bool {
    let has = |word: &str| {
        let key = |given: &String| given.split_once('=').is_some_and(|(key, _)| key == word);
        found.iter().any(|given| given == word || key(given))
    };
    let kinds = expected.first() == found.first();
    kinds && expected.iter().all(|word| word.strip_prefix('!').map_or(has(word), |no| !has(no)))
}

// ---- parameters of an entity -------------------------------------------------------------------

/// `params` with the changes of a script line.
pub(super) fn params(mut params: Params, words: &[String]) -> Result<Params, String> {
    for word in words {
        let (key, text) = word.split_once('=').unwrap_or((word, ""));
        let time = || duration(&[text.to_owned()]);
        match key {
            "extended" => params.extended = true,
            "checksum" => params.checksum = true,
            "expedited" => params.expedited = true,
            "concatenate" => params.concatenate = true,
            "tpdu-octets" => params.tpdu_octets = small(text)?,
            "nsdu-octets" => params.nsdu_octets = small(text)?,
            "queue-octets" => params.queue_octets = small(text)?,
            "retained-octets" => params.retained_octets = small(text)?,
            "window" => params.window = small(text)?,
            "N" => params.transmissions = small(text)?,
            "connections" => params.connections = small(text)?,
            "half-open" => params.half_open = small(text)?,
            "T1" => params.retransmission_time = time()?,
            "A" => params.acknowledgement_delay = time()?,
            "W" => params.window_time = time()?,
            "I" => params.inactivity_time = time()?,
            "M" => params.nsdu_lifetime = time()?,
            "L" => params.reference_time = time()?,
            "adaptive" => params.retransmission_timer = RetransmissionTimer::Adaptive,
            "by-user" => params.credit = Credit::ByUser,
            "taut" => params.credit = Credit::Taut,
            "all" => params.retransmission = Retransmission::All,
            "early" => params.retransmission = Retransmission::Early,
            "missing" => params.retransmission = Retransmission::Missing,
            "selective" => params.retransmission = Retransmission::Selective,
            "each" => params.acknowledgement = Acknowledgement::Each,
            "delay" => params.acknowledgement = Acknowledgement::Delay,
            "on-request" => params.acknowledgement = Acknowledgement::OnRequest,
            "withhold" => params.acknowledge_every = small(text)?,
            _ => return Err(format!("no such parameter: {key}")),
        }
    }
    Ok(params)
}

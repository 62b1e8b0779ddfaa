//! Checks `docs/format.md`: every line of its `vector` blocks, and its table of types.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use conformance::{Accepted, transcode};
use variant_codec::format::{Lane, Shape};
use variant_codec::stream::Precision;
use variant_codec::{EncodeOptions, Limits, Result, Strictness, Value, VariantType};

/// The engine's treatment of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Written back unchanged.
    Canonical,
    /// Read, and written back as other bytes.
    Tolerated,
    Refused,
}

/// One fenced block of examples, by its info string.
#[derive(Clone, Debug)]
struct Block {
    kind: Kind,
    /// The words after the kind; the document explains them.
    words: Vec<String>,
}

impl Block {
    /// Reads the info string of a fenced block; `None` if the block contains no examples.
    fn new(info: &str) -> Option<Self> {
        let mut words = info.split_whitespace().map(str::to_owned);
        let kind = match words.next()?.as_str() {
            "vector" => Kind::Canonical,
            "vector-tolerated" => Kind::Tolerated,
            "vector-refused" => Kind::Refused,
            other => {
                assert!(!other.starts_with("vector"), "unknown block: {info}");
                return None;
            }
        };
        let words: Vec<String> = words.collect();
        let unknown =
            words.iter().find(|word| !["objects", "strict", "double", "engine"].contains(&word.as_str()));
        assert_eq!(unknown, None, "unknown word in: {info}");
        Some(Self { kind, words })
    }

    fn says(&self, word: &str) -> bool {
        self.words.iter().any(|known| known == word)
    }
}

/// One example: its bytes and, for [`Kind::Tolerated`], the bytes written back.
#[derive(Debug)]
struct Example {
    block: Block,
    line: usize,
    bytes: Vec<u8>,
    written_back: Option<String>,
}

impl Example {
    /// Reads `hex` or `hex -> hex`.
    fn new(block: &Block, line: usize, text: &str) -> Self {
        let compact: String = text.split_whitespace().collect();
        let (input, written_back) = match compact.split_once("->") {
            Some((input, output)) => (input.to_owned(), Some(output.to_owned())),
            None => (compact, None),
        };
        let bytes = hex::decode(&input).unwrap_or_else(|error| panic!("line {line}: {error}"));
        assert_eq!(written_back.is_some(), block.kind == Kind::Tolerated, "line {line}: arrow");
        Self { block: block.clone(), line, bytes, written_back }
    }

    fn limits(&self) -> Limits {
        Limits { allow_objects: self.block.says("objects"), ..Limits::unlimited() }
    }

    fn is_accepted(&self, strictness: Strictness) -> bool {
        let allow_trailing_bytes = strictness == Strictness::Lenient;
        Value::decode_as(&self.bytes, strictness, &Limits { allow_trailing_bytes, ..self.limits() }).is_ok()
    }

    /// The value written back, once through a [`Value`] and once directly.
    fn rewritten(&self, precision: Precision) -> Result<[Vec<u8>; 2]> {
        let options = EncodeOptions { precision: Some(precision), ..EncodeOptions::default() };
        let value = Value::decode_as(&self.bytes, Strictness::Lenient, &self.limits())?;
        Ok([
            value.encode_as(options)?,
            transcode(&self.bytes, Strictness::Lenient, &self.limits(), precision)?,
        ])
    }

    fn is_rewritten_as(&self, expected: &str, precision: Precision) -> bool {
        let expected = Accepted { consumed: self.bytes.len(), reencoded: expected.to_owned() };
        self.rewritten(precision).is_ok_and(|both| both.iter().all(|bytes| expected.is_reencoded(bytes)))
    }

    /// Returns whether strict reading with `allow_non_canonical` gives the same value as lenient reading, or
    /// refuses the bytes.
    fn is_read_alike(&self) -> bool {
        let limits = Limits { allow_non_canonical: true, allow_trailing_bytes: false, ..self.limits() };
        let encoded =
            |strictness| Value::decode_as(&self.bytes, strictness, &limits).and_then(|value| value.encode());
        encoded(Strictness::Strict).map_or(true, |bytes| encoded(Strictness::Lenient) == Ok(bytes))
    }

    /// The first error of the document about this example.
    fn problem(&self) -> Option<&'static str> {
        let (engine, strict) = (self.is_accepted(Strictness::Lenient), self.is_accepted(Strictness::Strict));
        let input = hex::encode(&self.bytes);
        let written_back = self.written_back.as_deref().unwrap_or(&input);
        let double = self.block.says("double");
        if !self.is_read_alike() {
            return Some("read differently where other writers are allowed");
        }
        let checks = match self.block.kind {
            // Only the engine knows its classes, so the crate may accept an example that the engine refuses.
            Kind::Refused if self.block.says("engine") => vec![],
            Kind::Refused => vec![(!engine, "accepted"), (!strict, "accepted strictly")],
            Kind::Canonical => vec![
                (engine, "refused"),
                (strict, "refused strictly"),
                (self.is_rewritten_as(&input, Precision::Single), "written back differently"),
            ],
            // Only the engine compares keys and converts values.
            Kind::Tolerated if self.block.says("engine") => {
                vec![(engine, "refused"), (written_back != input, "written back as it was")]
            }
            Kind::Tolerated => vec![
                (engine, "refused"),
                (strict == (double || self.block.says("strict")), "strictly the other way round"),
                (written_back != input, "written back as it was"),
                (self.is_rewritten_as(written_back, Precision::Single), "written back differently"),
                (
                    !double || self.is_rewritten_as(&input, Precision::Double),
                    "in double precision, another value",
                ),
            ],
        };
        checks.into_iter().find_map(|(holds, problem)| (!holds).then_some(problem))
    }
}

fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/format.md");
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    let mut fenced = false;
    let mut block = None;
    let mut pending = String::new();
    for (index, text) in document().lines().enumerate() {
        if let Some(info) = text.strip_prefix("```") {
            assert_eq!(pending, "", "line {}: an example without a meaning", index + 1);
            fenced = !fenced;
            block = if fenced { Block::new(info) } else { None };
        } else if let Some(block) = &block {
            // An example without a meaning continues on the next line.
            match text.split_once('|') {
                None => pending.push_str(text),
                Some((end, meaning)) => {
                    assert_ne!(meaning.trim(), "", "line {}: no meaning", index + 1);
                    pending.push_str(end);
                    examples.push(Example::new(block, index + 1, &std::mem::take(&mut pending)));
                }
            }
        }
    }
    examples
}

#[test]
fn every_example_matches_the_codec() {
    let examples = examples();
    assert!(examples.len() >= 230, "only {} examples were found", examples.len());
    let problems: Vec<String> = examples
        .iter()
        .filter_map(|example| Some((example, example.problem()?)))
        .map(|(example, problem)| {
            format!("format.md:{}: {problem}: {}", example.line, hex::encode(&example.bytes))
        })
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_type_has_an_example() {
    let shown: BTreeSet<u8> = examples()
        .iter()
        .filter(|example| example.block.kind == Kind::Canonical)
        .map(|example| example.bytes[0])
        .collect();
    let missing: Vec<_> = VariantType::ALL.into_iter().filter(|ty| !shown.contains(&ty.id())).collect();
    assert!(missing.is_empty(), "no canonical example of {missing:?}");
}

#[test]
fn the_table_of_types_matches_the_crate() {
    let document = document();
    let rows: Vec<Vec<&str>> = document
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() == 8 && cells[1].parse::<u8>().is_ok())
        .collect();
    assert_eq!(rows.len(), VariantType::COUNT);
    for (ty, cells) in VariantType::ALL.into_iter().zip(rows) {
        let id = ty.id();
        let (payload, wide) = sizes(ty);
        assert_eq!(cells[1..6], [&id.to_string(), &format!("{id:02x}"), ty.name(), &payload, &wide], "{ty}");
    }
}

/// A type's cells in the columns "payload" and "wide".
fn sizes(ty: VariantType) -> (String, String) {
    let lanes = |lane: Lane, wide: bool, count: usize| {
        if wide && lane != Lane::Real { None } else { Some(lane.width(wide) * count) }
    };
    let (payload, wide) = match ty.shape() {
        Shape::Empty => ("0".to_owned(), None),
        Shape::Bool => ("4".to_owned(), None),
        Shape::Int | Shape::Float => ("4".to_owned(), Some("8".to_owned())),
        Shape::Text => ("t".to_owned(), None),
        Shape::Fixed(lane, count) => {
            ((lane.width(false) * count).to_string(), lanes(lane, true, count).map(|bytes| bytes.to_string()))
        }
        Shape::NodePath => ("12 + t…".to_owned(), None),
        Shape::Rid => ("8".to_owned(), None),
        Shape::Object => ("t + …".to_owned(), Some("8".to_owned())),
        Shape::Signal => ("t + 8".to_owned(), None),
        Shape::Dictionary | Shape::Array => ("4 + …".to_owned(), None),
        Shape::Packed(Lane::Byte, _) => ("4 + n + pad(n)".to_owned(), None),
        Shape::Packed(lane, count) => (
            format!("4 + {}n", lane.width(false) * count),
            lanes(lane, true, count).map(|bytes| format!("4 + {bytes}n")),
        ),
        Shape::PackedStrings => ("4 + t…".to_owned(), None),
    };
    (payload, wide.unwrap_or_default())
}

//! The commands of `gdvar` on arbitrary bytes.

use std::io;

use arbitrary::Unstructured;
use gdvar::check::verdict;
use gdvar::input::{Format, Holds, Input};
use gdvar::json::{self, As, Notation};
use gdvar::output::Output;
use gdvar::query::{Options, query};
use gdvar::{compare, exact, repair, show, stats, textconv};
use variant_codec::stream::Precision;
use variant_codec::{Limits, Value};

use super::{Tail, everything};
use crate::Values;

/// Checks that no command panics and that JSON loses nothing.
pub fn check(data: &[u8]) {
    let mut tail = Tail::of(data);
    let drawn =
        Values { full_objects: true, precision: Precision::default() }.draw(&mut Unstructured::new(data));
    check_json(&drawn.encode().expect("it can be encoded"), &everything());
    let holds = [None, Some(Holds::Value), Some(Holds::Records)][tail.below(3) as usize];
    let format =
        Format { holds, pass: Some("größer".to_owned()), lossy: tail.below(2) > 0, ..Format::default() };
    let open = || Input::of_bytes("input", data.to_vec(), &format);
    let mut out = Output::new(io::sink());
    let _ = textconv::textconv("input", open(), &mut out);
    for is_godot3 in [false, true] {
        let found = repair::search(data, &[], is_godot3);
        assert!(found.whole.iter().chain(&found.lost).all(|range| range.end <= data.len()));
    }
    let Ok(input) = open() else { return };
    let notation = if tail.below(2) > 0 { Notation::Plain } else { Notation::Lossless };
    let _ = show::show(&input, "", true, 1000, &mut out);
    let _ = json::json(&input, false, notation, &mut out);
    let _ = json::get(&input, "0/0", notation, false, &mut out);
    let _ = stats::stats(&input, 20, &mut out);
    let _ = compare::fingerprint(&input, &mut out);
    // Queries only one input in 512, because parsing a filter takes longer than reading a small input.
    if tail.below(512) == 0 {
        let options = Options { notation, raw: true, compact: true, slurp: false, null_input: false };
        let _ = query(&input, "..", &options, &mut out);
    }
    let limits = gdvar::input::limits();
    let is_good = verdict(&input).is_ok();
    let all = input.each(0..u64::MAX, |_, _, bytes| {
        check_json(bytes, &limits);
        Ok(())
    });
    assert!(!is_good || all.is_ok());
}

/// Checks that JSON restores the value of bytes that strict decoding accepts.
pub fn check_json(bytes: &[u8], limits: &Limits) {
    let mut text = Vec::new();
    let appended = json::append(bytes, limits, Notation::Lossless, &mut text);
    let value = Value::decode(bytes, limits);
    assert_eq!(appended.as_ref().err(), value.as_ref().err());
    let Ok(value) = value else { return };
    // Compare with a new encoding: `bytes` may lack the padding at the end.
    let exact = exact::encode(&value).map_err(|error| error.to_string());
    let encoded = json::encode(&text, As::Value);
    let is_canonical = Limits { allow_non_canonical: false, ..limits.clone() };
    // A text with a byte-order mark has no canonical encoding.
    if encoded.is_ok() || Value::decode(bytes, &is_canonical).is_ok() {
        assert_eq!(encoded, exact);
    }
    let mut plain = Vec::new();
    json::append(bytes, limits, Notation::Plain, &mut plain).expect("as the other notation");
}

//! Parts that another decoder pours: put together, they are what one decoder makes of the same bytes.

use conformance::{Values, damaged_bytes};
use proptest::prelude::*;
use variant_codec::{
    Decoder, ElementType, EncodeOptions, Encoder, Lanes, Limits, Manner, NodePathParts, Part, Result, Sink,
    Text, Value, VariantType,
};

/// Objects as well, which are never left to others.
fn limits() -> Limits {
    Limits { allow_objects: true, ..Limits::unlimited() }
}

/// An encoder that leaves parts from so many bytes on to others.
struct InParts {
    encoder: Encoder<Vec<u8>>,
    part_bytes: usize,
    /// What was left, and how long the output was then.
    left: Vec<(usize, Kind, Part)>,
}

enum Kind {
    Values,
    Strings,
}

impl InParts {
    fn leave(&mut self, kind: Kind, part: Part) -> Result<()> {
        self.left.push((self.encoder.written(), kind, part));
        Ok(())
    }

    /// The output with all parts in their places.
    fn finish(self, input: &[u8], manner: Manner) -> Result<Vec<u8>> {
        let written = self.encoder.into_output();
        let mut whole = Vec::new();
        let mut done = 0;
        for (position, kind, part) in &self.left {
            whole.extend_from_slice(&written[done..*position]);
            done = *position;
            let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
            let limits = limits();
            let mut decoder = Decoder::new(input, manner, &limits);
            match kind {
                Kind::Values => decoder.pour_part(part, &mut encoder, &mut ())?,
                Kind::Strings => decoder.pour_strings_part(part, &mut encoder, &mut ())?,
            }
            whole.extend(encoder.into_output());
        }
        whole.extend_from_slice(&written[done..]);
        Ok(whole)
    }
}

macro_rules! as_the_encoder {
    ($($name:ident($($argument:ident: $ty:ty),*);)*) => {
        $(fn $name(&mut self, $($argument: $ty),*) -> Result<()> {
            self.encoder.$name($($argument),*)
        })*
    };
}

impl Sink for InParts {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    as_the_encoder! {
        nil();
        bool(value: bool);
        int(value: i64);
        float(value: f64);
        text(ty: VariantType, text: Text<'_>);
        fixed(ty: VariantType, lanes: Lanes<'_>);
        packed(ty: VariantType, lanes: Lanes<'_>);
        node_path(path: NodePathParts<'_>);
        rid(id: u64);
        callable();
        signal(name: Text<'_>, object: u64);
        object_id(id: u64);
        begin_array(len: usize, element: ElementType<'_>);
        begin_element(array: &mut ());
        end_element(array: &mut ());
        end_array(array: ());
        begin_dictionary(len: usize, key: ElementType<'_>, value: ElementType<'_>);
        begin_key(dictionary: &mut ());
        begin_value(dictionary: &mut ());
        end_entry(dictionary: &mut ());
        end_dictionary(dictionary: ());
        begin_object(class: Text<'_>, properties: usize);
        begin_property(object: &mut (), name: Text<'_>);
        end_property(object: &mut ());
        end_object(object: ());
        begin_strings(len: usize);
        string(strings: &mut (), text: Text<'_>);
        end_strings(strings: ());
    }

    fn part_bytes(&self) -> Option<usize> {
        Some(self.part_bytes)
    }

    fn part(&mut self, _array: &mut (), part: Part) -> Result<()> {
        self.leave(Kind::Values, part)
    }

    fn value_part(&mut self, _dictionary: &mut (), part: Part) -> Result<()> {
        self.leave(Kind::Values, part)
    }

    fn strings_part(&mut self, _strings: &mut (), part: Part) -> Result<()> {
        self.leave(Kind::Strings, part)
    }
}

/// The input encoded again in parts, and how many there were.
fn in_parts(input: &[u8], manner: Manner, part_bytes: usize) -> Result<(Vec<u8>, usize)> {
    let encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut sink = InParts { encoder, part_bytes, left: Vec::new() };
    Decoder::new(input, manner, &limits()).pour_only(&mut sink)?;
    let count = sink.left.len();
    Ok((sink.finish(input, manner)?, count))
}

fn part_sizes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), 2_usize..40, 40_usize..400]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_survive(value in Values { full_objects: true, ..Values::default() }.any(), size in part_sizes()) {
        let bytes = value.encode().unwrap();
        for manner in [Manner::Engine, Manner::Strict] {
            let (again, _) = in_parts(&bytes, manner, size).unwrap();
            prop_assert_eq!(&again, &bytes);
        }
    }

    #[test]
    fn what_is_accepted_in_parts_is_accepted_whole(
        bytes in damaged_bytes(Values::default()),
        size in part_sizes(),
    ) {
        for manner in [Manner::Engine, Manner::Strict] {
            if let Ok((again, _)) = in_parts(&bytes, manner, size) {
                let mut whole = Encoder::new(Vec::new(), EncodeOptions::default());
                Decoder::new(&bytes, manner, &limits()).pour_only(&mut whole).unwrap();
                prop_assert_eq!(again, whole.into_output());
            }
        }
    }
}

#[test]
fn large_values_come_in_parts() {
    let texts: Vec<Value> = (0..1000).map(|i| Value::from(format!("text {i}").as_str())).collect();
    let bytes =
        Value::from(vec![Value::from(texts.clone()), Value::from(7), Value::from(texts)]).encode().unwrap();
    let (again, count) = in_parts(&bytes, Manner::Strict, 1000).unwrap();
    assert_eq!(again, bytes);
    assert!(count > 20, "only {count} parts");
}

/// What the engine takes for no strings at all is not skimmed as many.
#[test]
fn negative_counts_hide_nothing() {
    let bytes = |count| {
        let hex = format!("1c000000 03000000 22000000 {count} 04000000 00000000 00000000");
        hex::decode(hex.replace(' ', "")).unwrap()
    };
    let (again, _) = in_parts(&bytes("01000080"), Manner::Engine, 16).unwrap();
    assert_eq!(again, bytes("00000000"));
}

/// Skimming each level anew must not take time that grows with the square of the input.
#[test]
fn deep_values_are_not_skimmed_at_each_level() {
    let mut value = Value::from(vec![Value::from(1), Value::from("x".repeat(1 << 20).as_str())]);
    for _ in 0..1000 {
        value = Value::from(vec![Value::from("a"), value]);
    }
    let bytes = value.encode().unwrap();
    let (again, _) = in_parts(&bytes, Manner::Engine, 1).unwrap();
    assert_eq!(again, bytes);
}

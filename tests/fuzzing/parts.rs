//! Values in parts that other decoders read.

use variant_codec::stream::{
    Decoder, ElementType, Encoder, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Text,
};
use variant_codec::{EncodeOptions, Result, Strictness, VariantType};

use super::{Tail, everything};
use crate::transcode;

/// The assembled parts equal the output of one decoder.
pub fn check(data: &[u8]) {
    let size = 1 << Tail::of(data).below(9);
    for strictness in [Strictness::Lenient, Strictness::Strict] {
        let whole = transcode(data, strictness, &everything(), Precision::Single);
        let parts = in_parts(data, strictness, size).map(|(bytes, _)| bytes);
        assert_eq!(parts.ok(), whole.ok(), "{strictness:?}, parts of {size} bytes");
    }
}

/// A sink that encodes everything except the parts. [`InParts::finish`] decodes and encodes each part separately.
struct InParts {
    encoder: Encoder<Vec<u8>>,
    /// The target size of a part, in bytes.
    part_bytes: usize,
    /// The parts, each with the length of the output before the part.
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

    /// The output with all parts inserted.
    fn finish(self, input: &[u8], strictness: Strictness) -> Result<Vec<u8>> {
        let written = self.encoder.into_output();
        let mut whole = Vec::new();
        let mut done = 0;
        for (position, kind, part) in &self.left {
            whole.extend_from_slice(&written[done..*position]);
            done = *position;
            let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
            let limits = everything();
            let mut decoder = Decoder::new(input, strictness, &limits);
            match kind {
                Kind::Values => decoder.decode_part(part, &mut encoder, &mut ())?,
                Kind::Strings => decoder.decode_strings_part(part, &mut encoder, &mut ())?,
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

    fn in_parts(&mut self) -> Option<&mut impl PartSink<Self>> {
        Some(self)
    }
}

impl PartSink<Self> for InParts {
    fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    fn part(&mut self, _array: &mut (), part: Part) -> Result<()> {
        self.leave(Kind::Values, part)
    }

    fn strings_part(&mut self, _strings: &mut (), part: Part) -> Result<()> {
        self.leave(Kind::Strings, part)
    }
}

/// Re-encodes the input in parts of `part_bytes`, and also returns the number of parts.
///
/// # Errors
/// Fails if a reader fails.
pub fn in_parts(input: &[u8], strictness: Strictness, part_bytes: usize) -> Result<(Vec<u8>, usize)> {
    let encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut sink = InParts { encoder, part_bytes, left: Vec::new() };
    Decoder::new(input, strictness, &everything()).decode_only(&mut sink)?;
    let count = sink.left.len();
    Ok((sink.finish(input, strictness)?, count))
}

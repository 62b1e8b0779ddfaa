//! A frame as bits, beside one or two earlier frames.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bits::{BitReader, BitWriter};
use crate::coding::{self, Masks, Parameters, Span};
use crate::error::{Error, Result};
use crate::frame::{Frame, MOST_ID};
use crate::row::Fields;
use crate::schema::{Field, Lanes, Schema};

/// From this number of rows on, a template takes fewer bits than it saves.
const LEAST_ROWS: usize = 4;

/// The frames that a difference refers to. Both sides have them.
#[derive(Clone, Copy)]
pub struct References<'f> {
    /// The frame that the difference changes.
    pub base: &'f Frame,
    /// An earlier one, from which, with `base`, the new one is predicted.
    pub earlier: Option<(&'f Frame, Span)>,
}

/// An entity of the baseline.
struct Known {
    /// Its indexes in the baseline and in the new frame, which lacks it if it was removed.
    base: usize,
    new: Option<usize>,
    mask: u64,
    /// The offset of its prediction.
    predicted: usize,
    /// Whether its change or its removal is sent.
    is_sent: bool,
}

/// An entity that the baseline does not have.
struct Added {
    new: usize,
    is_sent: bool,
}

/// A difference before it is written.
pub struct Difference<'f> {
    schema: &'f Schema,
    new: &'f Arc<Frame>,
    references: References<'f>,
    known: Vec<Known>,
    added: Vec<Added>,
    predicted: Vec<u32>,
}

/// A change that may be sent or wait.
pub struct Item {
    pub id: u32,
    place: Place,
}

impl Item {
    /// Whether the baseline lacks the entity.
    pub fn is_added(&self) -> bool {
        matches!(self.place, Place::Added(_))
    }
}

enum Place {
    Known(usize),
    Added(usize),
}

impl<'f> Difference<'f> {
    /// Compares frames.
    pub fn of(schema: &'f Schema, new: &'f Arc<Frame>, references: References<'f>) -> Self {
        let base = references.base;
        let mut difference = Self {
            schema,
            new,
            references,
            known: Vec::with_capacity(base.len()),
            added: Vec::new(),
            predicted: Vec::new(),
        };
        let lanes = schema.lanes();
        let mut prediction = vec![0; lanes];
        let mut predictor = Predictor::new(schema, references);
        let mut next = 0;
        for (at, id) in base.ids.iter().enumerate() {
            while new.ids.get(next).is_some_and(|new| new < id) {
                difference.added.push(Added { new: next, is_sent: true });
                next += 1;
            }
            let mut known = Known { base: at, new: None, mask: 0, predicted: 0, is_sent: true };
            if new.ids.get(next) == Some(id) {
                predictor.predict(at, &mut prediction);
                let actual = new.fields(schema, next);
                known.mask = coding::mask(schema, (&prediction, base.fields(schema, at).1), actual);
                known.new = Some(next);
                if known.mask != 0 {
                    known.predicted = difference.predicted.len();
                    difference.predicted.extend_from_slice(&prediction);
                }
                next += 1;
            }
            difference.known.push(known);
        }
        difference.added.extend((next..new.len()).map(|new| Added { new, is_sent: true }));
        difference
    }

    fn predicted(&self, known: &Known) -> &[u32] {
        &self.predicted[known.predicted..][..self.schema.lanes()]
    }

    /// The changes that may wait.
    pub fn items(&self) -> Vec<Item> {
        let known = self.known.iter().enumerate().filter(|(_, known)| known.new.is_none() || known.mask != 0);
        let known = known.map(|(index, known)| (self.references.base.ids[known.base], Place::Known(index)));
        let added = self.added.iter().enumerate();
        let added = added.map(|(index, added)| (self.new.ids[added.new], Place::Added(index)));
        known.chain(added).map(|(id, place)| Item { id, place }).collect()
    }

    /// Chooses whether an item is sent.
    pub fn send(&mut self, item: &Item, is_sent: bool) {
        match item.place {
            Place::Known(index) => self.known[index].is_sent = is_sent,
            Place::Added(index) => self.added[index].is_sent = is_sent,
        }
    }

    /// Writes the changes that are sent.
    pub fn write(&self, bits: &mut BitWriter) {
        let Self { schema, new, references, .. } = *self;
        let sent = |known: &&Known| known.is_sent;
        let removed = self.known.iter().filter(sent).filter(|known| known.new.is_none());
        write_ids(bits, &removed.map(|known| references.base.ids[known.base]).collect::<Vec<_>>());
        let added = || self.added.iter().filter(|added| added.is_sent).map(|added| added.new);
        write_ids(bits, &added().map(|index| new.ids[index]).collect::<Vec<_>>());
        let rows: Vec<Fields<'_>> = added().map(|index| new.fields(schema, index)).collect();
        if !rows.is_empty() {
            write_rows(schema, bits, &rows);
        }
        let mut parameters = Parameters::new(schema);
        let changed = |known: &&Known| known.is_sent && known.mask != 0;
        for known in self.known.iter().filter(changed) {
            let actual = new.fields(schema, known.new.unwrap_or_default());
            parameters.note(schema, known.mask, self.predicted(known), actual.0);
        }
        // Removed entities have no flags.
        let there = || self.known.iter().filter(|known| !(known.is_sent && known.new.is_none()));
        if there().next().is_none() {
            return;
        }
        let waits = |known: &Known| !known.is_sent;
        let has_waiting = there().any(waits);
        bits.bit(has_waiting);
        write_flags(bits, there().map(|known| changed(&known)));
        if has_waiting {
            write_flags(bits, there().filter(|known| !changed(known)).map(waits));
        }
        if !there().any(|known| changed(&known)) {
            return;
        }
        parameters.write(schema, bits);
        let mut masks = Masks::default();
        for known in there().filter(changed) {
            let actual = new.fields(schema, known.new.unwrap_or_default());
            masks.write(schema, bits, known.mask);
            coding::write(schema, bits, &parameters, known.mask, self.predicted(known), actual);
        }
    }

    /// The frame that the other side has after reading what is sent.
    pub fn sent_frame(&self) -> Arc<Frame> {
        let is_all_sent =
            self.known.iter().all(|known| known.is_sent) && self.added.iter().all(|added| added.is_sent);
        if is_all_sent {
            return Arc::clone(self.new);
        }
        let (schema, base) = (self.schema, self.references.base);
        let mut frame = Frame::new();
        let mut added = self.added.iter().filter(|added| added.is_sent).map(|added| added.new).peekable();
        for known in &self.known {
            let id = base.ids[known.base];
            while let Some(index) = added.next_if(|index| self.new.ids[*index] < id) {
                frame.add(self.new.ids[index], self.new.fields(schema, index));
            }
            match known.new {
                Some(new) if known.is_sent => frame.add(id, self.new.fields(schema, new)),
                None if known.is_sent => {}
                _ => frame.add(id, base.fields(schema, known.base)),
            }
        }
        for index in added {
            frame.add(self.new.ids[index], self.new.fields(schema, index));
        }
        Arc::new(frame)
    }
}

/// Predicts entities of the baseline, in order.
struct Predictor<'f> {
    schema: &'f Schema,
    references: References<'f>,
    /// The index in the earlier frame of the next entity.
    next: usize,
}

impl<'f> Predictor<'f> {
    fn new(schema: &'f Schema, references: References<'f>) -> Self {
        Self { schema, references, next: 0 }
    }

    #[inline(always)]
    fn predict(&mut self, at: usize, into: &mut [u32]) {
        let Self { schema, references: References { base, earlier }, .. } = *self;
        let lanes = base.fields(schema, at).0;
        let Some((earlier, span)) = earlier else { return into.copy_from_slice(lanes) };
        let id = base.ids[at];
        while earlier.ids.get(self.next).is_some_and(|known| *known < id) {
            self.next += 1;
        }
        let is_there = earlier.ids.get(self.next) == Some(&id);
        let before = is_there.then(|| earlier.fields(schema, self.next).0);
        coding::predict(schema, lanes, before, span, into);
    }
}

/// Reads the difference that [`Difference::write`] has written: the frame, and the entities that wait.
///
/// # Errors
/// Fails if the bits are anything else.
pub fn read(
    schema: &Schema,
    bits: &mut BitReader<'_>,
    references: References<'_>,
) -> Result<(Frame, Vec<u32>)> {
    let base = references.base;
    let removed = read_ids(bits, base.len())?;
    let ids = read_ids(bits, schema.most_entities())?;
    let most = schema.most_entities();
    if base.len() - removed.len().min(base.len()) + ids.len() > most {
        return Err(Error::invalid(format!("over {most} entities")));
    }
    if let Some(id) = ids.iter().find(|id| base.find(**id).is_some()) {
        return Err(Error::invalid(format!("entity {id} is added, but the baseline has it")));
    }
    let added = read_rows(schema, bits, ids)?;
    let mut gone = removed.iter().copied().peekable();
    let there: Vec<usize> = (0..base.len()).filter(|at| gone.next_if_eq(&base.ids[*at]).is_none()).collect();
    if let Some(id) = gone.next() {
        return Err(Error::invalid(format!("entity {id} is removed, but the baseline does not have it")));
    }
    let (mut frame, mut waiting) = (Frame::new(), Vec::new());
    frame.lanes.reserve((there.len() + added.len()) * schema.lanes());
    let mut next_added = 0;
    let mut add_until = |frame: &mut Frame, id: Option<u32>| {
        while added.ids.get(next_added).is_some_and(|added| id.is_none_or(|id| *added < id)) {
            frame.add(added.ids[next_added], added.fields(schema, next_added));
            next_added += 1;
        }
    };
    if !there.is_empty() {
        let has_waiting = bits.bit()?;
        let changed = read_flags(bits, there.len())?;
        if has_waiting {
            let others: Vec<u32> = there
                .iter()
                .zip(&changed)
                .filter(|(_, changed)| !**changed)
                .map(|(at, _)| base.ids[*at])
                .collect();
            let waits = read_flags(bits, others.len())?;
            waiting.extend(others.iter().zip(waits).filter(|(_, waits)| *waits).map(|(id, _)| *id));
        }
        let mut still_waiting = waiting.iter().peekable();
        let any = changed.iter().any(|changed| *changed);
        let parameters = if any { Parameters::read(schema, bits)? } else { Parameters::new(schema) };
        let mut masks = Masks::default();
        let mut predictor = Predictor::new(schema, references);
        for (index, at) in there.into_iter().enumerate() {
            let id = base.ids[at];
            add_until(&mut frame, Some(id));
            frame.add(id, base.fields(schema, at));
            if still_waiting.next_if_eq(&&id).is_some() {
                continue;
            }
            let row = frame.last_fields(schema);
            predictor.predict(at, row.0);
            if changed[index] {
                let mask = masks.read(schema, bits)?;
                if mask == 0 {
                    return Err(coding::empty_mask());
                }
                coding::read(schema, bits, &parameters, mask, row)?;
            }
        }
    }
    add_until(&mut frame, None);
    Ok((frame, waiting))
}

/// Writes the rows of new entities, as differences from a template if there are several.
fn write_rows(schema: &Schema, bits: &mut BitWriter, rows: &[Fields<'_>]) {
    let mut template = schema.row();
    let has_template = rows.len() >= LEAST_ROWS;
    bits.bit(has_template);
    if has_template {
        for (index, field) in schema.fields().iter().enumerate() {
            let common = most_common(rows, field);
            let lanes = field.first..field.first + field.lanes.count();
            if let Lanes::Variant { .. } = field.lanes {
                template.variants[field.first] = Arc::clone(&common.1[field.first]);
            } else {
                template.lanes[lanes.clone()].copy_from_slice(&common.0[lanes]);
            }
            schema.put(bits, common, index);
        }
    }
    let mut parameters = Parameters::new(schema);
    let masks: Vec<u64> =
        rows.iter().map(|row| coding::mask(schema, (&template.lanes, &template.variants), *row)).collect();
    for (row, mask) in rows.iter().zip(&masks) {
        parameters.note(schema, *mask, &template.lanes, row.0);
    }
    parameters.write(schema, bits);
    let mut written = Masks::default();
    for (row, mask) in rows.iter().zip(&masks) {
        written.write(schema, bits, *mask);
        coding::write(schema, bits, &parameters, *mask, &template.lanes, *row);
    }
}

/// The first row with the most common value of a field.
fn most_common<'r>(rows: &[Fields<'r>], field: &Field) -> Fields<'r> {
    let value = |row: &Fields<'r>| {
        let lanes: &'r [u32] = row.0.get(field.first..field.first + field.lanes.count()).unwrap_or_default();
        (lanes, field.variant(row.1))
    };
    let mut counts = HashMap::new();
    rows.iter().for_each(|row| *counts.entry(value(row)).or_insert(0) += 1);
    // The last of the most common ones in the reversed order.
    *rows.iter().rev().max_by_key(|row| counts[&value(row)]).unwrap_or(&rows[0])
}

fn read_rows(schema: &Schema, bits: &mut BitReader<'_>, ids: Vec<u32>) -> Result<Frame> {
    let mut added = Frame::new();
    if ids.is_empty() {
        return Ok(added);
    }
    let mut template = schema.row();
    if bits.bit()? {
        for index in 0..schema.fields().len() {
            schema.take(bits, (&mut template.lanes, &mut template.variants), index)?;
        }
    }
    let parameters = Parameters::read(schema, bits)?;
    let mut masks = Masks::default();
    for id in ids {
        let mask = masks.read(schema, bits)?;
        added.add(id, (&template.lanes, &template.variants));
        coding::read(schema, bits, &parameters, mask, added.last_fields(schema))?;
    }
    Ok(added)
}

/// Writes ascending ids as runs of consecutive ones: the number of runs, and for each, where it starts and its length.
fn write_ids(bits: &mut BitWriter, ids: &[u32]) {
    let runs = || ids.chunk_by(|id, next| id + 1 == *next);
    bits.gamma(runs().count() as u32 + 1);
    let mut least = 0;
    for run in runs() {
        bits.gamma((u64::from(run[0]) - least + 1) as u32);
        bits.gamma(run.len() as u32);
        least = u64::from(run[0]) + run.len() as u64 + 1;
    }
}

fn read_ids(bits: &mut BitReader<'_>, most: usize) -> Result<Vec<u32>> {
    let (mut ids, mut least) = (Vec::new(), 0);
    for _ in 1..bits.gamma()? {
        let first = least + u64::from(bits.gamma()?) - 1;
        let count = bits.gamma()?;
        let end = first + u64::from(count);
        if end > u64::from(MOST_ID) + 1 {
            return Err(Error::invalid(format!("an id is above {MOST_ID}")));
        }
        if ids.len() as u64 + u64::from(count) > most as u64 {
            return Err(Error::invalid(format!("over {most} ids")));
        }
        ids.extend(first as u32..end as u32);
        least = end + 1;
    }
    Ok(ids)
}

/// Writes one bit for each flag, or the indexes of the set ones.
fn write_flags(bits: &mut BitWriter, flags: impl Iterator<Item = bool> + Clone) {
    let set = flags.clone().enumerate().filter(|(_, flag)| *flag);
    let places: Vec<u32> = set.map(|(index, _)| index as u32).collect();
    let mut list = BitWriter::default();
    write_ids(&mut list, &places);
    let is_list = list.count() < flags.clone().count();
    bits.bit(is_list);
    if is_list {
        write_ids(bits, &places);
    } else {
        flags.for_each(|flag| bits.bit(flag));
    }
}

fn read_flags(bits: &mut BitReader<'_>, count: usize) -> Result<Vec<bool>> {
    if !bits.bit()? {
        return (0..count).map(|_| bits.bit()).collect();
    }
    let mut flags = vec![false; count];
    for place in read_ids(bits, count)? {
        *flags
            .get_mut(place as usize)
            .ok_or_else(|| Error::invalid("more entities than the baseline has"))? = true;
    }
    Ok(flags)
}

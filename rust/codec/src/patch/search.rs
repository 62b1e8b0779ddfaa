//! Finds the differences between two lists of numbers.
//!
//! Numbers that occur once in each list are anchors, as in a patience diff. The longest chain of anchors with
//! the same order in both lists is kept, and the ranges between the anchors are searched in turn. Without
//! anchors, Myers' greedy search looks for the fewest changes. Both searches share one budget of steps. Once
//! the budget is used up, the remaining ranges are replaced as a whole, so the time is linear.

use std::ops::Range;

use super::form::{push, with_capacity};
use crate::error::Result;

/// The budget of steps: `STEPS` per element of both lists, plus `FREE_STEPS`.
const STEPS: usize = 16;
const FREE_STEPS: usize = 1 << 10;
/// The maximum number of changes searched for in one range, because memory grows with the square of this
/// number.
const MAX_CHANGES: usize = 512;

/// A difference between two lists: a range of the old list, and the range of the new list that replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// Returns the differences between two lists, in order. All numbers must be less than `names`.
pub(super) fn hunks(old: &[u32], new: &[u32], names: usize) -> Result<Vec<Hunk>> {
    let mut seen = with_capacity(names)?;
    seen.resize(names, Seen::default());
    let steps = (old.len() + new.len()) * STEPS + FREE_STEPS;
    let mut search = Search { old, new, seen, steps, found: Vec::new() };
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((mut gone, mut come)) = open.pop() {
        search.narrow(&mut gone, &mut come);
        if gone.is_empty() || come.is_empty() || search.steps == 0 {
            search.add(gone, come)?;
        } else if let Some(anchors) = search.anchors(gone.clone(), come.clone())? {
            let (mut old_end, mut new_end) = (gone.end, come.end);
            // The ranges are pushed last to first, so that the first range is on top of the stack.
            for (old, new) in anchors.into_iter().rev() {
                push(&mut open, (old + 1..old_end, new + 1..new_end))?;
                (old_end, new_end) = (old, new);
            }
            push(&mut open, (gone.start..old_end, come.start..new_end))?;
        } else if !search.fewest_changes(gone.clone(), come.clone())? {
            search.add(gone, come)?;
        }
    }
    Ok(search.found)
}

/// The occurrences of a number in a range of the old list and in a range of the new list.
#[derive(Clone, Copy, Default)]
struct Seen {
    old: Occurrences,
    new: Occurrences,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Occurrences {
    #[default]
    Never,
    Once(u32),
    Often,
}

impl Occurrences {
    fn add(&mut self, index: usize) {
        *self = if *self == Self::Never { Self::Once(index as u32) } else { Self::Often };
    }
}

struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// The occurrences of each number, indexed by the number. All are `Never` between calls of `anchors`.
    seen: Vec<Seen>,
    /// Steps left.
    steps: usize,
    found: Vec<Hunk>,
}

impl Search<'_> {
    fn charge(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Adds a difference, or extends the last one if they are adjacent.
    fn add(&mut self, old: Range<usize>, new: Range<usize>) -> Result<()> {
        if old.is_empty() && new.is_empty() {
            return Ok(());
        }
        match self.found.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
                Ok(())
            }
            _ => push(&mut self.found, Hunk { old, new }),
        }
    }

    /// Strips the common prefix and suffix from two ranges.
    fn narrow(&mut self, gone: &mut Range<usize>, come: &mut Range<usize>) {
        let (old, new) = (&self.old[gone.clone()], &self.new[come.clone()]);
        let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[prefix..], &new[prefix..]);
        let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        (gone.start, come.start) = (gone.start + prefix, come.start + prefix);
        (gone.end, come.end) = (gone.end - suffix, come.end - suffix);
        self.charge(prefix + suffix + 1);
    }

    /// Returns the longest chain of numbers that occur exactly once in each range and have the same order in
    /// both. Returns `None` if there are no such numbers.
    fn anchors(&mut self, gone: Range<usize>, come: Range<usize>) -> Result<Option<Vec<(usize, usize)>>> {
        self.charge(gone.len() + come.len());
        for index in gone.clone() {
            self.seen[self.old[index] as usize].old.add(index);
        }
        for index in come.clone() {
            self.seen[self.new[index] as usize].new.add(index);
        }
        let mut pairs = Vec::new();
        for index in gone.clone() {
            if let Seen { old: Occurrences::Once(old), new: Occurrences::Once(new) } =
                self.seen[self.old[index] as usize]
            {
                push(&mut pairs, (old, new))?;
            }
        }
        for number in self.old[gone].iter().chain(&self.new[come]) {
            self.seen[*number as usize] = Seen::default();
        }
        self.charge(pairs.len() * pairs.len().checked_ilog2().unwrap_or(0) as usize / 8);
        Ok((!pairs.is_empty()).then_some(longest_chain(&pairs)?))
    }

    /// Adds the fewest changes between two ranges. Returns `false` if finding them exceeds the bounds.
    fn fewest_changes(&mut self, gone: Range<usize>, come: Range<usize>) -> Result<bool> {
        let (old, new) = (&self.old[gone.clone()], &self.new[come.clone()]);
        let (old_len, new_len) = (old.len() as i64, new.len() as i64);
        // For each number of changes and each diagonal: the length of the matched prefix of the old list.
        let mut rounds: Vec<Vec<i64>> = Vec::new();
        let most = self.steps.min((old.len() + new.len()) * STEPS / 2 + FREE_STEPS);
        let mut steps = 0;
        loop {
            let changes = rounds.len() as i64;
            steps += rounds.len() + 1;
            if rounds.len() > MAX_CHANGES || steps > most {
                self.charge(steps);
                return Ok(false);
            }
            let mut round = with_capacity(rounds.len() + 1)?;
            let mut is_done = false;
            for diagonal in (-changes..=changes).step_by(2) {
                let start = step(rounds.last(), diagonal, old_len, new_len).map_or(NOWHERE, |(at, _)| at);
                let mut at = start;
                if at != NOWHERE {
                    let (old, new) = (&old[at as usize..], &new[(at - diagonal) as usize..]);
                    at += old.iter().zip(new).take_while(|(a, b)| a == b).count() as i64;
                    steps += (at - start) as usize;
                    is_done |= at == old_len && at - diagonal == new_len;
                }
                round.push(at);
            }
            push(&mut rounds, round)?;
            if is_done {
                break;
            }
        }
        self.charge(steps);

        let mut changes = with_capacity(rounds.len())?;
        let (mut old_at, mut new_at) = (old_len, new_len);
        rounds.pop();
        while !rounds.is_empty() {
            let taken = step(rounds.last(), old_at - new_at, old_len, new_len);
            let is_insertion = taken.is_some_and(|(_, is_insertion)| is_insertion);
            let diagonal = old_at - new_at + if is_insertion { 1 } else { -1 };
            old_at = matched(rounds.last(), diagonal);
            new_at = old_at - diagonal;
            changes.push((old_at as usize, new_at as usize, is_insertion));
            rounds.pop();
        }
        for (old, new, is_insertion) in changes.into_iter().rev() {
            let (old, new) = (gone.start + old, come.start + new);
            self.add(old..old + usize::from(!is_insertion), new..new + usize::from(is_insertion))?;
        }
        Ok(true)
    }
}

/// The matched length on a diagonal that has not been reached.
const NOWHERE: i64 = i64::MIN;

/// The length of the prefix of the old list that is matched on this diagonal after a round.
fn matched(round: Option<&Vec<i64>>, diagonal: i64) -> i64 {
    let Some(round) = round else { return NOWHERE };
    let index = diagonal + round.len() as i64 - 1;
    usize::try_from(index / 2)
        .ok()
        .filter(|_| index >= 0)
        .and_then(|index| round.get(index))
        .map_or(NOWHERE, |at| *at)
}

/// The length of the prefix of the old list that is matched on this diagonal after one more change,
/// and whether the change is an insertion.
fn step(round: Option<&Vec<i64>>, diagonal: i64, old_len: i64, new_len: i64) -> Option<(i64, bool)> {
    if round.is_none() {
        return Some((0, false));
    }
    let inserted = matched(round, diagonal + 1);
    let inserted = (inserted != NOWHERE && inserted - diagonal <= new_len).then_some((inserted, true));
    let removed = matched(round, diagonal - 1);
    let removed = (removed != NOWHERE && removed < old_len).then_some((removed.saturating_add(1), false));
    inserted.into_iter().chain(removed).max_by_key(|(at, _)| *at)
}

/// Returns the longest chain of pairs whose second numbers ascend. The first numbers of all pairs ascend already.
fn longest_chain(pairs: &[(u32, u32)]) -> Result<Vec<(usize, usize)>> {
    // The last pair of the best chain of each length, and the predecessor of each pair.
    let (mut ends, mut before) = (with_capacity::<usize>(pairs.len())?, with_capacity::<usize>(pairs.len())?);
    for (index, (_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *new);
        before.push(length.checked_sub(1).map_or(usize::MAX, |length| ends[length]));
        ends.truncate(ends.len().max(length));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut chain = with_capacity(ends.len())?;
    let mut next = ends.last().copied();
    while let Some((old, new)) = next.and_then(|index| pairs.get(index)) {
        chain.push((*old as usize, *new as usize));
        next = next.and_then(|index| before.get(index)).copied();
    }
    chain.reverse();
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The new list, rebuilt from the old one and the differences.
    fn made(old: &[u32], new: &[u32], hunks: &[Hunk]) -> Vec<u32> {
        let (mut made, mut at) = (Vec::new(), 0);
        for hunk in hunks {
            made.extend(&old[at..hunk.old.start]);
            made.extend(&new[hunk.new.clone()]);
            at = hunk.old.end;
        }
        made.extend(&old[at..]);
        made
    }

    fn changed(hunks: &[Hunk]) -> usize {
        hunks.iter().map(|hunk| hunk.old.len() + hunk.new.len()).sum()
    }

    #[test]
    fn few_changes_are_found_among_random_numbers() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((seed >> 33) % below) as usize
        };
        for kinds in [1, 2, 5, 1000] {
            for _ in 0..100 {
                let old: Vec<u32> = (0..random(200)).map(|_| random(kinds) as u32).collect();
                let mut new = old.clone();
                let edits = random(6);
                for _ in 0..edits {
                    let at = random(new.len() as u64 + 1);
                    if random(2) == 0 && at < new.len() {
                        new.remove(at);
                    } else {
                        new.insert(at, random(kinds) as u32);
                    }
                }
                let found = hunks(&old, &new, kinds as usize).unwrap();
                assert_eq!(made(&old, &new, &found), new);
                assert!(found.is_sorted_by(|a, b| a.old.end <= b.old.start && a.new.end <= b.new.start));
                // An anchor may be kept although more numbers would match without it.
                assert!(changed(&found) <= if kinds < 1000 { 12 * edits } else { edits }, "{old:?} {new:?}");
            }
        }
    }
}

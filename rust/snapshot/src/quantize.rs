//! Values as whole numbers. Only operations that IEEE 754 rounds correctly are used, so that all platforms agree.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// A float as one of `count` steps from `min` on. A float outside becomes the nearest step.
#[inline(always)]
pub fn step_of(value: f64, min: f64, step: f64, count: u64) -> u32 {
    // The cast turns negative numbers into 0.
    ((value - min) / step).round().min((count - 1) as f64) as u32
}

/// The float at a step.
#[inline(always)]
pub fn at_step(index: u32, min: f64, step: f64) -> f64 {
    min + f64::from(index) * step
}

/// An angle in radians as one of 2^`bits` parts of a turn.
#[inline(always)]
pub fn part_of_turn(angle: f64, bits: u32) -> u32 {
    let parts = 1_u64 << bits;
    // A negative remainder is counted from the end.
    let part = (angle % TAU / TAU * parts as f64).round() as i64;
    (part & (parts as i64 - 1)) as u32
}

/// The angle of a part, at least −π and below π.
#[inline(always)]
pub fn at_part(part: u32, bits: u32) -> f64 {
    let parts = 1_i64 << bits;
    let part = i64::from(part);
    let signed = if part >= parts / 2 { part - parts } else { part };
    signed as f64 * (TAU / parts as f64)
}

/// The index of the component of a quaternion that is left out, and the others as steps: `half` is the step of 0.
pub fn smallest_three(quaternion: [f64; 4], bits: u32) -> [u32; 4] {
    // Close to a tie, rounding may change which component is the largest. The second time, it no longer does.
    encoded(from_smallest_three(encoded(quaternion, bits), bits), bits)
}

fn encoded(quaternion: [f64; 4], bits: u32) -> [u32; 4] {
    let half = half(bits);
    let length = quaternion.iter().map(|part| part * part).sum::<f64>().sqrt();
    let step = FRAC_1_SQRT_2 / half;
    let steps = quaternion.map(|part| (part / length / step).round());
    // The first of the largest.
    let largest =
        (1..4).fold(0, |most, index| if steps[index].abs() > steps[most].abs() { index } else { most });
    let sign = if quaternion[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut lanes = [largest as u32, 0, 0, 0];
    let others = (0..4).filter(|index| *index != largest);
    for (lane, index) in lanes[1..].iter_mut().zip(others) {
        *lane = ((sign * steps[index]).clamp(-half, half) + half) as u32;
    }
    lanes
}

/// The quaternion of such numbers.
pub fn from_smallest_three(lanes: [u32; 4], bits: u32) -> [f64; 4] {
    let half = half(bits);
    let step = FRAC_1_SQRT_2 / half;
    let mut rest = lanes[1..].iter().map(|lane| (f64::from(*lane) - half) * step);
    let mut quaternion = [0.0; 4];
    let mut squares = 0.0;
    for (index, part) in quaternion.iter_mut().enumerate() {
        if index != lanes[0] as usize {
            *part = rest.next().unwrap_or(0.0);
            squares += *part * *part;
        }
    }
    quaternion[lanes[0] as usize & 3] = (1.0 - squares).max(0.0).sqrt();
    quaternion
}

/// Whether a rotation has such numbers.
pub fn is_rotation(lanes: [u32; 4], bits: u32) -> bool {
    let half = half(bits);
    let step = FRAC_1_SQRT_2 / half;
    let parts = lanes[1..].iter().map(|lane| f64::from(*lane) - half);
    lanes[0] < 4
        && parts.clone().all(|part| part <= half)
        && parts.map(|part| part * step * (part * step)).sum::<f64>() <= 1.0
}

/// The largest step of a component in either direction, so that 0 is a step, too.
fn half(bits: u32) -> f64 {
    ((1_u32 << (bits - 1)) - 1) as f64
}

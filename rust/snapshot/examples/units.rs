//! A benchmark of 120 units at 30 Hz; two thirds of them move: `cargo run -p variant_snapshot --release --example units`.
//!
//! Prints the bytes and the time for a unit. The acknowledgements arrive three ticks late.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;
use std::time::{Duration, Instant};

use variant_snapshot::{Frame, Kind, Reader, Schema, Steps, Value, Writer};

const UNITS: usize = 120;
const TICKS: u32 = 3000;
const TICK: f64 = 1.0 / 30.0;
/// The age in ticks of the newest acknowledgement.
const LATE: usize = 3;

/// A unit that walks to places, turning at up to 3 rad/s and accelerating at 8 m/s² up to 4 m/s, and rests in between.
struct Unit {
    at: [f64; 2],
    goal: [f64; 2],
    heading: f64,
    speed: f64,
    walks: bool,
    until: f64,
    hp: i64,
    flags: [bool; 2],
}

fn main() {
    let mut random = fastrand::Rng::with_seed(1);
    let place = |random: &mut fastrand::Rng| [random.f64() * 100.0, random.f64() * 100.0];
    let mut units: Vec<Unit> = (0..UNITS)
        .map(|_| Unit {
            at: place(&mut random),
            goal: place(&mut random),
            heading: random.f64() * TAU,
            speed: 0.0,
            walks: random.u8(0..3) > 0,
            until: random.f64() * 3.0,
            hp: 100,
            flags: [false; 2],
        })
        .collect();
    let mut schema = Schema::new();
    let metres = |min: f64, max: f64, step: f64| Kind::Vector2(Steps { min, max, step });
    schema.add("position", metres(0.0, 100.0, 0.01)).unwrap();
    schema.add("velocity", metres(-5.0, 5.0, 0.1)).unwrap();
    schema.add("rotation", Kind::Angle { bits: 8 }).unwrap();
    schema.add("hp", Kind::Int { min: 0, max: 100 }).unwrap();
    schema.add("state", Kind::Int { min: 0, max: 7 }).unwrap();
    schema.add("is_hit", Kind::Bool).unwrap();
    schema.add("is_selected", Kind::Bool).unwrap();
    let schema = Arc::new(schema);
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&schema), 0), Reader::new(Arc::clone(&schema)));
    let mut late = Vec::new();
    let (mut bytes, mut moving, mut full) = (0, 0, 0);
    let (mut setting, mut writing, mut reading) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for tick in 0..TICKS {
        for unit in &mut units {
            unit.until -= TICK;
            if unit.until < 0.0 {
                unit.walks = !unit.walks;
                unit.until = if unit.walks { 2.0 + random.f64() * 8.0 } else { 2.0 + random.f64() * 3.0 };
                unit.goal = place(&mut random);
            }
            let way = [unit.goal[0] - unit.at[0], unit.goal[1] - unit.at[1]];
            if unit.walks {
                let turn = (way[1].atan2(way[0]) - unit.heading + PI).rem_euclid(TAU) - PI;
                unit.heading += turn.clamp(-3.0 * TICK, 3.0 * TICK);
            }
            unit.speed = (unit.speed + if unit.walks { 8.0 * TICK } else { -8.0 * TICK }).clamp(0.0, 4.0);
            unit.at[0] += unit.heading.cos() * unit.speed * TICK;
            unit.at[1] += unit.heading.sin() * unit.speed * TICK;
            moving += usize::from(unit.speed > 0.0);
            let is_hit = random.u32(0..300) == 0 && unit.hp > 0;
            unit.hp -= i64::from(is_hit);
            // A hit shows for 6 ticks; a tenth of the units are selected.
            unit.flags[0] = is_hit || unit.flags[0] && random.u32(0..6) > 0;
            unit.flags[1] = if unit.flags[1] { random.u32(0..90) > 0 } else { random.u32(0..810) == 0 };
        }
        let started = Instant::now();
        let mut frame = Frame::new();
        let mut row = schema.row();
        for (id, unit) in units.iter().enumerate() {
            let velocity = [unit.heading.cos() * unit.speed, unit.heading.sin() * unit.speed];
            let values = [
                Value::Vector2(unit.at),
                Value::Vector2(velocity),
                Value::Float(unit.heading),
                Value::Int(unit.hp),
                Value::Int(i64::from(unit.walks)),
                Value::Bool(unit.flags[0]),
                Value::Bool(unit.flags[1]),
            ];
            for (field, value) in values.into_iter().enumerate() {
                schema.set(&mut row, field, value).unwrap();
            }
            frame.push(id as u32, &row).unwrap();
        }
        let frame = Arc::new(frame);
        setting += started.elapsed();
        let started = Instant::now();
        let packet = writer.write(tick, &frame, 1200, |_| 1.0).unwrap();
        writing += started.elapsed();
        let started = Instant::now();
        reader.read(&packet).unwrap();
        reading += started.elapsed();
        if tick % 100 == 99 {
            let mut late = Writer::new(Arc::clone(&schema), 0);
            full += late.write(tick, &frame, 2000, |_| 1.0).unwrap().len();
        }
        if tick >= 100 {
            bytes += packet.len();
        }
        late.push(reader.acknowledgement());
        // The acknowledgement of a tick comes before the snapshot LATE ticks later.
        if late.len() == LATE {
            writer.acknowledge(&late.remove(0)).unwrap();
        }
    }
    let each = |time: Duration| time.as_nanos() / u128::from(TICKS) / UNITS as u128;
    println!("moving           {:5.2} of the units", moving as f64 / f64::from(TICKS) / UNITS as f64);
    println!("full             {:5.2} bytes for a unit", full as f64 / f64::from(TICKS / 100) / UNITS as f64);
    println!(
        "difference       {:5.2} bytes for a unit and tick",
        bytes as f64 / f64::from(TICKS - 100) / UNITS as f64
    );
    println!("to whole numbers {:5} ns for a unit", each(setting));
    println!("write            {:5} ns for a unit", each(writing));
    println!("read             {:5} ns for a unit", each(reading));
}

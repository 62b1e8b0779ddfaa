//! `query`: filters in jq's language.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use jaq_all::data::{self, Filter, Runner};
use jaq_all::json::write::{self, Pp, Styles};
use jaq_all::json::{Val, read};
use jaq_all::load::FileReportsDisp;

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input, STACK};
use crate::json::{self, Notation};
use crate::output::Output;
use crate::terminal::printable;

/// Options for the filter's input and the printed results.
pub struct Options {
    /// The notation in which the filter gets the values.
    pub notation: Notation,
    /// Print strings without quotes.
    pub raw: bool,
    /// Print each result on one line.
    pub compact: bool,
    /// Run the filter once, on an array of all records.
    pub slurp: bool,
    /// Run the filter once, on null. `input` and `inputs` take the records.
    pub null_input: bool,
}

/// Prints the messages of `debug`, `stderr` and `halt_error`, which jaq logs.
struct Messages;

impl log::Log for Messages {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("jaq")
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = printable(&record.args().to_string());
        match record.level() {
            log::Level::Debug => anstream::eprintln!("[\"DEBUG:\",{text}]"),
            _ => anstream::eprintln!("{text}"),
        }
    }

    fn flush(&self) {}
}

/// Runs the filter and prints the results.
pub fn query(input: &Input, filter: &str, options: &Options, out: &mut Output) -> Outcome<()> {
    if log::set_logger(&Messages).is_ok() {
        log::set_max_level(log::LevelFilter::Debug);
    }
    let filter = compiled(filter)?;
    // jaq's values cannot move between threads, so the reader sends JSON.
    thread::scope(|scope| {
        /// The capacity of the channel, in texts: enough to keep both threads busy.
        const WAITING: usize = 4;

        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let reader = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, move || read_values(input, options.notation, &sender))
            .map_err(|error| Failure::file("cannot start a thread", &error))?;
        let printed = print(&filter, options, receiver, out);
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.and(printed)
    })
}

fn compiled(filter: &str) -> Outcome<Filter> {
    jaq_all::compile_with(filter, definitions(), data::base_funs(), &[]).map_err(|reports| {
        let reports = reports.iter().map(|report| FileReportsDisp::new(report).to_string());
        Failure::Arguments(format!("the filter is not valid\n{}", reports.collect::<String>().trim_end()))
    })
}

fn definitions() -> impl Iterator<Item = jaq_all::jaq_core::load::parse::Def<&'static str>> {
    jaq_all::jaq_core::defs().chain(jaq_all::jaq_std::defs()).chain(jaq_all::json::defs())
}

/// Sends all values as JSON, many at a time, until the receiver is dropped.
///
/// # Errors
/// Fails if a value cannot be read. The receiver then gets an error as well, so that a filter that reads all
/// values has no result.
fn read_values(
    input: &Input,
    notation: Notation,
    sender: &SyncSender<Result<Vec<u8>, String>>,
) -> Outcome<()> {
    const SENT_AT_ONCE: usize = 64 << 10;

    let limits = input::limits();
    let mut text = Vec::new();
    let read = input.each(0..u64::MAX, |index, offset, bytes| {
        json::append(bytes, &limits, notation, &mut text)
            .map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
        text.push(b'\n');
        if text.len() < SENT_AT_ONCE {
            return Ok(());
        }
        sender.send(Ok(std::mem::take(&mut text))).map_err(|_| Failure::Closed)
    });
    match read {
        Err(Failure::Closed) => Ok(()),
        read => {
            // The receiver is gone if the filter ended early.
            let _ = sender.send(Ok(text));
            if read.is_err() {
                let _ = sender.send(Err("the rest of the file cannot be read".to_owned()));
            }
            read
        }
    }
}

fn print(
    filter: &Filter,
    options: &Options,
    values: Receiver<Result<Vec<u8>, String>>,
    out: &mut Output,
) -> Outcome<()> {
    let pretty = Pp {
        indent: (!options.compact).then(|| "  ".to_owned()),
        styles: if out.is_coloured() { Styles::ansi() } else { Styles::default() },
        sep_space: !options.compact,
        ..Pp::default()
    };
    let is_terminal = out.is_terminal();
    let out = out.bytes();
    let mut values = values.into_iter().flat_map(|text| match text {
        Ok(text) => read::parse_many(&text).map(|value| value.map_err(|error| error.to_string())).collect(),
        Err(error) => vec![Err(error)],
    });
    let slurped = options.slurp.then(|| values.by_ref().collect::<Result<Val, String>>());
    let runner = Runner { null_input: options.null_input, ..Runner::default() };
    let name = Val::Null;
    let input = (&name, slurped.into_iter().chain(values));
    data::run(&runner, filter, Default::default(), input, Failure::Data, |result| {
        let value = match result {
            Ok(value) => value,
            Err(end) => {
                return Err(match end.get_halt() {
                    Ok(code) => Failure::Halted(code as u8),
                    // Only errors leave a filter. Other exceptions, such as `break`, end inside the filter.
                    Err(end) => end
                        .get_err()
                        .map_or(Failure::Closed, |error| Failure::Data(format!("the filter fails: {error}"))),
                });
            }
        };
        let written: io::Result<()> = match &value {
            Val::TStr(text) | Val::BStr(text) if options.raw && is_terminal => {
                out.write_all(printable(&String::from_utf8_lossy(text)).as_bytes())
            }
            Val::TStr(text) | Val::BStr(text) if options.raw => out.write_all(text),
            value => write::write(&mut *out, &pretty, 0, value),
        };
        written.and_then(|()| out.write_all(b"\n")).map_err(Failure::output)
    })
}

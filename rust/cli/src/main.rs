//! `gdvar`: the command that shows, compares, checks and converts Godot's encoded Variants.

use std::error::Error;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use variant_codec::godot3::Loss;

use gdvar::check::check;
use gdvar::compare;
use gdvar::convert::{To, convert};
use gdvar::failure::{Failure, Outcome};
use gdvar::input::{Damage, Format, Input, STACK};
use gdvar::json::{self, As, Notation};
use gdvar::output::{Output, Target};
use gdvar::patch;
use gdvar::query::{Options, query};
use gdvar::repair::repair;
use gdvar::show::show;
use gdvar::stats::stats;
use gdvar::textconv;

/// Shows, compares, checks and converts Godot's encoded Variants.
///
/// FILE contains records, as `FileAccess.store_var` and `FastVariantCodec.save_batch` write them, or one
/// value, as `var_to_bytes` returns it; gdvar recognises which. `-` is standard input.
///
/// Exit codes: 0 if all is well; 1 if data are damaged or differ; 2 for wrong arguments; 3 if a file cannot be read or written.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print values as a tree, and damaged values up to the damage
    Show(Show),
    /// Print one part as JSON, without reading the others
    Get(Get),
    /// Print everything as JSON, from which `from-json` restores the same bytes
    Json(Json),
    /// Encode the output of `json` as a save or as one value
    FromJson(FromJson),
    /// Run a filter in jq's language on each record
    Query(Query),
    /// Check files as strictly as `try_decode`, and print what is wrong and where. The other commands read every
    /// encoding that an engine reads
    Check(Check),
    /// Copy the records that are still whole from a damaged file to another file
    Repair(Repair),
    /// Print which keys and types take the most bytes
    Stats(Stats),
    /// Print which paths differ between two files, whatever the order of keys
    Diff(Diff),
    /// Apply a patch of `diff --patch` to an old file, and write the new one
    Patch(Patch),
    /// Write the same values as one value or as records, in Godot 3's or Godot 4's format, compressed, encrypted or plain.
    /// The encoding is canonical
    Convert(Convert),
    /// Print each value after its path, for `git diff`
    ///
    /// With these three lines, `git diff`, `git log -p` and `git show` compare saves by their values:
    ///
    ///     echo '*.dat diff=gdvar' >> .gitattributes
    ///     git config diff.gdvar.textconv 'gdvar textconv --'
    ///     git config diff.gdvar.cachetextconv true
    #[command(verbatim_doc_comment)]
    Textconv(OneFile),
    /// Print a 64-bit hash of each value, the same as `FastVariantPatch.fingerprint`
    Fingerprint(OneFile),
    /// Print a script with which a shell completes the arguments of gdvar
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

#[derive(Args)]
struct OneFile {
    /// The file
    file: PathBuf,
    #[command(flatten)]
    format: Format,
}

impl OneFile {
    fn open(&self) -> Outcome<Input> {
        Input::open(&self.file, &self.format)
    }
}

#[derive(Args)]
struct Show {
    #[command(flatten)]
    file: OneFile,
    /// The part to show, as keys and indexes: players/0/name
    #[arg(default_value = "")]
    path: String,
    /// Print the offset of each value
    #[arg(long)]
    offsets: bool,
    /// The most keys and values to show per record
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    most: usize,
}

#[derive(Args)]
struct Get {
    #[command(flatten)]
    file: OneFile,
    /// The part, as keys and indexes: players/0/name
    path: String,
    /// Write types that JSON lacks in the nearest JSON form, for people and other programs
    #[arg(long)]
    plain: bool,
    /// Print the encoded bytes of the part instead
    #[arg(long, conflicts_with = "plain")]
    bytes: bool,
}

#[derive(Args)]
struct Json {
    #[command(flatten)]
    file: OneFile,
    /// One line for each record
    #[arg(long)]
    lines: bool,
    /// Write types that JSON lacks in the nearest JSON form, for people and other programs. `from-json` reads
    /// these forms as other values
    #[arg(long)]
    plain: bool,
}

#[derive(Args)]
struct Query {
    #[command(flatten)]
    file: OneFile,
    /// The filter, in jq's language: .players[0].name
    filter: String,
    /// Write types that JSON lacks in the nearest JSON form, for people and other programs
    #[arg(long)]
    plain: bool,
    /// Print strings without quotes
    #[arg(short, long)]
    raw_output: bool,
    /// Print each result on one line
    #[arg(short, long)]
    compact_output: bool,
    /// Run the filter once, on an array of all records
    #[arg(short, long)]
    slurp: bool,
    /// Run the filter once, on null; `input` and `inputs` take the records
    #[arg(short, long, conflicts_with = "slurp")]
    null_input: bool,
}

#[derive(Args)]
struct FromJson {
    /// The JSON; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Write each value, such as each line, as a record. If the text starts with `[` on a line of its own, as
    /// in the output of `json` for records, write each element as a record
    #[arg(long)]
    records: bool,
    /// Write each element of the outermost array as a record, however the array is laid out
    #[arg(long, conflicts_with = "records")]
    elements: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Convert {
    #[command(flatten)]
    file: OneFile,
    /// The form to write, instead of that of FILE
    #[arg(long, value_name = "WHAT")]
    to: Option<To>,
    /// Write Godot 3's format
    #[arg(long)]
    to_godot3: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Patch {
    /// The old file
    file: PathBuf,
    /// The patch, from `diff --patch` or `FastVariantPatch.diff`
    patch: PathBuf,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Check {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    format: Format,
    /// Accept encodings that no engine writes, if they lose nothing
    #[arg(long)]
    allow_non_canonical: bool,
}

#[derive(Args)]
struct Repair {
    #[command(flatten)]
    file: OneFile,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct Stats {
    #[command(flatten)]
    file: OneFile,
    /// The most rows of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    most: usize,
}

#[derive(Args)]
struct Diff {
    /// The old file
    old: PathBuf,
    /// The new file
    new: PathBuf,
    #[command(flatten)]
    format: Format,
    /// The most differences to print
    #[arg(long, value_name = "N", default_value_t = 1000)]
    most: usize,
    /// Write a patch to this file instead, for `gdvar patch` and `FastVariantPatch.apply`
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// Replace a patch that exists
    #[arg(long, requires = "patch")]
    force: bool,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    if let Command::Completions { .. } | Command::Man = command {
        return exit_code(print(command));
    }
    let no_thread = |error: &dyn Error| Failure::File(format!("cannot start threads: {error}"));
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK).build_global();
    let done = pool.map_err(|error| no_thread(&error)).and_then(|()| {
        // Run the command on a thread outside the pool, because the threads of the pool must not wait for
        // each other.
        let thread = thread::Builder::new().stack_size(STACK).spawn(|| print(command));
        let ended = thread.map_err(|error| no_thread(&error))?.join();
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    });
    exit_code(done)
}

fn exit_code(done: Outcome<()>) -> ExitCode {
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

fn print(command: Command) -> Outcome<()> {
    let is_paged = matches!(command, Command::Show(_) | Command::Diff(_) | Command::Textconv(_));
    let mut out = if is_paged { Output::paged() } else { Output::stdout() };
    let done = run(command, &mut out);
    match out.finish() {
        // Exit code 1 would say that the files differ.
        Err(failure @ Failure::File(_)) => Err(failure),
        printed => done.and(printed),
    }
}

fn run(command: Command, out: &mut Output) -> Outcome<()> {
    match command {
        Command::Show(Show { mut file, path, offsets, most }) => {
            file.format.damage = Damage::Cut;
            show(&file.open()?, &path, offsets, most, out)
        }
        Command::Get(Get { file, path, plain, bytes }) => {
            json::get(&file.open()?, &path, notation(plain), bytes, out)
        }
        Command::Json(Json { file, lines, plain }) => {
            json::json(&long(&file, out)?.without_summary()?, lines, notation(plain), out)
        }
        Command::Query(Query { file, filter, plain, raw_output, compact_output, slurp, null_input }) => {
            let notation = notation(plain);
            let options = Options { notation, raw: raw_output, compact: compact_output, slurp, null_input };
            query(&long(&file, out)?, &filter, &options, out)
        }
        Command::FromJson(FromJson { file, records, elements, target }) => {
            let how = match (records, elements) {
                (_, true) => As::Elements,
                (true, _) => As::Records,
                (false, false) => As::Value,
            };
            json::from_json(&file, how, &target, out)
        }
        Command::Convert(Convert { file, to, to_godot3, target }) => {
            let loss = if file.format.lossy { Loss::Accepted } else { Loss::Refused };
            convert(&long(&file, out)?, to, to_godot3.then_some(loss), &target, out)
        }
        Command::Patch(Patch { file, patch, format, target }) => {
            patch::apply(&file, &patch, &format, &target, out)
        }
        Command::Check(Check { files, mut format, allow_non_canonical }) => {
            format.is_canonical = !allow_non_canonical;
            check(&files, &format, out)
        }
        Command::Diff(Diff { old, new, format, most, patch, force }) => match patch {
            Some(patch) => patch::write(&old, &new, &format, &patch, force, out),
            None => compare::diff(&old, &new, &format, most, out),
        },
        Command::Textconv(OneFile { file, format }) => textconv::of_file(&file, &format, out),
        Command::Repair(Repair { mut file, output, force }) => {
            file.format.damage = Damage::Filled;
            repair(&file.open()?, &output, force, out)
        }
        Command::Stats(Stats { file, most }) => stats(&long(&file, out)?, most, out),
        Command::Completions { shell } => {
            // `generate` panics if it cannot write, so the script goes to memory first.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "gdvar", &mut script);
            out.bytes().write_all(&script).map_err(Failure::output)
        }
        Command::Man => {
            let page = manual().map_err(Failure::output)?;
            out.bytes().write_all(page.as_bytes()).map_err(Failure::output)
        }
        Command::Fingerprint(file) => compare::fingerprint(&long(&file, out)?, out),
    }
}

fn manual() -> io::Result<String> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let mut part = Vec::new();
        let man = Man::new(command.clone());
        man.render_synopsis_section(&mut part)?;
        man.render_description_section(&mut part)?;
        man.render_options_section(&mut part)?;
        page += &format!(".SH GDVAR {}\n", command.get_name().to_uppercase());
        page += &String::from_utf8_lossy(&part).replace(".SH ", ".SS ");
    }
    Ok(page)
}

/// Opens a file that may take long to read.
fn long(file: &OneFile, out: &Output) -> Outcome<Input> {
    let mut input = file.open()?;
    input.shows_progress = !out.is_terminal();
    Ok(input)
}

fn notation(plain: bool) -> Notation {
    if plain { Notation::Plain } else { Notation::Lossless }
}

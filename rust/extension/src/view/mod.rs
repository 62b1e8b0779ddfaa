//! Parts of encoded data, read without decoding the rest.
//!
//! | file | purpose |
//! |---|---|
//! | `shown.rs` | the contents of a view, and the values at its paths |
//! | `path.rs` | paths as scripts pass them |
//! | `held.rs` | bytes that a view keeps |
//! | `fetching.rs` | values that a view builds, within one budget for each access |
//! | `records.rs` | records in memory or in a file |
//! | `rows.rs` | fields of many rows; rows whose field passes a test |
//! | `columns.rs` | columns of many rows |
//! | `quiet.rs` | lookups in typed containers without printed errors |

mod columns;
mod fetching;
mod held;
mod path;
mod quiet;
mod records;
mod rows;
mod shown;

pub use columns::{Column, fill};
pub use fetching::{Format, ViewLimits};
pub use path::{Step, steps};
pub use quiet::{get, sought};
pub use rows::{Test, matching};
pub use shown::Shown;

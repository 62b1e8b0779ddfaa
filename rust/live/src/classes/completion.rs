//! Completes objects once all data has been read: upgrades, then properties, then `_loaded`.

use godot::builtin::{StringName, Variant};
use variant_codec::Result;

use super::fitting::Fitting;
use super::new_object::{NewObject, empty};
use crate::decode::built::Built;

/// Objects that are being completed. Each pass starts with the objects that were read last, so that the objects inside an
/// object are complete before it. If a step fails, or the steps end early, undoes what they have set.
pub struct Completion {
    objects: Vec<NewObject>,
    /// The containers that are emptied if a step fails.
    containers: Vec<Variant>,
    fitting: Fitting,
    pass: Pass,
    /// The number of objects that the pass has left.
    left: usize,
}

/// A value whose objects are not complete yet.
pub struct Incomplete {
    // Dropped first, while the value still holds its objects.
    completion: Completion,
    value: Built,
    /// The offset of the value in its input.
    at: usize,
}

impl Incomplete {
    pub(super) fn of(value: Built, completion: Completion) -> Self {
        Self { completion, value, at: 0 }
    }

    /// This value, which starts at `at` in its input.
    pub fn shifted(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Does one step, and returns whether any are left. Scripts run.
    ///
    /// # Errors
    /// Fails if an upgrade returns invalid data, or a property cannot be set.
    pub fn step(&mut self) -> Result<bool> {
        self.completion.step().map_err(|error| error.shifted(self.at))
    }

    /// The number of finished steps, and the number of all steps.
    pub fn progress(&self) -> (usize, usize) {
        self.completion.progress()
    }

    /// The value, after all remaining steps.
    ///
    /// # Errors
    /// As [`Incomplete::step`].
    pub fn complete(mut self) -> Result<Built> {
        while self.step()? {}
        Ok(self.value)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Upgrade,
    Set,
    Loaded,
    Done,
}

impl Completion {
    pub(super) fn of(objects: Vec<NewObject>, former: Vec<Variant>, fitting: Fitting) -> Self {
        Self { left: objects.len(), objects, containers: former, fitting, pass: Pass::Upgrade }
    }

    /// Processes one object in one pass, and returns whether any are left.
    ///
    /// # Errors
    /// Fails if an upgrade returns invalid data, or a property cannot be set.
    pub fn step(&mut self) -> Result<bool> {
        while self.left == 0 {
            self.pass = match self.pass {
                Pass::Upgrade => Pass::Set,
                Pass::Set => Pass::Loaded,
                Pass::Loaded | Pass::Done => {
                    self.pass = Pass::Done;
                    return Ok(false);
                }
            };
            self.left = self.objects.len();
        }
        self.left -= 1;
        let object = &mut self.objects[self.left];
        match self.pass {
            Pass::Loaded if object.is_ignored && !object.object.is_counted() => {
                object.object.call(&StringName::from("free"));
            }
            _ if object.is_ignored => {}
            Pass::Upgrade if object.data.is_some() => object.upgrade(&self.fitting)?,
            Pass::Set => object.set_properties(&self.fitting, &mut self.containers)?,
            Pass::Loaded if object.class.has_loaded => {
                object.object.call(&StringName::from("_loaded"));
            }
            _ => {}
        }
        Ok(true)
    }

    /// The number of finished steps, and the number of all steps.
    pub fn progress(&self) -> (usize, usize) {
        let (objects, passes) = (self.objects.len(), self.pass as usize);
        let done = (passes + 1) * objects - self.left;
        (done.min(3 * objects), 3 * objects)
    }
}

impl Drop for Completion {
    /// Undoes what a failed call has set, so that objects and containers that refer to each other are freed.
    fn drop(&mut self) {
        if self.pass != Pass::Done {
            self.objects.iter().for_each(NewObject::unset);
            self.containers.iter().for_each(empty);
        }
    }
}

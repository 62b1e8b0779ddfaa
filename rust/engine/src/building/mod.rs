//! A Variant under construction.
//!
//! Arrays are sized once and filled in place; Dictionaries are filled entry by entry. Nothing else can reach
//! an unfinished value, so the slot of the next value does not move. Dropping the root of an abandoned
//! construction frees everything.

mod arrays;
mod dictionaries;
mod leaves;

use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use godot::builtin::{StringName, Variant};
use godot::meta::ToGodot;
use variant_codec::VariantType;

use crate::gaps::Unfinished;
use crate::interface::{Interface, TypePtr, interface};
use crate::layout::{self, Layout, LinkedEntries, clear, layout, nil};
use crate::read::{ContainerType, Reader};
use crate::slots::Tie;

/// A Variant under construction, and its open containers.
///
/// `'s` is the lifetime of the call in which other threads may fill parts of the value; see
/// [`with_gaps`](crate::with_gaps).
pub struct Building<'s> {
    interface: &'static Interface,
    layout: Option<&'static Layout>,
    root: Variant,
    open: Vec<Open>,
    /// The slot of the next value, in the innermost open container; null for the root.
    place: *mut Variant,
    /// A reference to the outermost Array, if this construction fills only some of its elements.
    _owner: Option<Variant>,
    /// The number of parts that other threads may be filling.
    gaps: usize,
    tie: Tie<'s>,
}

/// A second handle to an open container.
///
/// The handle neither holds a reference count nor drops the container. The container's slot owns the
/// container, and nothing else accesses the container until it is closed.
type Borrowed = ManuallyDrop<Variant>;

enum Open {
    /// `place` is the slot of the current element. It is null before the first element and, if elements are
    /// checked, between two elements. Dropping an element makes the Array shorter (`is_shorter`), and is
    /// impossible once elements have been handed to other threads (`is_left`). `pending` is set if other
    /// threads fill other elements.
    Array {
        array: Borrowed,
        first: *mut Variant,
        len: usize,
        index: usize,
        place: *mut Variant,
        pending: Option<Box<PendingElement>>,
        declared: DeclaredType,
        class: Option<Box<ContainerType>>,
        is_shorter: bool,
        is_left: bool,
    },
    /// `value` is the slot of the entry's value in the Dictionary. It is null until the key is put. If the
    /// key was refused, it stays null; the entry's value is then put in the slot of the key, and is dropped.
    /// `copied` iterates over the copied entries that have no value yet.
    Dictionary {
        dictionary: Borrowed,
        key: Variant,
        value: *mut Variant,
        at_key: bool,
        copied: LinkedEntries,
        declared: (DeclaredType, DeclaredType),
        classes: Option<Box<(ContainerType, ContainerType)>>,
        /// The number of gaps before the key.
        gaps_before: usize,
    },
    /// A value outside of all containers.
    Detached(Variant),
}

impl Open {
    /// The slot of the container's next value.
    fn place(&mut self) -> *mut Variant {
        match self {
            Self::Array { place, .. } => *place,
            Self::Dictionary { key, value, .. } if value.is_null() => key,
            Self::Dictionary { value, .. } => *value,
            Self::Detached(value) => value,
        }
    }
}

/// When dropped, resets an incomplete element to its default, because the Array outlives the construction.
struct PendingElement {
    /// The slot of the element; null if none is pending.
    place: *mut Variant,
    declared: DeclaredType,
}

impl Drop for PendingElement {
    fn drop(&mut self) {
        if !self.place.is_null() {
            // SAFETY: `of_elements` creates a pending element for an Array that the construction keeps alive.
            // `next_element` sets `place` to an element that only this construction reaches.
            unsafe { reset(interface(), layout(), self.declared, self.place) };
        }
    }
}

/// The declared type of a container's elements, keys or values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeclaredType {
    Any,
    /// A type other than Object.
    Type(VariantType),
    /// Objects; [`Open`] has their class.
    Objects,
}

impl DeclaredType {
    fn of(declared: &ContainerType) -> Self {
        match declared {
            ContainerType::Untyped => Self::Any,
            ContainerType::Builtin(VariantType::Object) | ContainerType::Object { .. } => Self::Objects,
            ContainerType::Builtin(ty) => Self::Type(*ty),
        }
    }

    /// Whether the container takes the value. `class` is the declared type of objects.
    #[inline(always)]
    fn accepts(self, value: &Variant, class: Option<&ContainerType>) -> bool {
        match self {
            Self::Any => true,
            Self::Type(ty) => Reader::new().ty(value) == Some(ty),
            Self::Objects => class.is_some_and(|class| class.accepts(value)),
        }
    }
}

/// Resets a slot to the default of its type.
///
/// # Safety
/// - `place` is a live Variant that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn reset(interface: &Interface, layout: Option<&Layout>, declared: DeclaredType, place: *mut Variant) {
    // SAFETY: `place` is a live Variant (`# Safety`), and it is Nil when the default is constructed in it.
    unsafe {
        clear(layout, &mut *place);
        if let DeclaredType::Type(ty) = declared {
            interface.construct_default(ty, place);
        }
    }
}

impl Default for Building<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'s> Building<'s> {
    /// A new construction.
    #[inline(always)]
    pub fn new() -> Self {
        let layout = layout();
        Self {
            interface: interface(),
            layout,
            root: nil(layout),
            open: Vec::new(),
            place: std::ptr::null_mut(),
            _owner: None,
            gaps: 0,
            tie: PhantomData,
        }
    }

    /// The finished value.
    ///
    /// # Panics
    /// Panics if a container is still open, or other threads may be filling parts of the value.
    #[inline(always)]
    pub fn finish(self) -> Variant {
        assert!(self.open.is_empty() && self.gaps == 0, "the value is not finished");
        self.root
    }

    /// The value, which other threads may still be filling.
    ///
    /// # Panics
    /// Panics if a container is still open.
    pub fn finish_with_gaps(self) -> Unfinished<'s> {
        assert!(self.open.is_empty(), "a container is still open");
        Unfinished::new(self.root)
    }

    /// The slot of the next value, always a live Variant that this construction owns. It is the root, a part of `open`,
    /// or an element of a container that only `open` can reach.
    #[inline(always)]
    fn place(&mut self) -> *mut Variant {
        if self.place.is_null() {
            assert!(self.open.is_empty(), "no element has been begun");
            return &raw mut self.root;
        }
        self.place
    }

    /// Opens a container, which has no slot for a value yet.
    #[inline(always)]
    fn push(&mut self, open: Open) {
        self.open.push(open);
        self.place = std::ptr::null_mut();
    }

    /// Closes the innermost open container and returns it. The slot of the next value is again the same as
    /// before the container was opened.
    #[inline(always)]
    fn pop(&mut self) -> Option<Open> {
        let closed = self.open.pop();
        self.place = self.open.last_mut().map_or(std::ptr::null_mut(), Open::place);
        closed
    }

    /// Whether the next value is a key.
    #[inline(always)]
    pub fn is_at_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Dictionary { at_key: true, .. }))
    }

    /// Puts a finished value.
    #[inline(always)]
    pub fn put(&mut self, value: Variant) {
        let place = self.place();
        // SAFETY: `place` returns a live Variant that this construction owns.
        unsafe { *place = value };
    }

    /// The value that was put last; `None` if it is a container that other threads may be filling.
    ///
    /// # Panics
    /// Panics if no value has been put since a container was opened.
    #[inline(always)]
    pub fn last(&self) -> Option<&Variant> {
        let last = if self.place.is_null() {
            assert!(self.open.is_empty(), "nothing has been put");
            &self.root
        } else {
            // SAFETY: `place` returns a live Variant that this construction owns.
            unsafe { &*self.place }
        };
        let may_have_gaps = self.gaps > 0 && self.holds_others(last);
        (!may_have_gaps).then_some(last)
    }

    /// The type of the value that was put last; other threads may be filling parts of it.
    ///
    /// # Panics
    /// Panics if no value has been put since a container was opened.
    #[inline(always)]
    pub fn last_type(&self) -> Option<VariantType> {
        assert!(!self.place.is_null() || self.open.is_empty(), "nothing has been put");
        // SAFETY: `place` is a live Variant that this construction owns; other threads fill its elements but do not
        // write the Variant itself.
        Reader::new().ty(unsafe { self.place.as_ref() }.unwrap_or(&self.root))
    }

    fn holds_others(&self, value: &Variant) -> bool {
        use VariantType::{Array, Dictionary, PackedStringArray};
        matches!(Reader::new().ty(value), Some(Array | Dictionary | PackedStringArray))
    }

    /// Opens a value outside of all containers, which [`Building::close_detached`] returns.
    pub fn open_detached(&mut self) {
        self.push(Open::Detached(nil(self.layout)));
        self.place = self.open.last_mut().map_or(std::ptr::null_mut(), Open::place);
    }

    /// Whether the next value is the one that [`Building::open_detached`] opened.
    #[inline(always)]
    pub fn is_detached(&self) -> bool {
        matches!(self.open.last(), Some(Open::Detached(_)))
    }

    /// Takes the detached value. The next value uses the same slot.
    ///
    /// # Panics
    /// Panics under the same conditions as [`Building::close_detached`].
    #[inline(always)]
    pub fn take_detached(&mut self) -> Variant {
        assert!(self.gaps == 0, "the value is not finished");
        match self.open.last_mut() {
            Some(Open::Detached(value)) => std::mem::replace(value, nil(self.layout)),
            _ => panic!("no detached value is open"),
        }
    }

    /// Closes and returns the value that [`Building::open_detached`] opened.
    ///
    /// # Panics
    /// Panics if no detached value is open, or other threads may be filling parts of it.
    pub fn close_detached(&mut self) -> Variant {
        assert!(self.gaps == 0, "the value is not finished");
        match self.pop() {
            Some(Open::Detached(value)) => value,
            _ => panic!("no detached value is open"),
        }
    }

    /// Puts the default value of a type, such as an empty container, and returns a second handle to it.
    #[inline(always)]
    fn put_empty(&mut self, ty: VariantType) -> Borrowed {
        let place = self.place();
        // SAFETY: `place` returns a Variant of this construction, which is Nil before its value is put (see
        // `construct`). The handle is used only while the value exists.
        unsafe {
            match (ty, self.layout) {
                (VariantType::Array | VariantType::Dictionary, Some(_)) => {
                    layout::write_plain(place, ty, &[]);
                    self.interface.construct_empty(ty, layout::payload(&*place).cast_mut().cast());
                }
                _ => self.interface.construct_default(ty, place),
            }
            ManuallyDrop::new(place.read())
        }
    }

    /// # Safety
    /// - `container` holds a value of type `ty`, which is Array or Dictionary.
    #[inline(always)]
    unsafe fn container(&self, container: &Variant, ty: VariantType) -> TypePtr {
        match self.layout {
            Some(_) => layout::payload(container).cast_mut().cast(),
            // SAFETY: `container` has the type `ty` (`# Safety`).
            None => unsafe { self.interface.payload(container, ty) },
        }
    }

    /// An empty Array of a built-in element type.
    pub fn empty_array(element: VariantType) -> Variant {
        Self::empty_array_of(&ContainerType::Builtin(element))
    }

    /// An empty Array of a declared element type.
    pub fn empty_array_of(element: &ContainerType) -> Variant {
        let mut building = Self::new();
        building.open_array(0, element);
        building.close_array();
        building.finish()
    }

    /// The default value of a type.
    pub fn default_value(ty: VariantType) -> Variant {
        if ty == VariantType::Nil { Variant::nil() } else { Self::empty(ty) }
    }

    fn empty(ty: VariantType) -> Variant {
        let mut building = Self::new();
        let _ = building.put_empty(ty);
        building.finish()
    }
}

/// A declared element type in the form that the engine's functions take: type id, class and script.
fn declaration(element: &ContainerType) -> (i32, StringName, Variant) {
    match element {
        ContainerType::Untyped => (0, StringName::default(), Variant::nil()),
        ContainerType::Builtin(ty) => (ty.id().into(), StringName::default(), Variant::nil()),
        ContainerType::Object { class, script } => {
            let script = script.as_ref().map_or_else(Variant::nil, |script| script.to_variant());
            (VariantType::Object.id().into(), class.clone(), script)
        }
    }
}

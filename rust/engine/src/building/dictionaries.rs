//! Dictionaries under construction.

use std::mem::ManuallyDrop;

use godot::builtin::Variant;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::VariantType;

use super::{Building, DeclaredType, Open, declaration};
use crate::interface::{TypePtr, variant_ptr};
use crate::layout::{self, LinkedEntries, clear, nil};
use crate::read::ContainerType;

impl<'s> Building<'s> {
    /// Opens a Dictionary as the next value.
    #[inline(always)]
    pub fn open_dictionary(&mut self, key: &ContainerType, value: &ContainerType) {
        let dictionary = self.put_empty(VariantType::Dictionary);
        if !matches!((key, value), (ContainerType::Untyped, ContainerType::Untyped)) {
            // SAFETY: `dictionary` is a new Dictionary that nothing else uses, as `set_types` demands.
            unsafe { set_types(self.container(&dictionary, VariantType::Dictionary), key, value) };
        }
        let declared = (DeclaredType::of(key), DeclaredType::of(value));
        let has_objects = key.of_objects() || value.of_objects();
        let classes = has_objects.then(|| Box::new((key.clone(), value.clone())));
        let key = nil(self.layout);
        self.push(Open::Dictionary {
            dictionary,
            key,
            value: std::ptr::null_mut(),
            at_key: false,
            copied: LinkedEntries::OVER,
            declared,
            classes,
            gaps_before: 0,
        });
    }

    /// Makes the next value the key of the open Dictionary's next entry.
    ///
    /// # Panics
    /// Panics if no Dictionary is open, or the last value does not have the declared type.
    #[inline(always)]
    pub fn next_key(&mut self) {
        self.keep_value();
        let (layout, gaps) = (self.layout, self.gaps);
        let Some(Open::Dictionary { key, value, at_key, gaps_before, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        *gaps_before = gaps;
        clear(layout, key);
        *value = std::ptr::null_mut();
        *at_key = true;
        self.place = key;
    }

    /// Asserts that the last value of the open Dictionary has the declared type. The value is then final.
    #[inline(always)]
    fn keep_value(&mut self) {
        if let Some(Open::Dictionary { value, declared: (_, declared), classes, .. }) = self.open.last_mut()
            && *declared != DeclaredType::Any
            && !value.is_null()
        {
            let class = classes.as_deref().map(|(_, class)| class);
            // SAFETY: `value` is the value of an entry: a live Variant that only this construction reaches.
            let is_taken = declared.accepts(unsafe { &**value }, class);
            assert!(is_taken, "the value has another type than the Dictionary's");
            *value = std::ptr::null_mut();
            self.place = std::ptr::null_mut();
        }
    }

    /// Makes the next value the value of the last key. Drops key and value unless `kept`.
    ///
    /// # Panics
    /// Panics if no key is open, the key does not have the declared type, or other threads may be filling the
    /// key.
    #[inline(always)]
    pub fn next_value(&mut self, kept: bool) {
        let (layout, gaps) = (self.layout, self.gaps);
        let Some(Open::Dictionary { key, at_key: at_key @ true, gaps_before, .. }) = self.open.last_mut()
        else {
            panic!("no key is open");
        };
        if kept {
            // Adding an entry hashes its key, so the key must be complete.
            assert!(*gaps_before == gaps, "the key is not finished");
            // A second handle, used only while the key does not move. SAFETY: `key` is a live Variant.
            let key = ManuallyDrop::new(unsafe { std::ptr::from_ref(key).read() });
            self.next_value_of(&key);
        } else {
            *at_key = false;
            clear(layout, key);
        }
    }

    /// Makes the next value the value of `key`, which replaces the last key.
    ///
    /// # Panics
    /// Panics if no key is open, copied entries still lack values, or the key does not have the declared
    /// type.
    #[inline(always)]
    pub fn next_value_of(&mut self, key: &Variant) {
        let (interface, layout) = (self.interface, self.layout);
        let Some(Open::Dictionary {
            dictionary,
            value,
            at_key: at_key @ true,
            copied,
            declared,
            classes,
            ..
        }) = self.open.last_mut()
        else {
            panic!("no key is open");
        };
        assert!(copied.0.is_null(), "copied entries are still without their values");
        let is_taken = declared.0.accepts(key, classes.as_deref().map(|(class, _)| class));
        assert!(is_taken, "the key has another type than the Dictionary's");
        *at_key = false;
        // SAFETY: only this construction reaches the Dictionary in `dictionary`. The engine returns the
        // address of the key's value, which stays valid while the entry exists (verified by `behaviour.rs`).
        // `Dictionary.set` would copy the value once more: `cargo xtask bench entities` takes 42.5 ms with
        // it, and 37 ms without.
        unsafe {
            let container = match layout {
                Some(_) => layout::payload(dictionary).cast_mut().cast(),
                None => interface.payload(dictionary, VariantType::Dictionary),
            };
            *value = interface_fn!(dictionary_operator_index)(container, variant_ptr(key)).cast::<Variant>();
            // Clears what the slot holds: the value of an earlier entry with this key, or the default of the
            // declared value type.
            clear(layout, &mut **value);
        }
        self.place = *value;
    }

    /// Copies the entries of `template`, whose values must all be Nil, into the open Dictionary.
    /// [`Building::next_copied_value`] then selects the values one by one.
    ///
    /// # Panics
    /// Panics if direct access is off, no Dictionary is open, the open Dictionary is typed or has entries, or
    /// `template` is not a Dictionary.
    #[inline(always)]
    pub fn copy_entries(&mut self, template: &Variant) {
        let (interface, Some(layout)) = (self.interface, self.layout) else {
            unreachable!("copied entries are reached directly");
        };
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        assert!(
            layout::tag(template) == u32::from(VariantType::Dictionary.id()),
            "the template is not a Dictionary"
        );
        let is_new = layout.dictionary_size(dictionary) == 0 && layout.dictionary_types(dictionary) == (0, 0);
        assert!(is_new, "entries are copied into an untyped Dictionary that has none");
        // SAFETY: the payload of both Variants is a Dictionary; only this construction reaches the open one.
        unsafe {
            interface.assign_dictionary(
                layout::payload(dictionary).cast_mut().cast(),
                layout::payload(template).cast_mut().cast(),
            );
        }
        *copied = layout.entries(dictionary);
    }

    /// Makes the next value the value of the next copied entry.
    ///
    /// # Panics
    /// Panics if no copied entry is left, or no key is open.
    #[inline(always)]
    pub fn next_copied_value(&mut self) {
        let Some(Open::Dictionary { value, at_key: at_key @ true, copied, .. }) = self.open.last_mut() else {
            panic!("no key is open");
        };
        *at_key = false;
        // SAFETY: only this construction reaches the Dictionary, and it neither adds nor erases entries until all
        // copied entries have values or are discarded.
        *value = unsafe { copied.next_place() }.expect("an entry is left");
        self.place = *value;
    }

    /// Erases the copied entries that have no value yet.
    ///
    /// # Panics
    /// Panics if no Dictionary is open.
    #[cold]
    #[inline(never)]
    pub fn discard_copied(&mut self) {
        let interface = self.interface;
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        // SAFETY: only this construction reaches the Dictionary; `next` has moved past an entry before it is erased.
        unsafe {
            let container = layout::payload(dictionary).cast_mut().cast();
            while let Some((key, _)) = copied.next() {
                interface.erase_entry(container, key);
            }
        }
    }

    /// The number of entries of the open Dictionary.
    ///
    /// # Panics
    /// Panics if no Dictionary is open.
    pub fn dictionary_len(&self) -> usize {
        let Some(Open::Dictionary { dictionary, .. }) = self.open.last() else {
            panic!("no Dictionary is open");
        };
        // SAFETY: `dictionary` holds a Dictionary.
        unsafe {
            let container = self.container(dictionary, VariantType::Dictionary);
            self.interface.size(container, VariantType::Dictionary)
        }
    }

    /// Closes the open Dictionary.
    ///
    /// # Panics
    /// Panics if no Dictionary is open, or the last value does not have the declared type.
    #[inline(always)]
    pub fn close_dictionary(&mut self) {
        self.keep_value();
        let Some(Open::Dictionary { mut key, .. }) = self.pop() else { panic!("no Dictionary is open") };
        clear(self.layout, &mut key);
        if self.layout.is_some() {
            // A Nil needs no destructor.
            std::mem::forget(key);
        }
    }
}

/// # Safety
/// - `dictionary` points to an empty Dictionary that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_types(dictionary: TypePtr, key: &ContainerType, value: &ContainerType) {
    let (key_type, key_class, key_script) = declaration(key);
    let (value_type, value_class, value_script) = declaration(value);
    // SAFETY: the Dictionary is empty and nothing else uses it (`# Safety`); classes and scripts live through the call.
    unsafe {
        interface_fn!(dictionary_set_typed)(
            dictionary,
            key_type,
            key_class.sys().cast(),
            variant_ptr(&key_script),
            value_type,
            value_class.sys().cast(),
            variant_ptr(&value_script),
        );
    }
}

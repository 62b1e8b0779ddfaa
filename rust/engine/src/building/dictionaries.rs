//! Dictionaries under construction.

use std::mem::ManuallyDrop;

use godot::builtin::Variant;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::VariantType;

use super::{Building, Open, declaration};
use crate::interface::{TypePtr, variant_ptr};
use crate::layout::{self, LinkedEntries, clear, nil};
use crate::read::ContainerType;
use crate::slots::DeferredValue;

impl<'s> Building<'s> {
    /// Leaves the value of the open entry to others. `None` where the key has been refused.
    pub fn leave_value(&mut self) -> Option<DeferredValue<'s>> {
        match self.open.last() {
            Some(Open::Dictionary { dictionary, value, .. }) if !value.is_null() => {
                self.has_gaps = true;
                // SAFETY: the place of the value of an entry, which stays: only copied entries that come later are ever taken
                // out. Only the construction can reach the Dictionary, which nobody gets before `'s` has ended.
                Some(unsafe { DeferredValue::new(Variant::clone(dictionary), *value) })
            }
            _ => None,
        }
    }

    /// Opens a Dictionary in its place.
    #[inline(always)]
    pub fn open_dictionary(&mut self, key: &ContainerType, value: &ContainerType) {
        let dictionary = self.put_empty(VariantType::Dictionary);
        if !matches!((key, value), (ContainerType::Untyped, ContainerType::Untyped)) {
            // SAFETY: `dictionary` is a Dictionary that nothing else uses yet, as setting its types wants it.
            unsafe { set_types(self.container(&dictionary, VariantType::Dictionary), key, value) };
        }
        let key = nil(self.layout);
        self.push(Open::Dictionary {
            dictionary,
            key,
            value: std::ptr::null_mut(),
            at_key: false,
            copied: LinkedEntries::OVER,
        });
    }

    /// The next value is the key of the open Dictionary's next entry.
    #[inline(always)]
    pub fn next_key(&mut self) {
        let layout = self.layout;
        let Some(Open::Dictionary { key, value, at_key, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        clear(layout, key);
        *value = std::ptr::null_mut();
        *at_key = true;
        self.place = key;
    }

    /// The next value belongs to the key that was put; if it is not to be `kept`, entry and value come to nothing.
    #[inline(always)]
    pub fn next_value(&mut self, kept: bool) {
        let layout = self.layout;
        let Some(Open::Dictionary { key, at_key: at_key @ true, .. }) = self.open.last_mut() else {
            panic!("no key is open");
        };
        if kept {
            // A second handle, used only while the key stays where it is.
            // SAFETY: `key` is a live Variant.
            let key = ManuallyDrop::new(unsafe { std::ptr::from_ref(key).read() });
            self.next_value_of(&key);
        } else {
            *at_key = false;
            clear(layout, key);
        }
    }

    /// The next value belongs to this key, whatever was put.
    #[inline(always)]
    pub fn next_value_of(&mut self, key: &Variant) {
        let (interface, layout) = (self.interface, self.layout);
        let Some(Open::Dictionary { dictionary, value, at_key: at_key @ true, .. }) = self.open.last_mut()
        else {
            panic!("no key is open");
        };
        *at_key = false;
        // SAFETY: `dictionary` holds a Dictionary that only this construction can reach; the engine answers with the
        // place of the key's value, which stays where it is as long as the entry exists.
        unsafe {
            let container = match layout {
                Some(_) => layout::payload(dictionary).cast_mut().cast(),
                None => interface.payload(dictionary, VariantType::Dictionary),
            };
            *value = interface_fn!(dictionary_operator_index)(container, variant_ptr(key)).cast::<Variant>();
            // An earlier entry's value, or the default of a typed Dictionary's value type.
            clear(layout, &mut **value);
        }
        self.place = *value;
    }

    /// Copies all entries of another Dictionary, whose values are all Nil, into the open Dictionary, which is untyped and
    /// has none yet. Values are then put into them one by one, with [`Building::next_copied_value`].
    ///
    /// Only where memory is reached directly.
    ///
    /// # Panics
    /// If no Dictionary is open.
    #[inline(always)]
    pub fn copy_entries(&mut self, template: &Variant) {
        let (interface, Some(layout)) = (self.interface, self.layout) else {
            unreachable!("copied entries are reached directly");
        };
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        assert!(layout::tag(template) == u32::from(VariantType::Dictionary.id()), "no Dictionary is copied");
        // SAFETY: both hold Dictionaries, in Variants that hold them themselves; only this construction can reach the one
        // that is open.
        unsafe {
            interface.assign_dictionary(
                layout::payload(dictionary).cast_mut().cast(),
                layout::payload(template).cast_mut().cast(),
            );
        }
        *copied = layout.entries(dictionary);
    }

    /// The next value belongs to the next copied entry, which has the key that is next.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn next_copied_value(&mut self) {
        let Some(Open::Dictionary { value, at_key: at_key @ true, copied, .. }) = self.open.last_mut() else {
            panic!("no key is open");
        };
        *at_key = false;
        // SAFETY: only this construction can reach the Dictionary, and it neither adds nor erases entries before the last
        // of the copied ones has its value, or they are given up.
        *value = unsafe { copied.next_place() }.expect("an entry is left");
        self.place = *value;
    }

    /// Takes out the copied entries whose values have not come.
    #[cold]
    #[inline(never)]
    pub fn give_up_copied(&mut self) {
        let interface = self.interface;
        let Some(Open::Dictionary { dictionary, copied, .. }) = self.open.last_mut() else {
            panic!("no Dictionary is open");
        };
        // SAFETY: as in `next_copied_value`; the walk is past an entry before that is taken out.
        unsafe {
            let container = layout::payload(dictionary).cast_mut().cast();
            while let Some((key, _)) = copied.next() {
                interface.erase_entry(container, key);
            }
        }
    }

    /// The number of entries of the open Dictionary.
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

    /// Closes the open Dictionary, which is in its place already.
    #[inline(always)]
    pub fn close_dictionary(&mut self) {
        let Some(Open::Dictionary { mut key, .. }) = self.pop() else { panic!("no Dictionary is open") };
        clear(self.layout, &mut key);
        if self.layout.is_some() {
            // A Nil needs no destructor.
            std::mem::forget(key);
        }
    }
}

/// Declares the types of a Dictionary's keys and values.
///
/// # Safety
/// - `dictionary` points to an empty Dictionary that nothing else uses.
#[cold]
#[inline(never)]
unsafe fn set_types(dictionary: TypePtr, key: &ContainerType, value: &ContainerType) {
    let (key_type, key_class, key_script) = declaration(key);
    let (value_type, value_class, value_script) = declaration(value);
    // SAFETY: the caller vouches for the Dictionary; classes and scripts live through the call.
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

//! Plain containers → objects of registered classes.
//!
//! Objects are created and values checked while the data is read. Properties are set once all data is valid.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use godot::builtin::{VarDictionary, Variant};
use godot::classes::Object;
use godot::obj::{Gd, InstanceId};
use variant_codec::error::{Step, quoted};
use variant_codec::limits::Spent;
use variant_codec::view::View;
use variant_codec::{Error, Limits, Result, VariantType, tag};
use variant_engine::{ContainerType, HeldObject, Reader, text_of};

use crate::classes::class::{Class, FIRST_VERSION};
use crate::classes::completion::Completion;
use crate::classes::fitting::{Fitting, exact_int};
use crate::classes::host::Host;
use crate::classes::new_object::{Meaning, NewObject, is_container, put};
use crate::classes::registry::Registry;
use crate::classes::resources;
use crate::decode::built::CreatedObjects;

/// The objects of a value that is being read.
pub struct ObjectReader<'h> {
    host: Host<'h>,
    fitting: Fitting,
    /// The object that replaces the outermost object of the data, and the offset of the replaced object.
    target: Option<HeldObject>,
    target_at: usize,
    /// The open Dictionaries with a tag.
    frames: Vec<TaggedFrame>,
    /// The objects at `@objects`.
    table: Vec<Entry>,
    /// The index of the next entry to be read.
    next: usize,
    /// References, as pairs of indexes into the table. The first index is the object that contains the
    /// reference, or `u32::MAX` if the value contains it. The second index is the object referred to.
    ///
    /// The first index is [`FROM_IGNORED`] if the reference is in the value of a property that is ignored.
    references: Vec<(u32, u32)>,
    is_in_value: bool,
    /// The number of open values of properties that are ignored.
    ignored: usize,
    objects: Vec<NewObject>,
    /// The containers in data of earlier versions, which are emptied if reading fails. Containers that
    /// `upgrade` returns are not emptied, because they may be the game's.
    former: Vec<Variant>,
    /// Whether the next Dictionary is the user's, whatever its first key is.
    is_plain_next: bool,
    /// The text that almost always comes next. If it comes, `passed` has the match, and no Variant is created
    /// for the text.
    expected: Expected,
    passed: Option<Passed>,
    /// The resources that were loaded, by path.
    resources: HashMap<String, Variant>,
}

/// The start of references in the values of properties that are ignored.
const FROM_IGNORED: u32 = u32::MAX - 1;

/// An object at `@objects`.
struct Entry {
    at: usize,
    class: Arc<Class>,
    /// The index of the object in [`ObjectReader::objects`], once it has been created.
    object: Option<usize>,
}

#[derive(Clone, Copy)]
enum Expected {
    Other,
    Tag,
    /// The name of a class.
    Name,
    /// The key of this property of this object.
    Property(usize, usize),
}

enum Passed {
    Tag(Kind),
    Name(Arc<Class>),
    Property(usize),
}

/// An open Dictionary with a tag.
struct TaggedFrame {
    at: usize,
    len: usize,
    /// The number of entries so far.
    entries: usize,
    /// Whether it is the value at [`tag::VALUES`] of a typed container. Such a Dictionary must not be a typed
    /// container itself, because each level would copy all elements.
    is_nested: bool,
    kind: Kind,
    /// The value that the Dictionary stands for.
    value: Variant,
}

enum Kind {
    /// Before its first key.
    Unknown,
    /// An object: its index once its class is known, and the meaning of the next value.
    Object(Option<usize>, Meaning),
    Reference,
    /// A resource, with its UID.
    Resource(String),
    /// A typed container, with the types of its elements.
    Container(VariantType, [ContainerType; 2]),
    Plain,
    Objects,
}

impl<'h> ObjectReader<'h> {
    /// A reader of the value at the start of `data`. `target`, if given, becomes the outermost object.
    ///
    /// `spent` is the share of the limits that earlier values of the call have used for names made from Strings.
    pub fn new(
        registry: Arc<Registry>,
        data: &[u8],
        limits: &Limits,
        target: Option<HeldObject>,
        spent: Rc<Cell<Spent>>,
        host: Host<'h>,
    ) -> Self {
        let mut reader = Self {
            host,
            fitting: Fitting { registry, limits: limits.clone(), spent },
            target,
            target_at: 0,
            frames: Vec::new(),
            table: Vec::new(),
            next: 0,
            references: Vec::new(),
            is_in_value: false,
            ignored: 0,
            objects: Vec::new(),
            former: Vec::new(),
            is_plain_next: false,
            expected: Expected::Other,
            passed: None,
            resources: HashMap::new(),
        };
        if tag::is_first_key(data, 0) {
            // Ignores an error, because it is found again, with its path, when everything is read.
            let _ = reader.announce(data, limits);
        }
        reader
    }

    /// Ends a step of a reader that has steps.
    ///
    /// # Errors
    /// As [`Host::pause`].
    #[inline(always)]
    pub fn pause(&self, at: usize) -> Result<()> {
        self.host.pause(Some(at))
    }

    /// The objects so far.
    pub fn held(&self) -> Vec<Variant> {
        let objects = self.objects.iter().map(|made| made.object.value());
        objects.chain(self.resources.values()).cloned().collect()
    }

    pub fn limits(&self) -> &Limits {
        &self.fitting.limits
    }

    /// Reads the classes of the objects at `@objects` first, because references may point forward.
    fn announce(&mut self, data: &[u8], limits: &Limits) -> Result<()> {
        let root = View::within(data, limits)?;
        let Some(objects) = root.find(&tag::OBJECTS.into())? else { return Ok(()) };
        for object in objects.elements()? {
            let object = object?;
            let class = self.fitting.registry.named(object.get(tag::CLASS)?.as_str()?.as_ref())?;
            let at = data.len() - object.remaining().len();
            self.table.push(Entry { at, class: Arc::clone(class), object: None });
        }
        if self.target.is_some() {
            let value = root.get(tag::VALUE)?;
            let is_tagged = value.ty() == VariantType::Dictionary && value.len()? == 1;
            self.target_at = match value.find(&tag::REFERENCE.into())?.filter(|_| is_tagged) {
                Some(index) => {
                    // In data from JSON, the index is a float.
                    let index = index.as_i64().or_else(|_| index.as_f64().map(|float| float as i64))?;
                    let entry = usize::try_from(index).ok().and_then(|index| self.table.get(index));
                    entry.map_or(usize::MAX, |entry| entry.at)
                }
                None => data.len() - value.remaining().len(),
            };
        }
        Ok(())
    }

    /// Begins a Dictionary of `len` entries, whose header starts at `at` and whose first key looks like a
    /// tag. Pass `is_value` if this Dictionary is the value of the last key of another tagged Dictionary.
    pub fn begin(&mut self, at: usize, len: usize, is_value: bool) {
        let is_nested =
            is_value && matches!(self.frames.last(), Some(TaggedFrame { kind: Kind::Container(..), .. }));
        let (kind, value) = (Kind::Unknown, Variant::nil());
        self.frames.push(TaggedFrame { at, len, entries: 0, is_nested, kind, value });
    }

    /// Returns whether the Dictionary that begins now is the user's, whatever its first key is.
    #[inline(always)]
    pub fn takes_plain(&mut self) -> bool {
        std::mem::take(&mut self.is_plain_next)
    }

    #[inline(always)]
    pub fn begin_key(&mut self) {
        self.expected = match self.frames.last() {
            Some(TaggedFrame { kind: Kind::Unknown, .. }) => Expected::Tag,
            Some(TaggedFrame { kind: Kind::Object(Some(index), _), .. }) => {
                let object = &self.objects[*index];
                let next = object.values.last().map_or(0, |(position, ..)| *position as usize + 1);
                if object.version == object.class.version && next < object.class.properties.len() {
                    Expected::Property(*index, next)
                } else {
                    Expected::Other
                }
            }
            _ => Expected::Other,
        };
    }

    /// Returns whether this text is the expected one, and remembers the match.
    #[inline(always)]
    pub fn passes(&mut self, text: &[u8]) -> bool {
        self.passed = match self.expected {
            Expected::Other => return false,
            Expected::Tag if text == tag::CLASS.as_bytes() => {
                Some(Passed::Tag(Kind::Object(None, Meaning::Class)))
            }
            Expected::Tag
                if text == tag::REFERENCE.as_bytes()
                    && self.frames.last().is_some_and(|frame| frame.len == 1) =>
            {
                Some(Passed::Tag(Kind::Reference))
            }
            Expected::Tag => None,
            Expected::Name => str::from_utf8(text)
                .ok()
                .and_then(|name| self.fitting.registry.named(name).ok())
                .map(|class| Passed::Name(Arc::clone(class))),
            Expected::Property(object, position) => {
                let property = &self.objects[object].class.properties[position];
                (property.text.as_bytes() == text).then_some(Passed::Property(position))
            }
        };
        self.passed.is_some()
    }

    /// Ends a key; returns whether it was the expected one.
    #[inline(always)]
    pub fn has_passed_key(&mut self) -> bool {
        self.expected = Expected::Other;
        let (Some(passed), Some(frame)) = (self.passed.take(), self.frames.last_mut()) else { return false };
        frame.entries += 1;
        match (passed, &mut frame.kind) {
            (Passed::Property(position), Kind::Object(_, part)) => *part = Meaning::Property(position),
            (Passed::Tag(kind), place) => {
                if let Kind::Object(..) = kind {
                    self.expected = Expected::Name;
                }
                *place = kind;
            }
            _ => {}
        }
        true
    }

    /// Ends a key that did not match.
    ///
    /// # Errors
    /// Fails if the key does not belong there.
    pub fn key(&mut self, key: &Variant) -> Result<()> {
        let reader = Reader::new();
        let frame = self.frames.last_mut().ok_or_else(misplaced)?;
        let first = frame.entries == 0;
        frame.entries += 1;
        let Some(VariantType::String | VariantType::StringName) = reader.ty(key) else {
            let found = reader.ty(key).map_or("a newer type", VariantType::name);
            return Err(Error::object(format!("expected a key of text, found {found}")));
        };
        let text = text_of(&key.stringify());
        if first {
            frame.start(&text)?;
            self.is_plain_next = matches!(frame.kind, Kind::Plain);
            return Ok(());
        }
        let expected = match &mut frame.kind {
            Kind::Object(Some(index), part) => {
                let object = &mut self.objects[*index];
                *part = object.part(&text, frame.entries)?;
                self.ignored += usize::from(matches!(part, Meaning::Ignored));
                return Ok(());
            }
            Kind::Resource(_) => tag::PATH,
            Kind::Container(..) => tag::VALUES,
            _ => tag::VALUE,
        };
        if text == expected {
            return Ok(());
        }
        Err(Error::object(format!("expected the key {expected:?}, found {}", quoted(&text))))
    }

    /// Ends the value of the last key.
    ///
    /// # Errors
    /// Fails if the value does not belong there.
    #[inline(always)]
    pub fn value(&mut self, value: Variant, created: &mut CreatedObjects) -> Result<()> {
        if let Some(TaggedFrame { kind: Kind::Object(Some(index), Meaning::Property(position)), .. }) =
            self.frames.last()
        {
            return self.objects[*index].keep(*position, value, &self.fitting, self.host);
        }
        self.other_value(value, created)
    }

    #[inline(never)]
    fn other_value(&mut self, value: Variant, created: &mut CreatedObjects) -> Result<()> {
        self.expected = Expected::Other;
        let passed = self.passed.take();
        let mut frame = self.frames.pop().ok_or_else(misplaced)?;
        let done = self.value_in(&mut frame, value, passed, created);
        self.frames.push(frame);
        done
    }

    fn value_in(
        &mut self,
        frame: &mut TaggedFrame,
        value: Variant,
        passed: Option<Passed>,
        created: &mut CreatedObjects,
    ) -> Result<()> {
        let is_first = frame.entries == 1;
        match &mut frame.kind {
            Kind::Object(index, part) => match part {
                Meaning::Class => {
                    let class = match passed {
                        Some(Passed::Name(class)) => class,
                        _ => Arc::clone(self.fitting.registry.named(&text(&value, "the name of a class")?)?),
                    };
                    let made = self.object(class, frame.at, created)?;
                    frame.value = self.objects[made].object.value().clone();
                    *index = Some(made);
                }
                Meaning::Version => {
                    let object = index.and_then(|index| self.objects.get_mut(index)).ok_or_else(misplaced)?;
                    object.set_version(int(&value, "a version")?)?;
                }
                Meaning::Ignored => self.ignored -= 1,
                // The method `value` handles properties.
                Meaning::Property(_) => return Err(misplaced()),
                Meaning::Unknown(name) => {
                    let object = index.and_then(|index| self.objects.get_mut(index)).ok_or_else(misplaced)?;
                    put(&mut object.unknown, name, &value)?;
                }
                Meaning::Former(name) => {
                    let object = index.and_then(|index| self.objects.get_mut(index)).ok_or_else(misplaced)?;
                    put(&mut object.data, name, &value)?;
                    if is_container(&value) {
                        self.former.push(value);
                    }
                }
            },
            Kind::Reference => {
                let index = int(&value, "the index of an object")?;
                let entry = usize::try_from(index).ok().filter(|index| *index < self.table.len());
                let Some(entry) = entry else {
                    let len = self.table.len();
                    return Err(Error::object(format!("reference to object {index}, but there are {len}")));
                };
                let from = if self.ignored > 0 { FROM_IGNORED } else { self.inside() };
                self.references.push((from, entry as u32));
                let object = self.entry(entry, created)?;
                frame.value = self.objects[object].object.value().clone();
            }
            Kind::Resource(uid) if is_first => *uid = text(&value, "a UID")?,
            Kind::Resource(uid) => {
                let named = (std::mem::take(uid), text(&value, "a path")?);
                frame.value = self.resource(named)?;
            }
            Kind::Container(ty, types) if is_first => *types = self.types(*ty, &value)?,
            Kind::Container(ty, types) => {
                expect(&value, *ty)?;
                frame.value = self.fitting.typed(&value, types, self.host)?;
            }
            Kind::Plain => {
                expect(&value, VariantType::Dictionary)?;
                frame.value = value;
            }
            Kind::Objects if is_first => {
                expect(&value, VariantType::Array)?;
                let known = self.next.min(self.table.len());
                if known == 0 || known < Reader::new().elements(&value).len() {
                    let error = Error::object("expected an object of a registered class");
                    return Err(error.inside(Step::Index(known)));
                }
                self.is_in_value = true;
            }
            Kind::Objects => frame.value = value,
            Kind::Unknown => return Err(misplaced()),
        }
        Ok(())
    }

    /// Ends a Dictionary; returns the value that it stands for.
    ///
    /// # Errors
    /// Fails if the data has an unsupported version.
    pub fn end(&mut self) -> Result<Variant> {
        let frame = self.frames.pop().ok_or_else(misplaced)?;
        if let Kind::Object(Some(index), _) = frame.kind {
            let object = &mut self.objects[index];
            object.check_version()?;
            if object.version < object.class.version {
                object.data.get_or_insert_with(VarDictionary::new);
            }
        }
        Ok(frame.value)
    }

    /// The index of the object whose Dictionary starts at `at`; creates the object if necessary.
    fn object(&mut self, class: Arc<Class>, at: usize, created: &mut CreatedObjects) -> Result<usize> {
        let Some(entry) = self.table.get(self.next).filter(|entry| entry.at == at) else {
            return self.make(class, (at, false), created);
        };
        if !Arc::ptr_eq(&entry.class, &class) {
            return Err(misplaced());
        }
        self.next += 1;
        self.entry(self.next - 1, created)
    }

    /// The index of an object at `@objects`; creates the object if necessary.
    fn entry(&mut self, index: usize, created: &mut CreatedObjects) -> Result<usize> {
        let entry = &self.table[index];
        if let Some(object) = entry.object {
            return Ok(object);
        }
        let object = self.make(Arc::clone(&entry.class), (entry.at, true), created)?;
        self.table[index].object = Some(object);
        Ok(object)
    }

    /// The index of the object at `@objects` that is being read, or `u32::MAX` for the value.
    fn inside(&self) -> u32 {
        if self.is_in_value || self.table.is_empty() { u32::MAX } else { self.next.saturating_sub(1) as u32 }
    }

    /// Creates the object at an offset; `is_entry` if it is at `@objects`.
    fn make(
        &mut self,
        class: Arc<Class>,
        (at, is_entry): (usize, bool),
        created: &mut CreatedObjects,
    ) -> Result<usize> {
        let target = self.target.take_if(|_| at == self.target_at);
        let is_target = target.is_some();
        let object = match target {
            Some(target) => {
                if target.script_id() != class.script_id {
                    let found = target
                        .value()
                        .try_to::<Gd<Object>>()
                        .map_or_else(|_| "freed".to_owned(), |target| self.fitting.registry.label(&target));
                    let name = quoted(&class.name);
                    return Err(Error::object(format!(
                        "expected data of the target's class, {found}; found class {name}"
                    )));
                }
                target
            }
            None => self.create(Arc::clone(&class), created)?,
        };
        if is_target {
            class.check_kind(&object)?;
        }
        let values = Vec::with_capacity(class.properties.len());
        let (version, data, unknown) = (FIRST_VERSION, None, None);
        let made = NewObject {
            object,
            class,
            at,
            version,
            values,
            next: 0,
            known: None,
            set_objects: Vec::new(),
            data,
            unknown,
            is_target,
            inside: if is_entry { u32::MAX } else { self.inside() },
            is_ignored: self.ignored > 0 && !is_entry,
        };
        self.objects.push(made);
        Ok(self.objects.len() - 1)
    }

    /// The resource with this UID, or with this path if the UID is unknown. Each file is loaded once.
    fn resource(&mut self, (uid, path): (String, String)) -> Result<Variant> {
        let path = resources::current_path(&uid).unwrap_or(path);
        if let Some(loaded) = self.resources.get(&path) {
            return Ok(loaded.clone());
        }
        let (registry, place) = (Arc::clone(&self.fitting.registry), path.clone());
        let loaded = self.host.call(move || resources::load(registry.folders(), &place))?;
        self.resources.insert(path, loaded.clone());
        Ok(loaded)
    }

    fn create(&self, class: Arc<Class>, created: &mut CreatedObjects) -> Result<HeldObject> {
        let object = self.host.call(move || class.create())?;
        if !object.is_counted() {
            created.push(InstanceId::from_i64(object.id().cast_signed()));
        }
        Ok(object)
    }

    /// The element types by their names in the data.
    fn types(&self, ty: VariantType, names: &Variant) -> Result<[ContainerType; 2]> {
        if ty == VariantType::Array {
            let element = self.fitting.registry.type_named(&text(names, "the name of a class")?)?;
            return Ok([element, ContainerType::Untyped]);
        }
        expect(names, VariantType::Array)?;
        let elements = Reader::new().elements(names);
        match (elements.get(0), elements.get(1), elements.len()) {
            (Some(key), Some(value), 2) => {
                let named = |name| self.fitting.registry.type_named(&text(name, "the name of a type")?);
                Ok([named(key)?, named(value)?])
            }
            _ => Err(Error::object("expected the types of keys and values")),
        }
    }

    /// Fails for an object at `@objects` that the value does not reach, because nothing could free it. Objects that it
    /// reaches only through properties that are ignored are ignored, too.
    fn check_references(&mut self) -> Result<()> {
        let mut is_reached = vec![false; self.table.len()];
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); self.table.len()];
        let (mut left, mut ignored): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for &(start, end) in &self.references {
            match from.get_mut(start as usize) {
                Some(ends) => ends.push(end),
                None if start == FROM_IGNORED => ignored.push(end),
                None => left.push(end),
            }
        }
        let mut reach = |mut left: Vec<u32>, is_reached: &mut [bool]| {
            while let Some(next) = left.pop() {
                if !std::mem::replace(&mut is_reached[next as usize], true) {
                    left.append(&mut from[next as usize]);
                }
            }
        };
        reach(left, &mut is_reached);
        if !ignored.is_empty() {
            for (entry, _) in self.table.iter().zip(&is_reached).filter(|(_, is_reached)| !**is_reached) {
                entry.object.into_iter().for_each(|object| self.objects[object].is_ignored = true);
            }
            for index in 0..self.objects.len() {
                let outer =
                    self.table.get(self.objects[index].inside as usize).and_then(|entry| entry.object);
                self.objects[index].is_ignored |= outer.is_some_and(|outer| self.objects[outer].is_ignored);
            }
            reach(ignored, &mut is_reached);
        }
        match is_reached.iter().position(|is_reached| !is_reached) {
            None => Ok(()),
            Some(index) => {
                let error =
                    Error::object("unreferenced object in \"@objects\"; expected a reference from the value");
                Err(error.inside(Step::Index(index)).inside(Step::text_key(tag::OBJECTS)))
            }
        }
    }

    /// Checks that all objects belong to the value. Called after everything has been read.
    ///
    /// # Errors
    /// Fails if an object at `@objects` is unreferenced, or the data has no object for the target.
    pub fn check(&mut self) -> Result<()> {
        if self.target.is_some() {
            return Err(Error::object("expected data of an object for the target, found another value"));
        }
        self.check_references()
    }

    /// The objects, whose properties are not set yet.
    pub fn finish(self) -> Completion {
        Completion::of(self.objects, self.former, self.fitting)
    }
}

impl TaggedFrame {
    /// Reads the tag.
    fn start(&mut self, text: &str) -> Result<()> {
        use VariantType::{Array, Dictionary};

        let untyped = [ContainerType::Untyped, ContainerType::Untyped];
        self.kind = match (text, self.len) {
            (tag::CLASS, _) => Kind::Object(None, Meaning::Class),
            (tag::REFERENCE, 1) => Kind::Reference,
            (tag::RESOURCE, 2) => Kind::Resource(String::new()),
            (tag::ARRAY, 2) if !self.is_nested => Kind::Container(Array, untyped),
            (tag::DICTIONARY, 2) if !self.is_nested => Kind::Container(Dictionary, untyped),
            (tag::PLAIN, 1) => Kind::Plain,
            (tag::OBJECTS, 2) if self.at == 0 => Kind::Objects,
            (_, len) => {
                let text = quoted(text);
                return Err(Error::object(format!(
                    "unexpected tag {text} in a Dictionary with {len} entries; put your own data in {:?}",
                    tag::PLAIN
                )));
            }
        };
        Ok(())
    }
}

fn text(value: &Variant, expected: &str) -> Result<String> {
    match Reader::new().ty(value) {
        Some(VariantType::String | VariantType::StringName) => Ok(text_of(&value.stringify())),
        found => Err(unexpected(expected, found)),
    }
}

fn int(value: &Variant, expected: &str) -> Result<i64> {
    exact_int(value).ok_or_else(|| unexpected(expected, Reader::new().ty(value)))
}

fn expect(value: &Variant, ty: VariantType) -> Result<()> {
    let found = Reader::new().ty(value);
    if found == Some(ty) { Ok(()) } else { Err(unexpected(ty.name(), found)) }
}

#[cold]
fn unexpected(expected: &str, found: Option<VariantType>) -> Error {
    let found = found.map_or("a newer type", VariantType::name);
    Error::object(format!("expected {expected}, found {found}"))
}

#[cold]
fn misplaced() -> Error {
    Error::object("expected the name of a registered class first")
}

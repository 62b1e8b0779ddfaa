//! Collects the objects of a value and their properties before anything is written.
//!
//! Getters run while objects are collected. No script runs while they are written.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use godot::builtin::{StringName, VarDictionary, Variant};
use godot::classes::{Node, Resource};
use godot::obj::Gd;
use variant_codec::error::quoted;
use variant_codec::format::MAX_DEPTH;
use variant_codec::{Error, ErrorKind, Result, VariantType, tag};
use variant_engine::{ContainerType, HeldObject, Reader, text_of};

use crate::classes::class::{Class, UNKNOWN};
use crate::classes::registry::{ById, Registry};
use crate::classes::resources;
use crate::nested::Nested;
use crate::objects::lost_objects;
use crate::objects::scripts::file_of;

/// The level from which objects are written to the table, so that long chains of objects do not nest deeply.
/// `FastVariantLimits.for_network` allows 32 levels.
const INLINE_LEVELS: u32 = 16;
/// Limit on visited containers. Each takes at least 8 bytes of output, which is limited to 2 GiB.
const MOST_CONTAINERS: usize = 1 << 28;

/// The number of values after which containers are remembered, so that one that holds itself is not visited at each
/// level.
const MANY_VALUES: usize = 1 << 14;

#[derive(Default)]
pub struct Graph {
    objects: Vec<GraphObject>,
    by_id: ById<usize>,
    /// The property values of all objects.
    values: Vec<Variant>,
    /// The indexes of the objects in the table, in the order of the table.
    table: Vec<usize>,
    /// The indexes of the resources inside Dictionary keys, by path.
    keys: HashMap<String, usize>,
    /// Whether the value nests too deeply to be written.
    is_too_deep: bool,
}

pub struct GraphObject {
    id: u64,
    pub form: Form,
    /// The indexes of its values in [`Graph::values`].
    values: Range<usize>,
    /// The names of kept properties that its class does not have. Their values follow the values of the
    /// class's properties.
    unknown: Option<Box<[String]>>,
    /// The positions of the properties that are not written.
    left_out: Box<[usize]>,
    /// Its index in the table.
    slot: Option<usize>,
    /// Whether the value still refers to it after all getters have run.
    is_placed: bool,
    is_in_table: bool,
    /// Whether it is a Node in the scene tree.
    is_in_tree: bool,
    /// Whether anything but variables of Nodes in the scene tree refers to it.
    is_inside: bool,
}

/// The form in which an object is written.
pub enum Form {
    /// Its class and its properties.
    Object(Arc<Class>),
    /// A resource of the project: its UID and its path.
    Resource(Box<(String, String)>),
    /// An object that cannot be written.
    Refused(Box<Error>),
}

/// A value to visit, its level, and whether it is inside a key, or in a variable of a Node in the scene tree.
struct Visit(Variant, u32, bool, bool);

/// Where an object was found.
#[derive(Clone, Copy)]
struct Place {
    in_key: bool,
    /// Whether it cannot be written inline.
    needs_table: bool,
    /// Whether it is in a variable of a Node in the scene tree.
    in_node: bool,
}

impl Graph {
    /// Collects the objects of a value. Getters run.
    ///
    /// # Errors
    /// Fails if the value is too large, or calls nest too deeply. Other errors are reported
    /// when the value is written, with their path.
    pub fn of(value: &Variant, registry: &Registry) -> Result<Self> {
        let _running = Nested::enter()?;
        let mut graph = Self::default();
        graph.walk(value, |graph, object, _| graph.collect(object, registry))?;
        // Getters may have changed containers. From here on, no script runs.
        graph.walk(value, |graph, object, place| graph.place(&object, place))?;
        for (index, found) in graph.objects.iter_mut().enumerate() {
            if found.is_placed && !found.is_inside {
                found.refuse_outside();
            }
            if found.is_placed && found.is_in_table && matches!(found.form, Form::Object(_)) {
                found.slot = Some(graph.table.len());
                graph.table.push(index);
            }
        }
        Ok(graph)
    }

    /// Calls `visit` with each object in a value, in the order in which objects are written. If `visit` returns
    /// the index of the object, continues with the values of its properties.
    fn walk(
        &mut self,
        value: &Variant,
        mut visit: impl FnMut(&mut Self, Variant, Place) -> Option<usize>,
    ) -> Result<()> {
        let reader = Reader::new();
        let mut visits = vec![Visit(value.clone(), 0, false, false)];
        let (mut containers, mut queued) = (0, 0);
        // The number of visits to each container, counted separately inside keys and elsewhere. Counting starts after
        // `MANY_VALUES`.
        let mut seen = HashMap::new();
        while let Some(Visit(value, depth, in_key, in_node)) = visits.pop() {
            let added = visits.len();
            let mut queue = |value: &Variant, depth: u32, in_key: bool, in_node: bool| {
                if may_hold_objects(reader, value) {
                    visits.push(Visit(value.clone(), depth + 1, in_key, in_node));
                }
            };
            let identity = if queued > MANY_VALUES { reader.identity(&value) } else { 0 };
            if identity != 0 {
                // A container that is found again has no new objects. If it is found a third time, all its objects
                // are known to be referred to more than once.
                let times = seen.entry((identity, in_key)).or_insert(0_u8);
                *times += 1;
                if *times > 2 {
                    *times = 2;
                    continue;
                }
            }
            match reader.ty(&value) {
                // The writer reports this error with its path, and never writes the values that follow.
                _ if depth > MAX_DEPTH => {
                    self.is_too_deep = true;
                    break;
                }
                Some(VariantType::Array) => {
                    let elements = reader.elements(&value);
                    if !is_plain(&reader.array_type(&value)) {
                        (0..elements.len())
                            .filter_map(|index| elements.get(index))
                            .for_each(|element| queue(element, depth, in_key, false));
                    }
                }
                Some(VariantType::Dictionary) => {
                    let (key, held) = reader.dictionary_types(&value);
                    if !(is_plain(&key) && is_plain(&held)) {
                        let (mut entries, _) = reader.entries(&value, false);
                        while let Some((key, held)) = reader.next_entry(&mut entries) {
                            queue(key, depth, true, false);
                            queue(held, depth, in_key, false);
                        }
                    }
                }
                Some(VariantType::Object) => {
                    let place = Place { in_key, needs_table: in_key || depth >= INLINE_LEVELS, in_node };
                    let Some(index) = visit(self, value, place) else { continue };
                    let depth = if place.needs_table { 2 } else { depth };
                    let object = &self.objects[index];
                    self.values[object.values.clone()]
                        .iter()
                        .for_each(|value| queue(value, depth, false, object.is_in_tree));
                }
                _ => continue,
            }
            containers += 1;
            if containers > MOST_CONTAINERS {
                return Err(ErrorKind::TooLarge.into());
            }
            queued += visits.len() - added.min(visits.len());
            // Visit them in the order in which they will be written.
            visits[added..].reverse();
        }
        Ok(())
    }

    /// Collects an object and its values, unless it is known. Getters run.
    fn collect(&mut self, object: Variant, registry: &Registry) -> Option<usize> {
        let object = HeldObject::of(object).filter(|object| !self.by_id.contains_key(&object.id()))?;
        let index = self.objects.len();
        self.by_id.insert(object.id(), index);
        let found = self.add(&object, registry);
        self.objects.push(found);
        Some(index)
    }

    /// Notes where an object will be written. An unknown object, which a getter has added, is refused by the
    /// writer.
    fn place(&mut self, object: &Variant, place: Place) -> Option<usize> {
        let index = *self.by_id.get(&Reader::new().live_object_id(object))?;
        let found = &mut self.objects[index];
        let is_known = std::mem::replace(&mut found.is_placed, true);
        found.is_in_table |= is_known || place.needs_table;
        found.is_inside |= !(place.in_node && found.is_in_tree);
        if place.in_key {
            self.check_key(index);
        }
        (!is_known).then_some(index)
    }

    /// Refuses a resource in a key if another key has a second instance of the same resource: both keys would be read
    /// as one.
    fn check_key(&mut self, index: usize) {
        let Form::Resource(place) = &self.objects[index].form else { return };
        if *self.keys.entry(place.1.clone()).or_insert(index) != index {
            let reason = format!("two keys are the resource {}, which was loaded twice", quoted(&place.1));
            self.objects[index].form = Form::Refused(Box::new(Error::object(reason)));
        }
    }

    /// An object; adds the values of its properties.
    fn add(&mut self, object: &HeldObject, registry: &Registry) -> GraphObject {
        let first = self.values.len();
        let (mut unknown, mut left_out, mut is_in_tree) = (None, Vec::new(), false);
        let form = self.form(object, registry).and_then(|form| {
            if let Form::Object(class) = &form
                && class.is_node
                && let Ok(node) = object.value().try_to::<Gd<Node>>()
            {
                is_in_tree = node.is_inside_tree();
                left_out = self.leave_out_children(&node, first);
            }
            if let Form::Object(class) = &form
                && class.keeps_unknown
            {
                unknown = self.add_unknown(object, class)?;
            }
            Ok(form)
        });
        let form = form.unwrap_or_else(|error| Form::Refused(Box::new(error)));
        let values = first..self.values.len();
        GraphObject {
            id: object.id(),
            form,
            values,
            unknown,
            left_out: left_out.into(),
            slot: None,
            is_placed: false,
            is_in_table: false,
            is_in_tree,
            is_inside: false,
        }
    }

    /// The positions, among the values from `first` on, of Nodes below `node`. They are not written, because they belong
    /// to its scene.
    fn leave_out_children(&mut self, node: &Gd<Node>, first: usize) -> Vec<usize> {
        let mut left_out = Vec::new();
        for (position, value) in self.values[first..].iter_mut().enumerate() {
            if value.try_to::<Gd<Node>>().is_ok_and(|held| node.is_ancestor_of(&held)) {
                *value = Variant::nil();
                left_out.push(position);
            }
        }
        left_out
    }

    /// Adds the properties that were kept although the class does not have them.
    ///
    /// # Errors
    /// Fails if they were changed to something that a reader would not accept as properties.
    fn add_unknown(&mut self, object: &HeldObject, class: &Class) -> Result<Option<Box<[String]>>> {
        let kept = object.get(&StringName::from(UNKNOWN)).unwrap_or_default();
        let Ok(kept) = kept.try_to::<VarDictionary>() else { return Ok(None) };
        let mut names = Vec::new();
        for (name, value) in kept.iter_shared() {
            let is_text =
                matches!(Reader::new().ty(&name), Some(VariantType::String | VariantType::StringName));
            let name = text_of(&name.stringify());
            if !is_text || tag::is_tag(&name) {
                let reason = format!("the metadata of unknown properties has the key {}", quoted(&name));
                return Err(Error::object(reason));
            }
            if class.position(&name).is_none() {
                names.push(name);
                self.values.push(value);
            }
        }
        Ok((!names.is_empty()).then(|| names.into()))
    }

    fn form(&mut self, object: &HeldObject, registry: &Registry) -> Result<Form> {
        if let Some((uid, path)) = resources::reference(registry.folders(), object.value()) {
            return Ok(Form::Resource(Box::new((uid, path))));
        }
        let class = Arc::clone(registry.of_object(object)?);
        class.check_kind(object)?;
        if class.is_resource
            && object.value().try_to::<Gd<Resource>>().is_ok_and(|found| file_of(&found).is_some())
        {
            lost_objects::note_copy(&class.name);
        }
        for property in &class.properties {
            match object.get(&property.name) {
                Some(value) => self.values.push(value),
                None => return Err(Error::object("freed by its own getter")),
            }
        }
        Ok(Form::Object(class))
    }

    /// The ids of the objects, each with the name of its class; resources of the project are
    /// omitted.
    pub fn ids(&self) -> impl Iterator<Item = (u64, &str)> {
        self.objects.iter().filter(|found| found.is_placed).filter_map(|found| match &found.form {
            Form::Object(class) => Some((found.id, class.name.as_str())),
            _ => None,
        })
    }

    /// The object with this id; `None` if it was not collected.
    pub fn find(&self, id: u64) -> Option<&GraphObject> {
        self.by_id.get(&id).map(|index| &self.objects[*index])
    }

    /// The class of the object in this value, if it is written as an object.
    pub fn class_of(&self, value: &Variant) -> Option<&Class> {
        match &self.find(Reader::new().live_object_id(value))?.form {
            Form::Object(class) => Some(class),
            _ => None,
        }
    }

    /// The error of an object that was not found.
    pub fn missing(&self) -> Error {
        if self.is_too_deep {
            return ErrorKind::TooDeep.into();
        }
        Error::object("a getter has added an object during the call")
    }

    pub fn table(&self) -> impl ExactSizeIterator<Item = &GraphObject> {
        self.table.iter().map(|index| &self.objects[*index])
    }

    /// The names and values of the properties that an object's class does not have.
    pub fn unknown<'a>(
        &'a self,
        found: &'a GraphObject,
        class: &Class,
    ) -> impl ExactSizeIterator<Item = (&'a str, &'a Variant)> + use<'a> {
        let names = found.unknown.as_deref().unwrap_or_default();
        let values = self
            .values
            .get(found.values.start + class.properties.len()..found.values.end)
            .unwrap_or_default();
        names.iter().map(String::as_str).zip(values)
    }

    pub fn values(&self, found: &GraphObject, class: &Class) -> &[Variant] {
        self.values.get(found.values.start..found.values.start + class.properties.len()).unwrap_or_default()
    }
}

impl GraphObject {
    /// Refuses a Node that is not part of the value: a reader would make a second one.
    fn refuse_outside(&mut self) {
        if let Form::Object(class) = &self.form {
            let reason = format!(
                "an object of class {} is in the scene tree, but not in the value; keep its NodePath, leave the variable out with `exclude`, or put both Nodes into one Array",
                quoted(&class.name)
            );
            self.form = Form::Refused(Box::new(Error::object(reason)));
        }
    }

    pub fn left_out(&self) -> &[usize] {
        &self.left_out
    }

    pub fn slot(&self) -> Option<usize> {
        self.slot
    }
}

#[inline(always)]
fn may_hold_objects(reader: Reader, value: &Variant) -> bool {
    use VariantType::{Array, Dictionary, Object};
    matches!(reader.ty(value), Some(Array | Dictionary | Object))
}

/// Returns whether elements of this type cannot hold objects.
fn is_plain(declared: &ContainerType) -> bool {
    use VariantType::{Array, Dictionary, Object};
    matches!(declared, ContainerType::Builtin(ty) if !matches!(ty, Array | Dictionary | Object))
}

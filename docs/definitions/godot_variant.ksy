meta:
  id: godot_variant
  title: Godot 4 binary Variant
  application: Godot Engine 4
  license: MIT
  ks-version: "0.10"
  endian: le
  encoding: UTF-8
doc: |
  One value of the scripting language of Godot 4, as `var_to_bytes` writes it and `bytes_to_var` reads it. The same
  bytes are the payload of `FileAccess.store_var`, `StreamPeer.put_var` and `PacketPeer.put_var`.

  All numbers are little-endian. A value has no length prefix: its content determines where it ends. Bytes after the
  value are ignored. Godot 3 uses other type ids; this definition does not read its values.

  The definition reads what the engine reads, including non-canonical encodings, with these exceptions:

  * Invalid UTF-8 fails in the engine. The runtime library of the target language decides whether it fails here.
  * The engine drops a byte-order mark at the start of a text. Here, that is up to the runtime library, too.
  * The engine refuses objects in full form unless the caller allows them. Here, they are always read.
  * The counts of a NodePath may wrap around at 2^32 in the engine. No writer produces such counts; here, they fail.
  * A typed container in the engine converts or drops elements of other types, and equal keys of a Dictionary are
    merged. Here, all elements are listed as they were written.
seq:
  - {id: value, type: variant(0)}
-webide-representation: "{value}"
types:
  variant:
    doc: A header of 4 bytes and the content of the type.
    params:
      - id: depth
        type: s4
        doc: Number of Arrays, Dictionaries and Objects around this value.
    seq:
      - id: type_id
        type: u1
        enum: variant_type
        valid:
          expr: _.to_i <= 38 and depth <= 1024
        doc: The engine refuses other ids, and values at a depth of more than 1024.
      - id: unused_1
        type: u1
        doc: Writers set unused bits to 0; readers ignore them.
      - id: flags
        type: u1
        doc: See the instances.
      - {id: unused_2, type: u1}
      - id: content
        doc: Nil and Callable have no content. Writers drop the target of a Callable.
        type:
          switch-on: type_id
          cases:
            'variant_type::bool': bool_value
            'variant_type::int': int_value(is_wide)
            'variant_type::float': real(is_wide)
            'variant_type::string': text
            'variant_type::vector2': vector2(is_wide)
            'variant_type::vector2i': vector2i
            'variant_type::rect2': rect2(is_wide)
            'variant_type::rect2i': rect2i
            'variant_type::vector3': vector3(is_wide)
            'variant_type::vector3i': vector3i
            'variant_type::transform2d': transform2d(is_wide)
            'variant_type::vector4': vector4(is_wide)
            'variant_type::vector4i': vector4i
            'variant_type::plane': plane(is_wide)
            'variant_type::quaternion': vector4(is_wide)
            'variant_type::aabb': aabb(is_wide)
            'variant_type::basis': basis(is_wide)
            'variant_type::transform3d': transform3d(is_wide)
            'variant_type::projection': projection(is_wide)
            'variant_type::color': color
            'variant_type::string_name': text
            'variant_type::node_path': node_path
            'variant_type::rid': rid
            'variant_type::object': object_value(is_wide, depth)
            'variant_type::signal': signal_value
            'variant_type::dictionary': dictionary_value(kind, value_kind, depth)
            'variant_type::array': array_value(kind, depth)
            'variant_type::packed_byte_array': packed_byte_array
            'variant_type::packed_int32_array': packed_int32_array
            'variant_type::packed_int64_array': packed_int64_array
            'variant_type::packed_float32_array': packed_float32_array
            'variant_type::packed_float64_array': packed_float64_array
            'variant_type::packed_string_array': packed_string_array
            'variant_type::packed_vector2_array': packed_vector2_array(is_wide)
            'variant_type::packed_vector3_array': packed_vector3_array(is_wide)
            'variant_type::packed_color_array': packed_color_array
            'variant_type::packed_vector4_array': packed_vector4_array(is_wide)
    instances:
      is_wide:
        value: (flags & 1) != 0
        doc: |
          Header bit 16. An int or float has 8 bytes instead of 4; the components of a vector are f8 instead of f4, as
          engines with double precision write them; an Object is an instance id. Other types ignore it.
      kind:
        value: flags & 3
        enum: element_kind
        doc: Header bits 16 and 17. The kind of an Array's element type or of a Dictionary's key type.
      value_kind:
        value: (flags >> 2) & 3
        enum: element_kind
        doc: Header bits 18 and 19. The kind of a Dictionary's value type.
    -webide-representation: "{type_id}: {content}"

  # Scalars and text

  bool_value:
    seq:
      - {id: raw, type: u4}
    instances:
      value:
        value: raw != 0
    -webide-representation: "{value}"
  int_value:
    doc: One of the two fields is present. Writers use 8 bytes only if the number does not fit in 4.
    params: [{id: is_wide, type: bool}]
    seq:
      - id: as_i32
        type: s4
        if: not is_wide
      - id: as_i64
        type: s8
        if: is_wide
    -webide-representation: "{as_i32:dec}{as_i64:dec}"
  real:
    doc: A float, or a component of a vector.
    params: [{id: is_wide, type: bool}]
    seq:
      - id: value
        type:
          switch-on: is_wide
          cases:
            true: f8
            false: f4
    -webide-representation: "{value}"
  text:
    doc: A length-prefixed text. The elements of a PackedStringArray count a NUL at their end.
    seq:
      - id: len_value
        type: u4
        valid: {expr: _ <= _io.size - _io.pos}
        doc: Number of bytes in UTF-8, without padding. Checked before memory is allocated.
      - id: value
        size: len_value
        type: strz
        doc: The engine ignores the bytes after the first NUL.
      - id: padding
        size: (4 - len_value % 4) % 4
        doc: Zeros. Must be present, but is not read. Engines before 4.6.3 do not clear it in a NodePath.
    -webide-representation: "{value}"

  # Vectors and matrices

  vector2:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: x, type: real(is_wide)}
      - {id: y, type: real(is_wide)}
    -webide-representation: "({x}, {y})"
  vector3:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: x, type: real(is_wide)}
      - {id: y, type: real(is_wide)}
      - {id: z, type: real(is_wide)}
    -webide-representation: "({x}, {y}, {z})"
  vector4:
    doc: A Vector4 or a Quaternion.
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: x, type: real(is_wide)}
      - {id: y, type: real(is_wide)}
      - {id: z, type: real(is_wide)}
      - {id: w, type: real(is_wide)}
    -webide-representation: "({x}, {y}, {z}, {w})"
  vector2i:
    seq:
      - {id: x, type: s4}
      - {id: y, type: s4}
    -webide-representation: "({x:dec}, {y:dec})"
  vector3i:
    seq:
      - {id: x, type: s4}
      - {id: y, type: s4}
      - {id: z, type: s4}
    -webide-representation: "({x:dec}, {y:dec}, {z:dec})"
  vector4i:
    seq:
      - {id: x, type: s4}
      - {id: y, type: s4}
      - {id: z, type: s4}
      - {id: w, type: s4}
    -webide-representation: "({x:dec}, {y:dec}, {z:dec}, {w:dec})"
  rect2:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: position, type: vector2(is_wide)}
      - {id: size, type: vector2(is_wide)}
    -webide-representation: "position {position}, size {size}"
  rect2i:
    seq:
      - {id: position, type: vector2i}
      - {id: size, type: vector2i}
    -webide-representation: "position {position}, size {size}"
  aabb:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: position, type: vector3(is_wide)}
      - {id: size, type: vector3(is_wide)}
    -webide-representation: "position {position}, size {size}"
  plane:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: normal, type: vector3(is_wide)}
      - {id: d, type: real(is_wide)}
    -webide-representation: "normal {normal}, d {d}"
  transform2d:
    doc: By columns.
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: x, type: vector2(is_wide)}
      - {id: y, type: vector2(is_wide)}
      - {id: origin, type: vector2(is_wide)}
    -webide-representation: "x {x}, y {y}, origin {origin}"
  basis:
    doc: By rows. The first row holds the x components of the axes x, y and z.
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: rows, type: vector3(is_wide), repeat: expr, repeat-expr: 3}
  transform3d:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: basis, type: basis(is_wide)}
      - {id: origin, type: vector3(is_wide)}
  projection:
    doc: By columns.
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: x, type: vector4(is_wide)}
      - {id: y, type: vector4(is_wide)}
      - {id: z, type: vector4(is_wide)}
      - {id: w, type: vector4(is_wide)}
  color:
    doc: Single precision in every engine.
    seq:
      - {id: r, type: f4}
      - {id: g, type: f4}
      - {id: b, type: f4}
      - {id: a, type: f4}
    -webide-representation: "({r}, {g}, {b}, {a})"

  # References

  node_path:
    seq:
      - id: num_names_raw
        type: u4
        valid:
          min: 0x80000000
        doc: The top bit is set. Without it, the bytes are of a format that no Godot 4 reads.
      - {id: num_subnames, type: u4}
      - id: flags
        type: u4
        doc: Other bits than those in the instances are ignored.
      - id: names
        type: text
        repeat: expr
        repeat-expr: num_names
        doc: Between slashes.
      - id: subnames
        type: text
        repeat: expr
        repeat-expr: 'has_extra_subname ? num_subnames + 1 : num_subnames'
        doc: After colons.
    instances:
      num_names:
        value: num_names_raw & 0x7fffffff
      is_absolute:
        value: (flags & 1) != 0
      has_extra_subname:
        value: (flags & 2) != 0
        doc: One subname more than counted. Old writers set it; Godot 4 only reads it.
  rid:
    seq:
      - id: id
        type: u8
        doc: Number of a resource in the process that wrote it.
    -webide-representation: "{id:dec}"
  signal_value:
    seq:
      - {id: name, type: text}
      - {id: instance_id, type: u8}
    -webide-representation: "{name} of {instance_id:dec}"
  object_value:
    doc: |
      An instance id, or a class with its stored properties. `var_to_bytes` writes the id,
      `var_to_bytes_with_objects` the class. Reading the class form runs constructors, setters and scripts: do not
      accept it from untrusted peers.
    params:
      - {id: is_id, type: bool}
      - {id: depth, type: s4}
    seq:
      - id: instance_id
        type: u8
        if: is_id
        doc: 0 is a null object.
      - id: class_name
        type: text
        if: not is_id
        doc: The native class. An empty text is a null object, and nothing follows.
      - id: num_properties
        type: s4
        if: has_properties
        doc: A negative number means 0.
      - id: properties
        type: object_property(depth)
        repeat: expr
        repeat-expr: 'num_properties < 0 ? 0 : num_properties'
        if: has_properties
    instances:
      has_properties:
        value: not is_id and class_name.value != ""
  object_property:
    params: [{id: depth, type: s4}]
    seq:
      - id: name
        type: text
        doc: The value of `script` is Nil or the resource path of the script, a String.
      - {id: value, type: variant(depth + 1)}
    -webide-representation: "{name} = {value}"

  # Containers

  element_type:
    doc: The declared type of a typed Array's elements, or of a typed Dictionary's keys or values.
    params:
      - id: kind
        type: u1
        enum: element_kind
    seq:
      - id: builtin
        type: u4
        enum: variant_type
        valid:
          expr: _.to_i <= 38
        if: kind == element_kind::builtin
      - id: name
        type: text
        if: kind != element_kind::builtin
        doc: Name of a native class, or path of a script, which starts with `res://`.
    -webide-representation: "{builtin}{name}"
  array_value:
    params:
      - id: kind
        type: u1
        enum: element_kind
      - {id: depth, type: s4}
    seq:
      - id: element_type
        type: element_type(kind)
        if: kind != element_kind::none
      - id: num_elements_raw
        type: u4
        doc: The top bit is ignored.
      - {id: elements, type: variant(depth + 1), repeat: expr, repeat-expr: num_elements}
    instances:
      num_elements:
        value: num_elements_raw & 0x7fffffff
  dictionary_value:
    params:
      - id: key_kind
        type: u1
        enum: element_kind
      - id: value_kind
        type: u1
        enum: element_kind
      - {id: depth, type: s4}
    seq:
      - id: key_type
        type: element_type(key_kind)
        if: key_kind != element_kind::none
      - id: value_type
        type: element_type(value_kind)
        if: value_kind != element_kind::none
      - id: num_entries_raw
        type: u4
        doc: The top bit is ignored.
      - {id: entries, type: entry(depth), repeat: expr, repeat-expr: num_entries}
    instances:
      num_entries:
        value: num_entries_raw & 0x7fffffff
  entry:
    params: [{id: depth, type: s4}]
    seq:
      - {id: key, type: variant(depth + 1)}
      - {id: value, type: variant(depth + 1)}
    -webide-representation: "{key} = {value}"

  # Packed arrays

  packed_byte_array:
    seq:
      - {id: num_elements, type: s4, valid: {expr: _ >= 0 and _ <= _io.size - _io.pos}}
      - {id: elements, size: num_elements}
      - id: padding
        size: '_io.size - _io.pos < len_padding ? _io.size - _io.pos : len_padding'
        doc: Zeros. The engine also reads a value that ends without them.
    instances:
      len_padding:
        value: (4 - num_elements % 4) % 4
  packed_int32_array:
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: s4, repeat: expr, repeat-expr: num_elements}
  packed_int64_array:
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: s8, repeat: expr, repeat-expr: num_elements}
  packed_float32_array:
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: f4, repeat: expr, repeat-expr: num_elements}
  packed_float64_array:
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: f8, repeat: expr, repeat-expr: num_elements}
  packed_string_array:
    seq:
      - id: num_elements
        type: s4
        doc: A negative number means 0.
      - {id: elements, type: text, repeat: expr, repeat-expr: 'num_elements < 0 ? 0 : num_elements'}
  packed_vector2_array:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: vector2(is_wide), repeat: expr, repeat-expr: num_elements}
  packed_vector3_array:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: vector3(is_wide), repeat: expr, repeat-expr: num_elements}
  packed_color_array:
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: color, repeat: expr, repeat-expr: num_elements}
  packed_vector4_array:
    params: [{id: is_wide, type: bool}]
    seq:
      - {id: num_elements, type: s4, valid: {min: 0}}
      - {id: elements, type: vector4(is_wide), repeat: expr, repeat-expr: num_elements}
enums:
  variant_type:
    0: {id: nil_value, -orig-id: Nil}
    1: {id: bool, -orig-id: bool}
    2: {id: int, -orig-id: int}
    3: {id: float, -orig-id: float}
    4: {id: string, -orig-id: String}
    5: {id: vector2, -orig-id: Vector2}
    6: {id: vector2i, -orig-id: Vector2i}
    7: {id: rect2, -orig-id: Rect2}
    8: {id: rect2i, -orig-id: Rect2i}
    9: {id: vector3, -orig-id: Vector3}
    10: {id: vector3i, -orig-id: Vector3i}
    11: {id: transform2d, -orig-id: Transform2D}
    12: {id: vector4, -orig-id: Vector4}
    13: {id: vector4i, -orig-id: Vector4i}
    14: {id: plane, -orig-id: Plane}
    15: {id: quaternion, -orig-id: Quaternion}
    16: {id: aabb, -orig-id: AABB}
    17: {id: basis, -orig-id: Basis}
    18: {id: transform3d, -orig-id: Transform3D}
    19: {id: projection, -orig-id: Projection}
    20: {id: color, -orig-id: Color}
    21: {id: string_name, -orig-id: StringName}
    22: {id: node_path, -orig-id: NodePath}
    23: {id: rid, -orig-id: RID}
    24: {id: object, -orig-id: Object}
    25: {id: callable, -orig-id: Callable}
    26: {id: signal, -orig-id: Signal}
    27: {id: dictionary, -orig-id: Dictionary}
    28: {id: array, -orig-id: Array}
    29: {id: packed_byte_array, -orig-id: PackedByteArray}
    30: {id: packed_int32_array, -orig-id: PackedInt32Array}
    31: {id: packed_int64_array, -orig-id: PackedInt64Array}
    32: {id: packed_float32_array, -orig-id: PackedFloat32Array}
    33: {id: packed_float64_array, -orig-id: PackedFloat64Array}
    34: {id: packed_string_array, -orig-id: PackedStringArray}
    35: {id: packed_vector2_array, -orig-id: PackedVector2Array}
    36: {id: packed_vector3_array, -orig-id: PackedVector3Array}
    37: {id: packed_color_array, -orig-id: PackedColorArray}
    38: {id: packed_vector4_array, -orig-id: PackedVector4Array}
  element_kind:
    0: {id: none, doc: Any value.}
    1: {id: builtin, doc: Values of a built-in type.}
    2: {id: class_name, doc: Objects of a native class.}
    3: {id: script, doc: Objects with a script.}

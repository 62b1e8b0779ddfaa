meta:
  id: godot_records
  title: File of Godot 4 Variants
  application: Godot Engine 4
  license: MIT
  ks-version: "0.10"
  imports:
    - godot_variant
  endian: le
doc: |
  Values one after the other, each with its length in front, as `FileAccess.store_var` and `StreamPeer.put_var` write
  them. If `big_endian` is set in the FileAccess or StreamPeer, the lengths are big-endian, and `endian: be` above reads
  them. The values are little-endian in any case.
seq:
  - id: records
    type: record
    repeat: eos
types:
  record:
    seq:
      - id: len_value
        type: u4
      - id: value
        type: godot_variant
        size: len_value
    -webide-representation: "{value}"

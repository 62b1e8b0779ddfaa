-- Wireshark dissector for Godot 4's binary Variants.
--
-- UDP: each datagram is one value (PacketPeerUDP.put_var).
-- TCP: each value has its length in front (StreamPeerTCP.put_var).
--
-- Copy this file into the folder for personal Lua plugins that Help > About Wireshark > Folders shows, or run
-- tshark -X lua_script:godot_variant.lua. Then set the ports in the preferences of the protocols GODOT and
-- GODOT_STREAM, or use Decode As.

local MAX_DEPTH = 256 -- Wireshark's tree has 500 levels at most. The engine's limit is 1024.
local MAX_ITEMS = 100000 -- tree items for one value
local MAX_ELEMENTS = 1000 -- tree items for one packed array

local value_proto = Proto("godot", "Godot 4 Variant")
local stream_proto = Proto("godot_stream", "Godot 4 Variant Stream")

-- Types

local function words(text)
  local list = {}
  for word in text:gmatch("%S+") do table.insert(list, word) end
  return list
end

local NAMES = words([[bool int float String Vector2 Vector2i Rect2 Rect2i Vector3 Vector3i Transform2D Vector4 Vector4i
  Plane Quaternion AABB Basis Transform3D Projection Color StringName NodePath RID Object Callable Signal Dictionary
  Array PackedByteArray PackedInt32Array PackedInt64Array PackedFloat32Array PackedFloat64Array PackedStringArray
  PackedVector2Array PackedVector3Array PackedColorArray PackedVector4Array]])
NAMES[0] = "Nil"

local BASIS = "x.x y.x z.x x.y y.y z.y x.z y.z z.z"

--- Types made of numbers: the kind of the numbers and the names of the parts. The kinds are those of NUMBERS, and
--- "real" and "int", whose size depends on the header.
local LAYOUTS = {
  Vector2 = { "real", words("x y") }, Vector2i = { "i32", words("x y") },
  Rect2 = { "real", words("position.x position.y size.x size.y") },
  Rect2i = { "i32", words("position.x position.y size.x size.y") },
  Vector3 = { "real", words("x y z") }, Vector3i = { "i32", words("x y z") },
  Vector4 = { "real", words("x y z w") }, Vector4i = { "i32", words("x y z w") },
  Transform2D = { "real", words("x.x x.y y.x y.y origin.x origin.y") },
  Plane = { "real", words("normal.x normal.y normal.z d") },
  Quaternion = { "real", words("x y z w") },
  AABB = { "real", words("position.x position.y position.z size.x size.y size.z") },
  Basis = { "real", words(BASIS) },
  Transform3D = { "real", words(BASIS .. " origin.x origin.y origin.z") },
  Projection = { "real", words("x.x x.y x.z x.w y.x y.y y.z y.w z.x z.y z.z z.w w.x w.y w.z w.w") },
  Color = { "f32", words("r g b a") },
  int = { "int", { "" } }, float = { "real", { "" } },
}

--- The same for the elements of packed arrays.
local PACKED = {
  PackedInt32Array = { "i32", { "" } }, PackedInt64Array = { "i64", { "" } },
  PackedFloat32Array = { "f32", { "" } }, PackedFloat64Array = { "f64", { "" } },
  PackedVector2Array = LAYOUTS.Vector2, PackedVector3Array = LAYOUTS.Vector3,
  PackedVector4Array = LAYOUTS.Vector4, PackedColorArray = LAYOUTS.Color,
}

--- Header bits 16 to 19 that a type uses; other types use none. Bit 16 is the 64-bit flag, except for containers.
local FLAGS = { int = 1, Object = 1, Array = 3, Dictionary = 15 }
for _, layouts in ipairs({ LAYOUTS, PACKED }) do
  for name, layout in pairs(layouts) do
    if layout[1] == "real" then FLAGS[name] = 1 end
  end
end

-- Fields

local f = {
  type = ProtoField.uint8("godot.type", "Type", base.DEC, NAMES),
  wide = ProtoField.bool("godot.wide", "64-bit"),
  bool = ProtoField.bool("godot.bool", "bool"),
  int = ProtoField.int64("godot.int", "int"),
  float = ProtoField.double("godot.float", "float"),
  string = ProtoField.string("godot.string", "String", base.UNICODE),
  bytes = ProtoField.bytes("godot.bytes", "Bytes"),
  name = ProtoField.string("godot.name", "Name", base.UNICODE),
  id = ProtoField.uint64("godot.id", "Id"),
  count = ProtoField.uint32("godot.count", "Count"),
  element_type = ProtoField.string("godot.element_type", "Element type", base.UNICODE),
  flags = ProtoField.uint32("godot.path_flags", "Flags", base.HEX),
}
value_proto.fields = f

local malformed = ProtoExpert.new("godot.malformed", "Malformed Variant", expert.group.MALFORMED, expert.severity.ERROR)
local limited = ProtoExpert.new("godot.limited", "Not fully dissected", expert.group.UNDECODED, expert.severity.WARN)
local unusual = ProtoExpert.new("godot.unusual", "Non-canonical", expert.group.PROTOCOL, expert.severity.NOTE)
value_proto.experts = { malformed, limited, unusual }

-- A reader has a tvb, its size, an offset (at), the innermost open tree item, and the number of items left.
-- Failures are errors with a table, which dissect_value catches.

local read_value

local function fail(reader, message)
  error({ expert = malformed, message = ("byte %d: %s"):format(reader.at, message) }, 0)
end

local function limit(message) error({ expert = limited, message = message }, 0) end

local function need(reader, size)
  local left = reader.size - reader.at
  if size > left then fail(reader, ("%d bytes expected, %d present"):format(size, left)) end
end

local function take(reader, size)
  need(reader, size)
  reader.at = reader.at + size
  return reader.tvb(reader.at - size, size)
end

local function add(reader, item, field, range, value)
  reader.items = reader.items - 1
  if reader.items < 0 then limit(("more than %d items; the rest is not shown"):format(MAX_ITEMS)) end
  return item:add(field, range, value)
end

-- Numbers: their size, their field, a function that reads one and a function that formats it.

local function format_float(digits)
  return function(number)
    local text = ("%%.%dg"):format(digits):format(number)
    if digits == 15 and tonumber(text) ~= number then text = ("%.17g"):format(number) end
    return text:find("^%-?%d+$") and text .. ".0" or text
  end
end

local NUMBERS = {
  i32 = { size = 4, field = f.int, read = function(range) return Int64(range:le_int()) end, format = tostring },
  i64 = { size = 8, field = f.int, read = function(range) return range:le_int64() end, format = tostring },
  f32 = { size = 4, field = f.float, read = function(range) return range:le_float() end, format = format_float(7) },
  f64 = { size = 8, field = f.float, read = function(range) return range:le_float() end, format = format_float(15) },
}

local function read_number(reader, item, kind, label)
  local number = NUMBERS[kind]
  local range = take(reader, number.size)
  local value = number.read(range)
  local text = number.format(value)
  local child = add(reader, item, number.field, range, value)
  if label ~= "" then child:set_text(label .. ": " .. text) end
  return text
end

local function read_parts(reader, item, kind, parts)
  local texts = {}
  for _, part in ipairs(parts) do table.insert(texts, read_number(reader, item, kind, part)) end
  return #parts == 1 and ": " .. texts[1] or ": (" .. table.concat(texts, ", ") .. ")"
end

-- Counts and text

--- Reads a count of elements that take `size` bytes or more, so that no loop is longer than the data.
local function read_count(reader, item, size, mask)
  local range = take(reader, 4)
  local count = range:le_uint()
  if count >= 0x80000000 and mask then count = mask(count) end
  add(reader, item, f.count, range, count)
  local left = reader.size - reader.at
  if count > left / size then fail(reader, ("a count of %d, but %d bytes left"):format(count, left)) end
  return count
end

local function size_text(count) return (", size %d"):format(count) end
local function ignore_top_bit(count) return count - 0x80000000 end
local function zero() return 0 end

local UTF8 = {
  "[\xc2-\xdf][\x80-\xbf]", "\xe0[\xa0-\xbf][\x80-\xbf]", "[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]",
  "\xed[\x80-\x9f][\x80-\xbf]", "\xf0[\x90-\xbf][\x80-\xbf][\x80-\xbf]",
  "[\xf1-\xf3][\x80-\xbf][\x80-\xbf][\x80-\xbf]", "\xf4[\x80-\x8f][\x80-\xbf][\x80-\xbf]",
}

local function is_utf8(text)
  for _, pattern in ipairs(UTF8) do text = text:gsub(pattern, "?") end
  return not text:find("[\x80-\xff]")
end

local function skip_padding(reader, item, size)
  local padding = -size % 4
  local range = padding > 0 and take(reader, padding)
  if range and range:raw():find("[^%z]") then item:add_proto_expert_info(unusual, "padding is not zero") end
end

local function quoted(text)
  if #text > 80 then text = text:sub(1, 80):gsub("[\xc2-\xf4][\x80-\xbf]*$", "") .. "…" end
  return '"' .. text .. '"'
end

local function read_text(reader, item, field, label)
  local start = reader.at
  local size = take(reader, 4):le_uint()
  need(reader, size + -size % 4)
  local text = size > 0 and reader.tvb(reader.at, size):raw() or ""
  if text:sub(1, 3) == "\xef\xbb\xbf" then text = text:sub(4) end
  text = text:match("^[^%z]*")
  if not is_utf8(text) then fail(reader, "invalid UTF-8") end
  reader.at = reader.at + size
  skip_padding(reader, item, size)
  local child = add(reader, item, field, reader.tvb(start, reader.at - start), text)
  if label then child:set_text(label .. ": " .. quoted(text)) end
  return text
end

-- Values. Each function reads the content of a type, adds items for it, and returns a text to follow the type's name.

local READ = {}

READ.Nil = function() return "" end
READ.Callable = READ.Nil

READ.bool = function(reader, item)
  local range = take(reader, 4)
  local value = range:le_uint()
  if value > 1 then item:add_proto_expert_info(unusual, "a bool that is neither 0 nor 1") end
  add(reader, item, f.bool, range, value ~= 0)
  return ": " .. tostring(value ~= 0)
end

READ.String = function(reader, item) return ": " .. quoted(read_text(reader, item, f.string)) end
READ.StringName = READ.String

READ.NodePath = function(reader, item)
  local head = take(reader, 12)
  local names, subnames, flags = head(0, 4):le_uint() - 0x80000000, head(4, 4):le_uint(), head(8, 4):le_uint()
  if names < 0 then fail(reader, "a NodePath in the old format") end
  add(reader, item, f.count, head(0, 4), names):set_text("Names: " .. names)
  add(reader, item, f.count, head(4, 4), subnames):set_text("Subnames: " .. subnames)
  add(reader, item, f.flags, head(8, 4), flags)
  if flags > 1 then item:add_proto_expert_info(unusual, "unknown flags of a NodePath") end
  if flags % 4 >= 2 then subnames = subnames + 1 end
  local total = (names + subnames) % 0x100000000 -- the engine's counts wrap around, too
  if total > (reader.size - reader.at) / 4 then fail(reader, ("%d names do not fit"):format(total)) end
  local path = {}
  for index = 1, total do
    local is_name = index <= names
    local separator = not is_name and ":" or index > 1 and "/" or ""
    table.insert(path, separator .. read_text(reader, item, f.name, is_name and "Name" or "Subname"))
  end
  return ": " .. quoted((flags % 2 == 1 and "/" or "") .. table.concat(path))
end

READ.RID = function(reader, item)
  local range = take(reader, 8)
  add(reader, item, f.id, range, range:le_uint64())
  return ": " .. tostring(range:le_uint64())
end

READ.Signal = function(reader, item)
  local name = read_text(reader, item, f.name)
  return (": %s of object%s"):format(quoted(name), READ.RID(reader, item):sub(2))
end

READ.Object = function(reader, item, flags, depth)
  if flags % 2 == 1 then return ": id" .. READ.RID(reader, item):sub(2) end
  local class = read_text(reader, item, f.name, "Class")
  if class == "" then return ": null" end
  for _ = 1, read_count(reader, item, 8, zero) do
    local property = read_text(reader, item, f.name, "Property")
    read_value(reader, item, property .. " = ", depth + 1)
  end
  return ": " .. class
end

--- The declared type of a container's elements, as text.
local function read_element_type(reader, item, kind, label)
  if kind == 0 then return nil end
  if kind == 2 then return read_text(reader, item, f.element_type, label .. " (class)") end
  if kind == 3 then return read_text(reader, item, f.element_type, label .. " (script)") end
  local range = take(reader, 4)
  local name = NAMES[range:le_uint()]
  if not name then fail(reader, ("unknown id %d of an element type"):format(range:le_uint())) end
  add(reader, item, f.element_type, range, name):set_text(label .. ": " .. name)
  return name
end

READ.Array = function(reader, item, flags, depth)
  local element = read_element_type(reader, item, flags % 4, "Element type")
  local count = read_count(reader, item, 4, ignore_top_bit)
  for index = 0, count - 1 do read_value(reader, item, ("[%d] "):format(index), depth + 1) end
  return (element and "[" .. element .. "]" or "") .. size_text(count)
end

READ.Dictionary = function(reader, item, flags, depth)
  local key = read_element_type(reader, item, flags % 4, "Key type")
  local value = read_element_type(reader, item, math.floor(flags / 4) % 4, "Value type")
  local count = read_count(reader, item, 8, ignore_top_bit)
  for index = 0, count - 1 do
    read_value(reader, item, ("[%d] key "):format(index), depth + 1)
    read_value(reader, item, ("[%d] value "):format(index), depth + 1)
  end
  local types = (key or value) and ("[%s, %s]"):format(key or "Variant", value or "Variant") or ""
  return types .. size_text(count)
end

READ.PackedByteArray = function(reader, item)
  local count = read_count(reader, item, 1)
  if count > 0 then item:add(f.bytes, take(reader, count)) end
  if -count % 4 > reader.size - reader.at then
    item:add_proto_expert_info(unusual, "no padding at the end")
    reader.at = reader.size
  else
    skip_padding(reader, item, count)
  end
  return size_text(count)
end

READ.PackedStringArray = function(reader, item)
  local count = read_count(reader, item, 4, zero)
  for index = 0, count - 1 do read_text(reader, item, f.string, ("[%d]"):format(index)) end
  return size_text(count)
end

local function read_packed(reader, item, kind, parts)
  local size = #parts * NUMBERS[kind].size
  local count = read_count(reader, item, size)
  for index = 0, math.min(count, MAX_ELEMENTS) - 1 do
    if #parts == 1 then
      read_number(reader, item, kind, ("[%d]"):format(index))
    else
      need(reader, size)
      local element = item:add(reader.tvb(reader.at, size), "")
      element:set_text(("[%d]%s"):format(index, read_parts(reader, element, kind, parts)))
    end
  end
  if count > MAX_ELEMENTS then
    local rest = take(reader, (count - MAX_ELEMENTS) * size)
    item:add(rest, ("[%d] to [%d] are not shown"):format(MAX_ELEMENTS, count - 1))
  end
  return size_text(count)
end

local function read_content(reader, item, name, flags, depth)
  local kind, parts = table.unpack(LAYOUTS[name] or PACKED[name] or {})
  if not kind then return READ[name](reader, item, flags, depth) end
  if kind == "real" then kind = flags % 2 == 1 and "f64" or "f32" end
  if kind == "int" then kind = flags % 2 == 1 and "i64" or "i32" end
  return (PACKED[name] and read_packed or read_parts)(reader, item, kind, parts)
end

function read_value(reader, tree, label, depth)
  if depth > MAX_DEPTH then limit(("nested deeper than %d levels; the rest is not shown"):format(MAX_DEPTH)) end
  local start = reader.at
  local header = take(reader, 4)
  local id, flags = header(0, 1):uint(), header(2, 1):uint()
  local item = add(reader, tree, f.type, reader.tvb(start), id)
  reader.item = item
  local name = NAMES[id]
  if not name then
    reader.at = start
    fail(reader, ("unknown type id %d"):format(id))
  end
  item:set_text(label .. name)
  local used = FLAGS[name] or 0
  if header(1, 1):uint() ~= 0 or header(3, 1):uint() ~= 0 or flags > used then
    item:add_proto_expert_info(unusual, "unused header bits are set")
  end
  if used == 1 and flags % 2 == 1 then add(reader, item, f.wide, header(2, 1), true) end
  local text = name .. read_content(reader, item, name, flags, depth)
  item:set_len(reader.at - start)
  item:set_text(("%s%s (byte %d)"):format(label, text, start))
  reader.item = tree
  return text
end

--- Dissects the one value in `tvb`, and returns a text for the column Info.
local function dissect_value(tvb, tree)
  local reader = { tvb = tvb, at = 0, size = tvb:len(), item = tree, items = MAX_ITEMS }
  local ok, result = pcall(read_value, reader, tree, "", 0)
  if not ok then
    if type(result) ~= "table" then error(result, 0) end
    reader.item:add_proto_expert_info(result.expert, result.message)
    return result.expert == malformed and "[Malformed Variant]" or "[Variant, not fully dissected]"
  end
  if reader.at < reader.size then
    local rest = tree:add(tvb(reader.at), ("%d bytes after the value"):format(reader.size - reader.at))
    rest:add_proto_expert_info(unusual, "the engine ignores bytes after the value")
  end
  return result
end

-- UDP

function value_proto.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol:set("Godot")
  pinfo.cols.info:set(dissect_value(tvb, tree:add(value_proto, tvb())))
  return tvb:len()
end

-- TCP

stream_proto.prefs.tcp_ports = Pref.range("TCP ports", "", "Ports of StreamPeerTCP.put_var", 65535)
stream_proto.prefs.big_endian = Pref.bool("Big-endian lengths", false, "StreamPeer.big_endian is set")
stream_proto.prefs.max_size = Pref.uint("Largest value", 16777216, "A larger length counts as damage")
value_proto.prefs.udp_ports = Pref.range("UDP ports", "", "Ports of PacketPeerUDP.put_var", 65535)

stream_proto.fields = { ProtoField.uint32("godot_stream.length", "Length") }
stream_proto.experts = {
  ProtoExpert.new("godot_stream.length.bad", "Bad length", expert.group.MALFORMED, expert.severity.ERROR),
}

local function record_size(range) return stream_proto.prefs.big_endian and range:uint() or range:le_uint() end

local function record_end(tvb, _, offset)
  local size = record_size(tvb(offset, 4))
  return size > stream_proto.prefs.max_size and tvb:len() - offset or 4 + size
end

local function dissect_record(tvb, pinfo, tree)
  local size = record_size(tvb(0, 4))
  local item = tree:add(stream_proto, tvb())
  local length = item:add(stream_proto.fields[1], tvb(0, 4), size)
  if size == 0 or size > stream_proto.prefs.max_size then
    length:add_proto_expert_info(stream_proto.experts[1], ("a value of %d bytes"):format(size))
  elseif tvb:len() > 4 then
    local value = tvb(4):tvb()
    local text = dissect_value(value, item:add(value_proto, value()))
    if tostring(pinfo.cols.protocol) == "Godot" then
      pinfo.cols.info:append("; " .. text)
    else
      pinfo.cols.protocol:set("Godot")
      pinfo.cols.info:set(text)
    end
  end
  return tvb:len()
end

function stream_proto.dissector(tvb, pinfo, tree)
  dissect_tcp_pdus(tvb, tree, 4, record_end, dissect_record)
  return tvb:len()
end

-- Ports

local function register(proto, table_name, preference)
  local dissectors = DissectorTable.get(table_name)
  local current = ""
  dissectors:add_for_decode_as(proto)
  function proto.prefs_changed()
    if current ~= "" then dissectors:remove(current, proto) end
    current = proto.prefs[preference]
    if current ~= "" then dissectors:add(current, proto) end
  end
end

register(value_proto, "udp.port", "udp_ports")
register(stream_proto, "tcp.port", "tcp_ports")

"""Objects of registered classes as dataclasses."""

import unittest
from dataclasses import dataclass, field
from typing import Any, ClassVar

import godot_variant as gv


@dataclass
class Item:
    id: str = ""
    count: int = 1


@dataclass
class Bag:
    items: list[Item] = field(default_factory=list)
    owner: Any = None
    is_loaded: bool = False

    def __post_init__(self) -> None:
        self.is_loaded = True


@dataclass(frozen=True)
class Place:
    name: str


@dataclass
class Hero:
    __godot_version__: ClassVar[int] = 2
    name: str = ""

    @classmethod
    def __godot_upgrade__(cls, properties: dict[str, Any], version: int) -> dict[str, Any]:
        return {"name": f"{properties['first']} {properties['last']} ({version})"}


CLASSES = [Item, Bag, Place, Hero]
NAME = gv.StringName


class Classes(unittest.TestCase):
    def back(self, value: Any) -> Any:
        data = gv.encode(value, classes=CLASSES)
        read = gv.decode(data, limits=gv.Limits.files(), classes=CLASSES)
        self.assertEqual(gv.encode(read, classes=CLASSES), data)
        self.assertEqual(gv.encode(gv.decode(data, limits=gv.Limits.files())), data)
        return read

    def test_the_bytes_of_the_addon(self) -> None:
        bag = Bag([Item()])
        bag.is_loaded = False
        # As `FastVariantClasses.to_plain([bag, bag])` prints it.
        written = {
            NAME("@objects"): [
                {
                    NAME("@class"): "Bag",
                    "items": [{NAME("@class"): "Item", "id": "", "count": 1}],
                    "owner": None,
                    "is_loaded": False,
                }
            ],
            "value": [{NAME("@ref"): 0}, {NAME("@ref"): 0}],
        }
        self.assertEqual(gv.encode([bag, bag], classes=CLASSES), gv.encode(written))

    def test_identity_and_cycles(self) -> None:
        bag = Bag([Item("rope", 2)])
        bag.owner = bag
        read = self.back({"bags": [bag, bag], "alone": Item("x")})
        found = read["bags"][0]
        self.assertIs(found, read["bags"][1])
        self.assertIs(found.owner, found)
        self.assertEqual((found.items, read["alone"]), ([Item("rope", 2)], Item("x")))

    def test_a_long_chain_is_in_the_table(self) -> None:
        chain: Any = None
        for _ in range(5000):
            chain = Bag(owner=chain)
        read, length = self.back(chain), 0
        while read:
            read, length = read.owner, length + 1
        self.assertEqual(length, 5000)

    def test_typed_containers_and_keys(self) -> None:
        value = [
            gv.TypedArray([Item()], Item),
            gv.TypedArray([[1]], list),
            gv.TypedDictionary({"a": Item()}, "StringName", Item),
            {Place("town"): 1},
            {"@user": {"@plain": 1}},
            {gv.NodePath("@x"): 2},
        ]
        read = self.back(value)
        self.assertEqual(repr(read), repr(value))
        plain = gv.decode(gv.encode(value, classes=CLASSES), limits=gv.Limits.files())["value"]
        self.assertEqual(plain[0], {"@array": "Item", "values": [{"@class": "Item", "id": "", "count": 1}]})
        self.assertEqual(plain[2]["@dictionary"], ["StringName", "Item"])
        self.assertEqual(plain[3], gv.Pairs([({"@ref": 0}, 1)], None, None))

    def test_versions(self) -> None:
        old = gv.encode({NAME("@class"): "Hero", "first": "Ada", "last": "L"})
        self.assertEqual(gv.decode(old, classes=CLASSES), Hero("Ada L (1)"))
        self.assertEqual(gv.decode(gv.encode(Hero("x"), classes=CLASSES))["@version"], 2)

    def test_refusals(self) -> None:
        for value, reason in [
            ({"@class": "Unknown"}, "'Unknown' is not in"),
            ({"@class": "Item", "weight": 1}, "has no 'weight'"),
            ({"@class": "Place"}, "lacks 'name'"),
            ({"@class": "Hero", "@version": 3}, "version 2, the data 3"),
            ({"@objects": [], "value": {"@ref": 0}}, "there are 0"),
            ({"@objects": [1], "value": 1}, "not an object"),
        ]:
            with self.assertRaisesRegex(gv.VariantError, reason) as raised:
                gv.decode(gv.encode(value), classes=CLASSES)
            self.assertEqual(raised.exception.code, "OBJECT_REFUSED")
        with self.assertRaisesRegex(gv.VariantError, "pass its class"):
            gv.encode(Item())

    def test_views_follow_references(self) -> None:
        item = Item("rope")
        view = gv.View(gv.encode({"a": item, "b": [item]}, classes=CLASSES))
        self.assertEqual((view["a"]["id"], view["b"][0]["id"]), ("rope", "rope"))

    def test_malformed_tags(self) -> None:
        name = gv.StringName
        for value in (
            {name("@plain"): 5}, {name("@class"): [1]}, {name("@class"): "Hero", "@version": "x"}, {name("@objects"): 5, "value": 1},
            {name("@array"): [1], "values": []}, {name("@array"): "int", "other": []}, {name("@dictionary"): ["int"], "values": {}},
            {name("@dictionary"): ["int", 7], "values": {}}, {name("@dictionary"): ["int", "int"], "values": [1]},
            *({name("@objects"): [], "value": {name("@ref"): wrong}} for wrong in ("x", 0.0, None, True, 0)),
        ):
            with self.assertRaises(gv.VariantError) as raised:
                gv.decode(gv.encode(value), classes={})
            self.assertEqual(raised.exception.code, "OBJECT_REFUSED", value)


if __name__ == "__main__":
    unittest.main()

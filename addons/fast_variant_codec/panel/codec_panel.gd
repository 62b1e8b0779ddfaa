@tool
extends TabContainer
## The editor's bottom panel "Variant Codec".

const BenchmarkTab := preload("benchmark_tab.gd")
const ConformanceTab := preload("conformance_tab.gd")
const InspectTab := preload("inspect_tab.gd")

var inspect := InspectTab.new()
var benchmark := BenchmarkTab.new()
var conformance := ConformanceTab.new()


func _init() -> void:
	name = "Variant Codec"
	for tab: Control in [inspect, benchmark, conformance]:
		add_child(tab)


func _ready() -> void:
	custom_minimum_size.y = 350 * EditorInterface.get_editor_scale()

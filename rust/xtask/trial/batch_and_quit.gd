extends SceneTree
## Quits right after a batch that is large enough to start the codec's threads.


func _initialize() -> void:
	var values := []
	values.resize(20_000)
	values.fill({"text": "some text", "numbers": [1, 2, 3]})
	quit(0 if FastVariantCodec.encode_batch(values).size() == values.size() else 1)

extends RefCounted
## An item that the hero carries.

var id := &""
var count := 1

extends RefCounted
## Something that the hero carries.

var id := &""
var count := 1

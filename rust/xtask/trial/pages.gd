@tool
extends RefCounted
## Writes the editor's help on the extension's classes to a file: a JSON object with one text per class.


func write(file: String) -> void:
	var editor := EditorInterface.get_script_editor()
	var pages: Dictionary[String, String] = {}
	for shown in ClassDB.get_class_list():
		if ClassDB.class_get_api_type(shown) != ClassDB.API_EXTENSION:
			continue
		editor.goto_help("class_name:" + shown)
		var page: Node = editor.find_children(shown, "EditorHelp", true, false)[0]
		var label: RichTextLabel = page.find_children("*", "RichTextLabel", true, false)[0]
		pages[shown] = label.get_parsed_text()
	FileAccess.open(file, FileAccess.WRITE).store_string(JSON.stringify(pages))

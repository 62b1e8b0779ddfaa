// Serves an exported game on localhost, opens it in a browser, and prints what the game prints.
// Ends with the game's exit code.
//
//     node browser.mjs FOLDER "ARGUMENTS OF THE GAME" BROWSER [OPTION…]

import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const [folder, game, browser, ...options] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

let running;

function end(code) {
	running?.kill("SIGKILL");
	process.exit(code);
}

const server = createServer((request, response) => {
	// Browsers require these headers for memory that threads share.
	response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
	response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
	const path = normalize(new URL(request.url, "http://localhost").pathname);
	if (request.method === "POST") {
		const chunks = [];
		request.on("data", (chunk) => chunks.push(chunk));
		request.on("end", () => {
			const text = Buffer.concat(chunks).toString();
			response.end();
			if (path === "/end") {
				end(Number(text));
			}
			(path === "/error" ? process.stderr : process.stdout).write(`${text}\n`);
		});
		return;
	}
	const file = join(folder, path);
	if (!existsSync(file)) {
		response.statusCode = 404;
		response.end();
		return;
	}
	response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
	createReadStream(file).pipe(response);
});

server.listen(0, "127.0.0.1", () => {
	const page = `http://127.0.0.1:${server.address().port}/index.html?${encodeURIComponent(game)}`;
	running = spawn(browser, [...options, page], { stdio: ["ignore", "ignore", "pipe"] });
	let said = "";
	running.stderr.on("data", (text) => (said = (said + text).slice(-4000)));
	running.on("exit", (code) => {
		process.stderr.write(`the browser ended with ${code}:\n${said}\n`);
		end(1);
	});
});

// Runs the samples in Node: the site comes as JSON on standard input, the outcomes leave likewise.
import { runAll } from "./samples.mjs";

let given = "";
for await (const part of process.stdin) given += part;
console.log(JSON.stringify(await runAll(JSON.parse(given))));

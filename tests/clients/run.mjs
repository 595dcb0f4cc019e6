// Runs the samples in Node. Reads the site as JSON from standard input, and prints the results.
import { runAll } from "./samples.mjs";

let given = "";
for await (const part of process.stdin) given += part;
console.log(JSON.stringify(await runAll(JSON.parse(given))));

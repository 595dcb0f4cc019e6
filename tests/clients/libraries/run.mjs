// Runs calls of the client in Node, one after the other. Each line of standard input is a call as
// JSON: module, options of client and worksheet, method and arguments. Each line of standard output
// is a result, an error, or a wait, which ends with the next line of standard input.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

/** Returns clocks on which time passes only while the client waits. */
function timingOf() {
  let now = 0;
  return {
    instant: () => ({ now, date: Date.now(), chance: 1 }),
    async sleep(seconds) {
      say({ wait: seconds });
      await lines.next();
      now += seconds * 1000;
    },
  };
}

async function outcomeOf({ module, options, sheet, ofSheet, method, arguments: given }) {
  const { Sheets } = await import(module);
  try {
    const client = new Sheets({ timing: timingOf(), ...options });
    const called = (method in client ? client : client.sheet(sheet, ofSheet))[method](...given);
    const value = await (method === "rows" ? all(called) : called);
    return { value: value ?? null };
  } catch (error) {
    const { cause, ...members } = error;
    const isMistake = error instanceof TypeError || error instanceof RangeError;
    const kind = isMistake ? "Mistake" : error.constructor.name;
    const { name, message, mayBeApplied } = error;
    return { error: { ...members, kind, name, message, mayBeApplied } };
  }
}

async function all(rows) {
  const found = [];
  for await (const row of rows) found.push(row);
  return found;
}

for await (const line of lines) say(await outcomeOf(JSON.parse(line)));

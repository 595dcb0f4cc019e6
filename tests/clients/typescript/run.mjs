// Runs calls of the client in Node. Standard input has the module, the options of the client and
// the calls as JSON; standard output gets the result or the error of each, and the waits. Faults of
// the emulator end at the first wait if their URL is given.
const { module, options, sheet, ofSheet, calls, isReal, faultsUrl } = await given();
const { Sheets } = await import(module);

let now = 0;
const waits = [];
const timing = {
  instant: () => ({ now, date: Date.now(), chance: 1 }),
  async sleep(seconds) {
    waits.push(seconds);
    now += seconds * 1000;
    await new Promise((done) => setTimeout(done, isReal ? seconds * 1000 : 0));
    if (faultsUrl) await fetch(faultsUrl, { method: "POST", body: "[]" });
  },
};

async function given() {
  let text = "";
  for await (const part of process.stdin) text += part;
  return JSON.parse(text);
}

async function outcomeOf(method, args) {
  try {
    const client = new Sheets({ timing, ...options });
    const called = (method in client ? client : client.sheet(sheet, ofSheet))[method](...args);
    const value = await (method === "rows" ? all(called) : called);
    return { value: value ?? null };
  } catch (error) {
    const { cause, ...members } = error;
    const { name, message, mayBeApplied } = error;
    return { error: { ...members, kind: error.constructor.name, name, message, mayBeApplied } };
  }
}

async function all(rows) {
  const found = [];
  for await (const row of rows) found.push(row);
  return found;
}

const outcomes = [];
for (const [method, ...args] of calls) outcomes.push(await outcomeOf(method, args));
console.log(JSON.stringify({ outcomes, waits }));

// Aborts a call. Standard input has the module, the options and the time of the abort as JSON.
let text = "";
for await (const part of process.stdin) text += part;
const { module, options, abortMs } = JSON.parse(text);
const { Sheets } = await import(module);
const cities = new Sheets(options).sheet("Cities");
const reason = new Error("the caller's reason");
const began = performance.now();

async function ended(signal) {
  try {
    await cities.get(2, { signal });
    return "an answer";
  } catch (error) {
    return error === reason ? "the reason" : String(error);
  }
}

const controller = new AbortController();
if (abortMs === 0) controller.abort(reason);
else setTimeout(() => controller.abort(reason), abortMs);
const outcome = await ended(controller.signal);
console.log(JSON.stringify({ outcome, ms: performance.now() - began }));

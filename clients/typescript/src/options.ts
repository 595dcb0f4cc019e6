// The options of clients and calls. Unknown options are errors, because ignoring a misspelled
// `ifMatch` or filter would write or read the wrong rows. JavaScript has no types to find them.

const CALL = ["signal"];
const READ = [...CALL, "keys"];
const ROWS = [...READ, "where", "order"];
const WRITE = [...CALL, "idempotencyKey"];

/** Allowed options by the client or method that takes them. */
const OPTIONS = {
  client: ["baseUrl", "apiKey", "spreadsheetId", "values", "timeoutSeconds", "retry", "timing"],
  retry: ["tries", "totalSeconds", "maxWaitSeconds", "backoffSeconds"],
  sheet: ["values"],
  list: [...ROWS, "limit", "skip", "cursor", "count", "noCache"],
  rows: [...ROWS, "pageSize", "skip"],
  export: [...ROWS, "limit", "skip"],
  get: [...READ, "noCache"],
  write: WRITE,
  rowWrite: [...WRITE, "ifMatch"],
  upsert: [...WRITE, "on", "ignoreExisting"],
  filterWrite: [...WRITE, "maxAffected"],
  refresh: CALL,
  schema: CALL,
  worksheets: CALL,
} as const;

/** Returns `options` unchanged. Throws TypeError if `taker` does not allow one of them. */
export function checked<Options extends object>(
  taker: keyof typeof OPTIONS,
  options: Options,
): Options {
  const known: readonly string[] = OPTIONS[taker];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return options;
  throw new TypeError(
    `${JSON.stringify(unknown)} is not an option here. The options are ${known.join(", ")}.`,
  );
}

/** Returns the value of an option that a header has. Throws TypeError if it cannot have it. */
export function visible(name: string, given: unknown, mayHaveBlanks = false): string {
  const allowed = mayHaveBlanks ? VISIBLE_WORDS : VISIBLE;
  if (typeof given === "string" && allowed.test(given)) return given;
  throw new TypeError(`${name} ${JSON.stringify(given)} is not visible ASCII text.`);
}

const VISIBLE = /^[\x21-\x7e]+$/;
const VISIBLE_WORDS = /^[\x21-\x7e]+( [\x21-\x7e]+)*$/;

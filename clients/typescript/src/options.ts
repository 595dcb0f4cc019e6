// The options of clients and calls. Others are refused: ignored, a misspelt `ifMatch` or a filter
// under another name would write or read other rows than meant. Types find that in TypeScript only.

const CALL = ["signal"];
const READ = [...CALL, "keys"];
const ROWS = [...READ, "where", "order"];
const WRITE = [...CALL, "idempotencyKey"];

/** The options by what takes them. */
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

/** The same options. Throws TypeError for one that has no meaning there. */
export function checked<Options extends object>(
  taker: keyof typeof OPTIONS,
  options: Options,
): Options {
  const known: readonly string[] = OPTIONS[taker];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return options;
  throw new TypeError(
    `${JSON.stringify(unknown)} is not an option here; the options are ${known.join(", ")}.`,
  );
}

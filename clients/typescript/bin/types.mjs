#!/usr/bin/env node
// Prints TypeScript types of the worksheets that an API key can read.

const USAGE = `Usage: sheets-gateway-types [--typed] URL KEY [SPREADSHEET_ID] > worksheets.d.ts
       SHEETS_GATEWAY_KEY=KEY sheets-gateway-types [--typed] URL [SPREADSHEET_ID] > worksheets.d.ts

Prints an interface "Worksheets" with the fields of all worksheets that the key is allowed to read.
--typed is for clients with values: "typed". The gateway infers the types from tables, dropdowns,
number formats and first rows. A field of unknown type gets all types.
If both are given, the argument KEY has priority over SHEETS_GATEWAY_KEY.`;

const ROWS_PATH = /^\/v2\/sheets\/([^/]+)$/;
const CELL_TYPES = new Set(["string", "number", "boolean", "null"]);
const LITERAL = String.raw`"(?:[^"\\]|\\.)*"`;
const LITERALS = new RegExp(LITERAL, "g");
const TYPE = String.raw`(?:string|number|boolean|null|true|false|-?\d[\d.eE+-]*|${LITERAL})`;
const FIELD = new RegExp(String.raw`^  (readonly )?(${LITERAL})(\??): (${TYPE}(?: \| ${TYPE})*);$`);
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Escapes invisible and control characters, except those in `kept`. */
function visible(text, kept = "") {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(INVISIBLE, (found) =>
    kept.includes(found) ? found : found.split("").map(escaped).join(""),
  );
}

/** Returns a string literal of TypeScript. */
function quoted(name) {
  return visible(JSON.stringify(name));
}

/** Returns the target of the node's `$ref` in the document, or the node itself without `$ref`. */
function resolved(document, node) {
  const pointer = node?.$ref?.split("/").slice(1) ?? [];
  const found = pointer.reduce((at, name) => at?.[name], document);
  return pointer.length > 0 ? found : node;
}

/** Returns the TypeScript line of a field with displayed text; `cell` is the schema of a cell. */
function fieldLine(name, cell) {
  const isOmitted = cell.type === "string" && cell.minLength === 1;
  const types = [cell.type].flat().map((type) => (CELL_TYPES.has(type) ? type : "unknown"));
  return `    ${quoted(name)}${isOmitted ? "?" : ""}: ${types.join(" | ")};`;
}

/** Returns the field lines of the gateway's interface. Throws if the text is anything else. */
function fieldsOf(text, source) {
  const [, opening, ...lines] = text.trimEnd().split("\n");
  const fields = lines.slice(0, -1).map((line) => FIELD.exec(line));
  if (!opening?.startsWith("export interface ") || lines.at(-1) !== "}" || fields.includes(null)) {
    throw new Error(`The answer from ${source} is not from a sheets-gateway: it has no interface.`);
  }
  const again = (literal) => quoted(JSON.parse(literal));
  return fields.map(([, readonly = "", name, mark, types]) => {
    return `    ${readonly}${again(name)}${mark}: ${types.replace(LITERALS, again)};`;
  });
}

/** Returns the field schemas of a worksheet, or undefined if the key cannot read the worksheet. */
function rowOf(document, operations) {
  const answer = resolved(document, operations.get?.responses?.["200"]);
  const page = resolved(document, answer?.content?.["application/json"]?.schema);
  const row = resolved(document, page?.properties?.results?.items);
  return row?.properties;
}

/** Returns `[title, field lines]` of each readable worksheet, for displayed text. */
async function displayed(base, headers) {
  const document = await read(`${base}/openapi.json`, headers);
  return Object.entries(document.paths).flatMap(([path, operations]) => {
    const title = ROWS_PATH.exec(path)?.[1];
    if (title === undefined || title.startsWith("{")) return [];
    const row = rowOf(document, operations);
    if (row === undefined) return [];
    const fields = Object.entries(row).filter(([name]) => name !== "rowIndex");
    const lines = fields.map(([name, cell]) => fieldLine(name, resolved(document, cell)));
    return [[decodeURIComponent(title), lines]];
  });
}

/** Returns `[title, field lines]` of each readable worksheet, for typed values. */
async function typed(base, headers) {
  const { sheets } = await read(`${base}/v2/sheets`, headers);
  if (!Array.isArray(sheets)) {
    throw new Error(
      `The answer from ${base}/v2/sheets is not from a sheets-gateway. Check the URL.`,
    );
  }
  const found = [];
  for (const { name, fields } of sheets) {
    if (!fields?.length) continue;
    const source = `${base}/v2/sheets/${encodeURIComponent(name)}/schema?format=typescript`;
    found.push([String(name), fieldsOf(await readText(source, headers), source)]);
  }
  return found;
}

/** Returns the TypeScript interface of `[title, field lines]` pairs. */
function declarations(worksheets) {
  const lines = worksheets.flatMap(([title, lines]) => [`  ${quoted(title)}: {`, ...lines, "  };"]);
  if (lines.length === 0) {
    throw new Error("The key is not allowed to read any worksheet of this spreadsheet.");
  }
  return ["export interface Worksheets {", ...lines, "}"].join("\n");
}

function parsed(text, source) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(
      `The answer from ${source} is not from a sheets-gateway. Check the URL. ` +
        `The answer begins: ${quoted(text.slice(0, 80))}`,
    );
  }
}

/** Returns the parsed JSON of an answer. */
async function read(source, headers) {
  return parsed(await readText(source, headers), source);
}

async function readText(source, headers) {
  // Following a redirect would send the key to another host.
  const answer = await fetch(source, { headers, redirect: "manual" }).catch((error) => {
    const { message, code } = error.cause ?? error;
    throw new Error(`No answer from ${source}: ${message || code}`);
  });
  const place = answer.headers.get("location");
  if (answer.status >= 300 && answer.status < 400) {
    throw new Error(`The gateway redirects to ${place}. If you trust that URL, pass it instead.`);
  }
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${source}: ${answer.status}: ${text}`);
  return text;
}

async function main(given) {
  const isTyped = given.includes("--typed");
  const [url, ...others] = given.filter((each) => each !== "--typed");
  const ofEnvironment = process.env.SHEETS_GATEWAY_KEY;
  if (ofEnvironment && others.length < 2) others.unshift(ofEnvironment);
  const [key, spreadsheetId] = others;
  if (url === undefined || key === undefined) throw new Error(USAGE);
  const headers = { Authorization: `Bearer ${key}` };
  if (spreadsheetId !== undefined) headers["X-Spreadsheet-Id"] = spreadsheetId;
  const base = url.trim().replace(/\/+$/, "");
  if (!/^https?:\/\/[^/]/i.test(base)) {
    throw new Error(`The URL "${url}" does not begin with http:// or https:// and a host.`);
  }
  console.log(declarations(await (isTyped ? typed : displayed)(base, headers)));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(visible(error.message, "\n"));
  process.exitCode = 1;
}

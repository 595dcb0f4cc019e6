#!/usr/bin/env node
// Prints TypeScript types of a key's worksheets, from the gateway's description of them.

const USAGE = `Usage: sheets-gateway-types [--typed] URL KEY [SPREADSHEET_ID] > worksheets.d.ts
       SHEETS_GATEWAY_KEY=KEY sheets-gateway-types [--typed] URL [SPREADSHEET_ID] > worksheets.d.ts

Prints an interface "Worksheets" with the fields of all worksheets that the key may read.
--typed is for clients with values: "typed". The types of a field are those in the first rows, as
many as the key's plan allows in one page; a field that is empty in all of them has every type.
KEY as an argument, beside URL and SPREADSHEET_ID, comes before SHEETS_GATEWAY_KEY.`;

const ROWS_PATH = /^\/v2\/sheets\/([^/]+)$/;
const CELL_TYPES = new Set(["string", "number", "boolean", "null"]);
const FILLED_TYPES = ["string", "number", "boolean"];
const SAMPLE = "values=typed&limit=1000";
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The text with escapes for characters that an editor does not show, or a terminal obeys. */
function visible(text, kept = "") {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(INVISIBLE, (found) =>
    kept.includes(found) ? found : found.split("").map(escaped).join(""),
  );
}

/** A name as a string of TypeScript. */
function quoted(name) {
  return visible(JSON.stringify(name));
}

/** Follows a reference inside the document. */
function resolved(document, node) {
  const pointer = node?.$ref?.split("/").slice(1) ?? [];
  const found = pointer.reduce((at, name) => at?.[name], document);
  return pointer.length > 0 ? found : node;
}

/** The types of a field: `cell` is the schema that all cells have, `rows` are typed samples. */
function typesOf(name, cell, rows) {
  const types = [cell.type].flat().map((type) => (CELL_TYPES.has(type) ? type : "unknown"));
  if (rows === undefined) return types;
  const cells = rows.flatMap((row) => (Object.hasOwn(row, name) ? [row[name]] : []));
  const filled = cells.filter((value) => value !== null && value !== "");
  const found = new Set(filled.map((value) => typeof value));
  const kinds = FILLED_TYPES.filter((type) => found.size === 0 || found.has(type));
  const isText = cell.type === "string" && !cell.minLength && !kinds.includes("string");
  return [...kinds, ...(isText ? ['""'] : []), "null"]; // an error is null
}

/** The TypeScript of a field. */
function fieldLine(name, cell, rows) {
  const isOmitted = cell.type === "string" && cell.minLength === 1;
  return `    ${quoted(name)}${isOmitted ? "?" : ""}: ${typesOf(name, cell, rows).join(" | ")};`;
}

/** The schema of a worksheet's rows, or undefined if the key may not read it. */
function rowOf(document, operations) {
  const answer = resolved(document, operations.get?.responses?.["200"]);
  const page = resolved(document, answer?.content?.["application/json"]?.schema);
  const row = resolved(document, page?.properties?.results?.items);
  return row?.properties;
}

/** Path, title and properties of the rows of each worksheet that the key may read. */
function worksheetsOf(document) {
  return Object.entries(document.paths).flatMap(([path, operations]) => {
    const title = ROWS_PATH.exec(path)?.[1];
    if (title === undefined || title.startsWith("{")) return [];
    const row = rowOf(document, operations);
    return row === undefined ? [] : [{ path, title: decodeURIComponent(title), row }];
  });
}

/** The interface; `samples` are typed rows by the path of their worksheet. */
function declarations(document, worksheets, samples) {
  const lines = worksheets.flatMap(({ path, title, row }) => {
    const fields = Object.entries(row).filter(([name]) => name !== "rowIndex");
    const line = ([name, cell]) => fieldLine(name, resolved(document, cell), samples.get(path));
    return [`  ${quoted(title)}: {`, ...fields.map(line), "  };"];
  });
  if (lines.length === 0) throw new Error("The key may read no worksheet of this spreadsheet.");
  return ["export interface Worksheets {", ...lines, "}"].join("\n");
}

function parsed(text, source) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${source} is not the gateway's: it begins ${quoted(text.slice(0, 80))}`);
  }
}

/** The JSON of an answer. */
async function read(source, headers) {
  // A followed redirect would carry the key to another host.
  const answer = await fetch(source, { headers, redirect: "manual" }).catch((error) => {
    const { message, code } = error.cause ?? error;
    throw new Error(`No answer from ${source}: ${message || code}`);
  });
  const place = answer.headers.get("location");
  if (answer.status >= 300 && answer.status < 400) {
    throw new Error(`The gateway redirects to ${place}. If you trust it, run this with its URL.`);
  }
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${source}: ${answer.status}: ${text}`);
  return parsed(text, source);
}

function rowsOf(page, source) {
  const rows = page?.results;
  const isRow = (row) => typeof row === "object" && row !== null;
  if (Array.isArray(rows) && rows.every(isRow)) return rows;
  throw new Error(`${source} is not the gateway's: it has no rows.`);
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
  // Only the description of displayed cells says what an empty one is.
  const query = isTyped ? "?values=displayed" : "";
  const document = await read(`${base}/openapi.json${query}`, headers);
  const worksheets = worksheetsOf(document);
  const samples = new Map();
  for (const { path } of isTyped ? worksheets : []) {
    samples.set(path, rowsOf(await read(`${base}${path}?${SAMPLE}`, headers), `${base}${path}`));
  }
  console.log(declarations(document, worksheets, samples));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(visible(error.message, "\n"));
  process.exitCode = 1;
}

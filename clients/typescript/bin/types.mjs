#!/usr/bin/env node
// Prints TypeScript types of a key's worksheets, from the gateway's description of them.

const USAGE = `Usage: sheets-gateway-types URL KEY [SPREADSHEET_ID] > worksheets.d.ts
       SHEETS_GATEWAY_KEY=KEY sheets-gateway-types URL [SPREADSHEET_ID] > worksheets.d.ts

Prints an interface "Worksheets" with the fields of all worksheets that the key may read.
KEY as an argument, beside URL and SPREADSHEET_ID, comes before SHEETS_GATEWAY_KEY.`;

const ROWS_PATH = /^\/v2\/sheets\/([^/]+)$/;
const CELL_TYPES = new Set(["string", "number", "boolean", "null"]);
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

/** The TypeScript of a field: `cell` is the schema that all cells have. */
function fieldLine(name, cell) {
  const isOmitted = cell.type === "string" && cell.minLength === 1;
  const types = [cell.type].flat().map((type) => (CELL_TYPES.has(type) ? type : "unknown"));
  return `    ${quoted(name)}${isOmitted ? "?" : ""}: ${types.join(" | ")};`;
}

/** The fields of a worksheet, or undefined if the key may not read it. */
function worksheetLines(document, title, operations) {
  const answer = resolved(document, operations.get?.responses?.["200"]);
  const page = resolved(document, answer?.content?.["application/json"]?.schema);
  const row = resolved(document, page?.properties?.results?.items);
  if (row?.properties === undefined) return [];
  const fields = Object.entries(row.properties).filter(([name]) => name !== "rowIndex");
  const lines = fields.map(([name, cell]) => fieldLine(name, resolved(document, cell)));
  return [`  ${quoted(title)}: {`, ...lines, "  };"];
}

function declarations(document) {
  const lines = Object.entries(document.paths).flatMap(([path, operations]) => {
    const title = ROWS_PATH.exec(path)?.[1];
    return title === undefined || title.startsWith("{")
      ? []
      : worksheetLines(document, decodeURIComponent(title), operations);
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

async function main([url, ...others]) {
  const ofEnvironment = process.env.SHEETS_GATEWAY_KEY;
  if (ofEnvironment && others.length < 2) others.unshift(ofEnvironment);
  const [key, spreadsheetId] = others;
  if (url === undefined || key === undefined) throw new Error(USAGE);
  const headers = { Authorization: `Bearer ${key}` };
  if (spreadsheetId !== undefined) headers["X-Spreadsheet-Id"] = spreadsheetId;
  const source = `${url.trim().replace(/\/+$/, "")}/openapi.json`;
  if (!/^https?:\/\/[^/]/i.test(source)) {
    throw new Error(`The URL "${url}" does not begin with http:// or https:// and a host.`);
  }
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
  console.log(declarations(parsed(text, source)));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(visible(error.message, "\n"));
  process.exitCode = 1;
}

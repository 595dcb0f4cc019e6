// Build the request and the parser of each API call.
//
// Repeating a request is safe: a read has no effect, and a write has an `Idempotency-Key`, which
// stays the same in all requests of a call.

import {
  checkRows,
  parseAffected,
  parseCsv,
  parseNdjson,
  parseNothing,
  parsePage,
  parseRow,
  parseRows,
  parseSchema,
  parseUpserted,
  parseUpsertedRow,
  parseWorksheets,
  type Parse,
} from "./answers.js";
import { SheetsFailure } from "./errors.js";
import { visible } from "./options.js";
import type { Page, Values } from "./rows.js";

/** A request, and the parser of its answer. */
export interface Call<Result> {
  readonly method: string;
  /** Path after `/v2/` and query, percent-encoded. */
  readonly target: string;
  readonly parse: Parse<Result>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly idempotencyKey?: string;
}

/** Returns the call with the parameter `values`, or unchanged if `values` is undefined. */
export function withValues<Result>(call: Call<Result>, values: Values | undefined): Call<Result> {
  if (values === undefined) return call;
  const mark = call.target.includes("?") ? "&" : "?";
  return { ...call, target: `${call.target}${mark}${new URLSearchParams({ values })}` };
}

type Names = string | readonly string[];
type Parameter = string | number | boolean | undefined;

export interface ListParameters {
  readonly where?: object;
  readonly order?: Names;
  readonly keys?: Names;
  readonly limit?: number;
  readonly skip?: number;
  readonly cursor?: string;
  readonly count?: boolean;
  readonly noCache?: boolean;
}

export interface WriteParameters {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  readonly maxAffected?: number;
}

const WORKSHEETS = "sheets";

export const listWorksheets = () => read(WORKSHEETS, parseWorksheets, {});

/** Requests the JSON Schema of rows with typed values. */
export const schema = (sheet: string) => read(`${path(sheet)}/schema`, parseSchema, {});

export const listRows = (sheet: string, options: ListParameters) =>
  read(path(sheet), parsePage, listQuery(options));

export type ExportFormat = "csv" | "ndjson";

/** Requests all matching rows as text. Throws TypeError for an unknown format. */
export function exportRows(sheet: string, format: ExportFormat, options: ListParameters) {
  if (!Object.hasOwn(EXPORTS, format)) {
    const known = Object.keys(EXPORTS).join(" or ");
    throw new TypeError(`${JSON.stringify(format)} is not an export format. Pass ${known}.`);
  }
  const { skip = 0, limit = Infinity } = options;
  const parse: Parse<string> = (answer) => {
    const text = EXPORTS[format](answer);
    checkRows(text, answer, skip, limit);
    return text;
  };
  return read(path(sheet), parse, { ...listQuery(options), format });
}

const EXPORTS: Readonly<Record<ExportFormat, Parse<string>>> = {
  csv: parseCsv,
  ndjson: parseNdjson,
};

/** Start of a page: the number of rows to skip, or a cursor. */
export type Place = { readonly skip: number } | { readonly cursor: string };

/**
 * Returns the start of the page after this one, or undefined after the last page. Throws
 * SheetsFailure if the answer has no cursor.
 */
export function nextPlace(place: Place, page: Page<unknown>): Place | undefined {
  if (!page.hasNextPage) return undefined;
  if ("skip" in place) {
    const seen = page.rows.length; // the key's plan can allow smaller pages
    return seen > 0 ? { skip: place.skip + seen } : undefined;
  }
  if (typeof page.cursor === "string") return { cursor: page.cursor };
  throw new SheetsFailure(NO_CURSOR, { outcome: undefined, idempotencyKey: undefined });
}

const NO_CURSOR =
  "The answer has no cursor for the next page, because the gateway is older than this client. " +
  "Update the gateway, or pass skip: 0, which can miss rows while others are inserted or deleted.";

function listQuery(options: ListParameters): Record<string, Parameter> {
  return {
    where: options.where && encoded(options.where),
    order: typeof options.order === "string" ? options.order : names(options.order),
    keys: names(options.keys),
    limit: options.limit,
    skip: options.skip,
    cursor: options.cursor,
    count: options.count || undefined,
    "no-cache": options.noCache || undefined,
  };
}

export const getRow = (
  sheet: string,
  rowIndex: number,
  { keys, noCache }: { keys?: Names; noCache?: boolean },
) => {
  const query = { keys: names(keys), "no-cache": noCache || undefined };
  return read(rowPath(sheet, rowIndex), parseRow, query);
};

export const createRow = (sheet: string, row: object, options: WriteParameters) =>
  write("POST", path(sheet), parseRow, checked(row), options);

export const createRows = (sheet: string, rows: readonly object[], options: WriteParameters) =>
  write("POST", path(sheet), parseRows, checked(rows), options);

export const updateRow = (
  sheet: string,
  rowIndex: number,
  changes: object,
  options: WriteParameters,
) => write("PATCH", rowPath(sheet, rowIndex), parseRow, checked(changes), options);

export const updateRows = (sheet: string, rows: readonly object[], options: WriteParameters) =>
  write("PATCH", path(sheet), parseRows, checked(rows), options);

export const upsertRows = (
  sheet: string,
  rows: object,
  options: WriteParameters & { on: Names; ignoreExisting?: boolean },
) => {
  // Without `on` the gateway would create the rows.
  if (!options?.on?.length) {
    throw new TypeError("An upsert needs `on`. Pass the fields that identify a row.");
  }
  const parse: Parse<unknown> = Array.isArray(rows) ? parseUpserted : parseUpsertedRow;
  const target = withQuery(path(sheet), { on_conflict: names(options.on) });
  const prefer = options.ignoreExisting ? { Prefer: "resolution=ignore-duplicates" } : {};
  return write("POST", target, parse, checked(rows), options, prefer);
};

export const updateWhere = (
  sheet: string,
  where: object,
  changes: object,
  options: WriteParameters,
) => write("PATCH", filtered(sheet, where, options), parseAffected, checked(changes), options);

export const deleteRow = (sheet: string, rowIndex: number, options: WriteParameters) =>
  write("DELETE", rowPath(sheet, rowIndex), parseNothing, undefined, options);

export const deleteWhere = (sheet: string, where: object, options: WriteParameters) =>
  write("DELETE", filtered(sheet, where, options), parseAffected, undefined, options);

/** Requests to reread the rows. Needs no `Idempotency-Key`: it changes no row. */
export const refresh = (sheet: string): Call<void> => ({
  method: "POST",
  target: `${path(sheet)}/refresh`,
  parse: parseNothing,
  headers: {},
});

function read<Result>(
  target: string,
  parse: Parse<Result>,
  query: Record<string, Parameter>,
): Call<Result> {
  return { method: "GET", target: withQuery(target, query), parse, headers: {} };
}

function write<Result>(
  method: string,
  target: string,
  parse: Parse<Result>,
  content: object | undefined,
  options: WriteParameters,
  more: Readonly<Record<string, string>> = {},
): Call<Result> {
  const idempotencyKey = visible("idempotencyKey", options.idempotencyKey ?? newKey());
  const { ifMatch } = options;
  const headers = {
    ...more,
    "Idempotency-Key": idempotencyKey,
    ...(ifMatch === undefined ? {} : { "If-Match": visible("ifMatch", ifMatch, true) }),
    ...(content === undefined ? {} : { "Content-Type": "application/json" }),
  };
  const body = content === undefined ? {} : { body: encoded(content, true) };
  return { method, target, parse, headers, ...body, idempotencyKey };
}

/** Returns 32 random hex digits. Pages have `crypto.randomUUID` only on HTTPS and localhost. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function path(sheet: string): string {
  // The first three are paths of other resources; undefined would become the name "undefined".
  if (typeof sheet !== "string" || ["", ".", ".."].includes(sheet)) {
    throw new TypeError(
      `${JSON.stringify(sheet)} cannot be the name of a worksheet. Pass the name of a tab.`,
    );
  }
  return `${WORKSHEETS}/${encodeURIComponent(sheet)}`;
}

function rowPath(sheet: string, rowIndex: number): string {
  if (!Number.isInteger(rowIndex) || rowIndex < 1) {
    throw new TypeError("The row number must be an integer of at least 1.");
  }
  return `${path(sheet)}/${rowIndex}`;
}

function filtered(sheet: string, where: object, { maxAffected }: WriteParameters): string {
  if (!isRecord(where)) throw new TypeError(`A filter must be an object, such as ${EXAMPLE}.`);
  return withQuery(path(sheet), { where: encoded(where), "max-affected": maxAffected });
}

const EXAMPLE = '{ name: "Austin" }';
const isRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns `content` if it is a row or an array of rows, else throws TypeError. */
function checked(content: unknown): object {
  const rows: readonly unknown[] = Array.isArray(content) ? content : [content];
  if (!rows.every(isRecord)) {
    throw new TypeError(`A row must be an object of cell values, such as ${EXAMPLE}.`);
  }
  return content as object;
}

function withQuery(target: string, query: Record<string, Parameter>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const texts = given.map(([name, value]) => [name, String(value)]);
  return texts.length > 0 ? `${target}?${new URLSearchParams(texts)}` : target;
}

/** Encodes as a JSON array, because a field name can contain a comma. */
const names = (given: Names | undefined): string | undefined =>
  given && encoded(typeof given === "string" ? [given] : given);

/**
 * Encodes as JSON. Throws if a value cannot be a cell value; `JSON.stringify` would convert or drop
 * it. With `isWritten` undefined fields are omitted.
 */
function encoded(value: object, isWritten = false): string {
  const fields = new Map<unknown, string>(); // field name of each object, for error messages
  return JSON.stringify(value, function (this: Record<string, unknown>, name, each: unknown) {
    const isField = !Array.isArray(this) && !name.startsWith("$");
    const field = isField ? name : (fields.get(this) ?? "");
    if (typeof each === "object") fields.set(each, field);
    if (typeof each === "number" && !Number.isFinite(each)) {
      throw new RangeError(
        `${field}: ${each} cannot be a cell value. Pass null to empty the cell.`,
      );
    }
    const given = this[name]; // a Date, whose `each` is already a string
    if (given instanceof Date) {
      throw new TypeError(
        `${field}: a Date cannot be a cell value. Pass a string, such as "2026-01-02".`,
      );
    }
    if (typeof each === "function" && isInstance(this)) return undefined;
    const named = field && `${field}: `;
    if (each === undefined && !(isWritten && !Array.isArray(this))) {
      throw new TypeError(`${named}undefined is not a value. Pass null for an empty cell.`);
    }
    if (typeof each === "object" && each !== null && isInstance(each) && !hasFields(each)) {
      const { name: kind } = each.constructor; // such as a Map, whose JSON is {}
      throw new TypeError(`${named}a ${kind} has no fields of its own. Pass a plain object.`);
    }
    if (NO_VALUES.has(typeof each)) {
      throw new TypeError(
        `${field}: a ${typeof each} cannot be a cell value. Pass a string, number or boolean.`,
      );
    }
    return each;
  });
}

/** True for an instance of a class, whose functions are methods and not fields. */
function isInstance(holder: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(holder);
  if (Array.isArray(holder) || prototype === null) return false;
  return Object.getPrototypeOf(prototype) !== null; // plain objects also of another realm
}

const hasFields = (value: object): boolean => Object.keys(value).length > 0;

const NO_VALUES: ReadonlySet<string> = new Set(["bigint", "function", "symbol"]);

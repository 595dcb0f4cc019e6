// Parse answers: rows, pages, worksheets and errors.
//
// Rules
// - An error answer comes from the gateway if it is a JSON object with the gateway's `type`. Any
//   other answer comes from a proxy or another server, and says nothing about the outcome of a
//   write.
// - A member of an error with an unexpected type counts as absent.
// - A success without the members of the API also comes from another server.
// - A success whose media type is JSON, but not its body, is incomplete: a proxy truncated it.

import { NOT_FROM_GATEWAY, type ErrorBody, type Outcome, type Problem } from "./errors.js";
import type { Affected, AnyFields, Cell, Page, Row, UpsertedRow } from "./rows.js";
import type { Schema, Spreadsheet, Worksheet, WorksheetList } from "./worksheets.js";

/** A response with its whole body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** URL of the request, without its query. */
  readonly url: string;
}

export type Parse<Result> = (answer: Answer) => Result;

type Json = Record<string, unknown>;

/** A body that ends too early: a proxy, or Node, accepted an incomplete body as complete. */
export class CutShort extends Error {
  constructor() {
    super("the body ends too early");
  }
}

/** A success answer without the members of the API: it comes from another server. */
export class OtherShape extends Error {}

const ERROR_TYPE = "SheetsonError";
const NO_ROUTE = 4040;
const JSON_TYPE = /^[^;]*[/+]json\s*(;|$)/i;
const EXCERPT_CHARS = 200;
const OUTCOMES: readonly unknown[] = ["not_applied", "applied", "unknown"];

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

export const parseRow = (answer: Answer): Row<AnyFields> =>
  tagged(rowOf(objectOf(answer)), answer);

export const parseRows = (answer: Answer): Row<AnyFields>[] =>
  resultsOf(objectOf(answer)).map(rowOf);

export const parseUpserted = (answer: Answer): UpsertedRow<AnyFields>[] =>
  resultsOf(objectOf(answer)).map((record) => {
    if (!isObject(record)) throw new OtherShape("row");
    const { created, ...others } = record;
    if (typeof created !== "boolean") throw new OtherShape("created");
    return { ...rowOf(others), created };
  });

export function parseUpsertedRow(answer: Answer): UpsertedRow<AnyFields> {
  const [row, ...others] = parseUpserted(answer);
  if (row === undefined || others.length > 0) throw new OtherShape("results");
  return row;
}

export function parsePage(answer: Answer): Page<AnyFields> {
  const body = objectOf(answer);
  const { hasNextPage, total, cursor } = body;
  if (typeof hasNextPage !== "boolean") throw new OtherShape("hasNextPage");
  const rows = resultsOf(body).map(rowOf);
  if (cursor !== undefined && cursor !== null && typeof cursor !== "string") {
    throw new OtherShape("cursor");
  }
  return {
    rows,
    hasNextPage,
    ...(total === undefined ? {} : { total: numberOf(total) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

export function parseWorksheets(answer: Answer): WorksheetList {
  const { spreadsheet, sheets } = objectOf(answer);
  if (!isObject(spreadsheet)) throw new OtherShape("spreadsheet");
  if (!Array.isArray(sheets) || !sheets.every(isWorksheet)) throw new OtherShape("sheets");
  return { spreadsheet: spreadsheet as unknown as Spreadsheet, sheets };
}

const isWorksheet = (found: unknown): found is Worksheet =>
  isObject(found) &&
  typeof found["name"] === "string" &&
  Array.isArray(found["fields"]) &&
  found["fields"].every(isObject) &&
  Array.isArray(found["may"]);

export function parseSchema(answer: Answer): Schema<AnyFields> {
  const body = objectOf(answer);
  const { title, properties } = body;
  if (typeof title !== "string") throw new OtherShape("title");
  if (!isObject(properties) || !Object.values(properties).every(isObject)) {
    throw new OtherShape("properties");
  }
  return body as unknown as Schema<AnyFields>;
}

export const parseCsv = (answer: Answer): string => textOfType(answer, "text/csv");

export const parseNdjson = (answer: Answer): string => textOfType(answer, "application/x-ndjson");

/**
 * Throws CutShort if the export has fewer rows than announced. Node accepts an incomplete body as
 * complete if the answer has `Connection: close`.
 */
export function checkRows(text: string, { headers }: Answer, skip: number, limit: number): void {
  const total = Number(headers.get("x-total-count") ?? Number.NaN);
  const isCsv = headers.get("content-type")?.startsWith("text/csv");
  const lines = text.replace(isCsv ? /"[^"]*("|$)/g : /$^/, "").split("\n").length - 1;
  const rows = isCsv ? lines - 1 : lines; // without the header line
  if (rows < Math.min(total - skip, limit)) throw new CutShort();
}

/** Returns the body. Throws OtherShape if the answer has another media type. */
function textOfType({ headers, text }: Answer, mediaType: string): string {
  if (headers.get("content-type")?.split(";")[0] !== mediaType) throw new OtherShape(mediaType);
  return text;
}

export function parseAffected(answer: Answer): Affected {
  const body = objectOf(answer);
  const rowIndexes = resultsOf(body).map((each) => rowOf(each).rowIndex);
  return { count: numberOf(body["count"]), rowIndexes };
}

/** Throws OtherShape if the body is neither empty nor a JSON object. */
export function parseNothing(answer: Answer): void {
  if (answer.status !== 204) objectOf(answer);
}

/** Returns the error of an answer, also of another server; `now` is in ms since 1970. */
export function errorBody(answer: Answer, isWrite: boolean, now: number): ErrorBody {
  const body = jsonOf(answer);
  const retryAfterSeconds = retryAfter(answer.headers.get("retry-after"), now);
  if (isSuccess(answer) || !isObject(body) || body["type"] !== ERROR_TYPE) {
    return foreign(answer, isWrite, retryAfterSeconds);
  }
  const { code, outcome, existing, expected, met, rowIndex, errors } = body;
  const problems = Array.isArray(errors) ? errors.filter(isObject) : [];
  return {
    status: answer.status,
    code: typeof code === "number" ? code : 0,
    name: textOf(body["name"]),
    message: textOf(body["message"]) + (code === NO_ROUTE ? wrongPlace(answer) : ""),
    outcome: isWrite ? (OUTCOMES.includes(outcome) ? (outcome as Outcome) : "unknown") : undefined,
    retryable: body["retryable"] === true,
    requestId: textOf(body["requestId"]),
    errors: problems.map(({ pointer, detail }): Problem => ({
      pointer: textOf(pointer),
      detail: textOf(detail),
    })),
    existing: isRow(existing) ? tagged(rowOf(existing), answer) : undefined,
    expected: isRow(expected) ? rowOf(expected) : undefined,
    met: isRow(met) ? rowOf(met) : undefined,
    rowIndex: typeof rowIndex === "number" ? rowIndex : undefined,
    retryAfterSeconds,
  };
}

/** Returns `Retry-After` in seconds, or undefined if the header is absent or malformed. */
export function retryAfter(given: string | null, now: number): number | undefined {
  const text = given?.trim() ?? "";
  if (/^[0-9]+$/.test(text)) return Number(text);
  const date = /^[A-Za-z]{3}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}

const wrongPlace = ({ url }: Answer): string =>
  ` The request went to ${url}: remove /v2 and wrong paths from the base URL.`;

function foreign(answer: Answer, isWrite: boolean, wait: number | undefined): ErrorBody {
  const isRedirect = answer.status >= 300 && answer.status < 400;
  const target = isRedirect ? answer.headers.get("location") : null;
  const hint = target === null ? "Check" : `It redirects to ${target}: correct`;
  const excerpt = answer.text.slice(0, EXCERPT_CHARS).replace(/\s+/g, " ").trim();
  return {
    status: answer.status,
    code: 0,
    name: NOT_FROM_GATEWAY,
    message:
      `The answer from ${answer.url} is not from a sheets-gateway: status ${answer.status}. ` +
      `${hint} the base URL. The body begins: ${JSON.stringify(excerpt)}`,
    outcome: isWrite ? "unknown" : undefined,
    retryable: false,
    requestId: answer.headers.get("x-request-id") ?? "",
    errors: [],
    existing: undefined,
    expected: undefined,
    met: undefined,
    rowIndex: undefined,
    retryAfterSeconds: wait,
  };
}

function tagged(row: Row<AnyFields>, answer: Answer): Row<AnyFields> {
  const etag = answer.headers.get("etag");
  return etag === null ? row : { ...row, etag };
}

const isRow = (record: unknown): boolean =>
  isObject(record) && typeof record["rowIndex"] === "number";

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function rowOf(record: unknown): Row<AnyFields> {
  if (!isObject(record)) throw new OtherShape("row");
  const { rowIndex, ...fields } = record;
  return { rowIndex: numberOf(rowIndex), fields: fields as Record<string, Cell> };
}

function resultsOf(body: Json): unknown[] {
  const { results } = body;
  if (!Array.isArray(results)) throw new OtherShape("results");
  return results;
}

function numberOf(value: unknown): number {
  if (typeof value !== "number") throw new OtherShape("number");
  return value;
}

/** Returns the body. Throws CutShort if it is incomplete, OtherShape if it is another value. */
function objectOf(answer: Answer): Json {
  const body = jsonOf(answer);
  const isJson = JSON_TYPE.test(answer.headers.get("content-type") ?? "");
  if (body === undefined && isJson) throw new CutShort();
  if (!isObject(body)) throw new OtherShape("object");
  return body;
}

/** Returns the parsed body, or undefined if it is not JSON. */
function jsonOf(answer: Answer): unknown {
  try {
    return JSON.parse(answer.text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

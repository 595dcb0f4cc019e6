// The client of a spreadsheet: sends the requests of calls, and waits before each retry.

import type { Answer } from "./answers.js";
import { listWorksheets, type Call } from "./calls.js";
import { checked, visible } from "./options.js";
import {
  DEFAULT_RETRY,
  nextStep,
  type Broken,
  type Instant,
  type RetryOptions,
  type Tries,
} from "./retry.js";
import type { FieldsOf, Values } from "./rows.js";
import { Sheet, type CallOptions, type Send } from "./sheet.js";
import type { WorksheetList } from "./worksheets.js";

/** Clocks, random numbers and sleep, which tests replace. `sleep` rejects when `signal` aborts. */
export interface Timing {
  instant(): Instant;
  sleep(seconds: number, signal: AbortSignal | undefined): Promise<void>;
}

export interface SheetOptions<Given extends Values = Values> {
  /**
   * With "typed", cells are numbers, booleans and ISO dates instead of displayed text, and ISO
   * dates written to a date column become dates. By default the gateway's setting `api.values`
   * applies.
   */
  readonly values?: Given;
}

export interface SheetsOptions<Given extends Values = Values> extends SheetOptions<Given> {
  readonly baseUrl: string | URL;
  readonly apiKey: string;
  /** Not needed if the key is for a single spreadsheet. */
  readonly spreadsheetId?: string;
  /** Maximum time of one request. Default 90; the gateway waits a shorter time for Google. */
  readonly timeoutSeconds?: number;
  readonly retry?: Partial<RetryOptions>;
  readonly timing?: Timing;
}

const DEFAULT_TIMEOUT_SECONDS = 90;

/** The longest delay of `setTimeout`, 24.8 days; a longer delay would end at once. */
const LONGEST_MS = 2 ** 31 - 1;
const timerMs = (seconds: number): number => Math.min(seconds * 1000, LONGEST_MS);

/** Codes of Node's errors if no connection was made; errors of browsers have no code. */
const NOT_SENT: readonly unknown[] = [
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
];

const REAL_TIMING: Timing = {
  instant: () => ({ now: performance.now(), date: Date.now(), chance: Math.random() }),
  sleep: (seconds, signal) =>
    new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", end);
        resolve();
      }, timerMs(seconds));
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
    }),
};

export class Sheets<Default extends Values = "displayed"> {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #retry: RetryOptions;
  readonly #timing: Timing;
  readonly #values: Values | undefined;

  /** Throws TypeError for an invalid base URL, API key or spreadsheet ID, or an unknown option. */
  constructor(options: SheetsOptions<Default>) {
    const key = keyOf(options?.apiKey);
    const id: unknown = checked("client", options).spreadsheetId;
    const trimmed = typeof id === "string" ? id.trim() : id;
    this.#base = `${baseOf(options.baseUrl)}/v2/`;
    this.#headers = {
      Accept: "application/json",
      Authorization: `Bearer ${key}`,
      ...(id === undefined || id === ""
        ? {}
        : { "X-Spreadsheet-Id": visible("spreadsheetId", trimmed) }),
    };
    this.#timeoutMs = timerMs(options.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS);
    this.#retry = { ...DEFAULT_RETRY, ...checked("retry", options.retry ?? {}) };
    this.#timing = options.timing ?? REAL_TIMING;
    this.#values = options.values;
  }

  /**
   * Returns the worksheet `name`; its fields have the type `Fields`. `options.values` overrides the
   * client's. No request is sent.
   */
  sheet<Given extends Values = Default>(
    name: string,
    options?: SheetOptions<Given>,
  ): Sheet<FieldsOf<Given>>;
  sheet<Fields extends object>(name: string, options?: SheetOptions): Sheet<Fields>;
  sheet(name: string, options: SheetOptions = {}): Sheet<object> {
    const send: Send = (call, signal) => this.#run(call, signal);
    return new Sheet<object>(send, name, checked("sheet", options).values ?? this.#values);
  }

  /**
   * Returns the worksheets that the API key can access, with their fields and rights. Rejects with
   * SheetsError for an error answer, and with ConnectionFailed without an answer.
   */
  async worksheets(options: CallOptions = {}): Promise<WorksheetList> {
    return this.#run(listWorksheets(), checked("worksheets", options).signal);
  }

  async #run<Result>(call: Call<Result>, signal: AbortSignal | undefined): Promise<Result> {
    const timing = this.#timing;
    let tries: Tries = {
      options: this.#retry,
      startedAt: timing.instant().now,
      count: 0,
      isOpen: false,
    };
    for (;;) {
      const result = await this.#send(call, signal);
      const step = nextStep(call, tries, result, timing.instant());
      if ("value" in step) return step.value;
      await timing.sleep(step.seconds, signal);
      tries = step.tries;
    }
  }

  /** Sends one request. Throws the reason of an aborted `signal`, or TypeError for bad headers. */
  async #send(call: Call<unknown>, signal: AbortSignal | undefined): Promise<Answer | Broken> {
    signal?.throwIfAborted();
    const end = new AbortController();
    const abort = (): void => end.abort(signal?.reason);
    const request = new Request(this.#base + call.target, {
      method: call.method,
      headers: { ...this.#headers, ...call.headers },
      body: call.body ?? null,
      credentials: "omit",
      redirect: "manual", // following a redirect would turn a write into a read
      signal: end.signal,
    });
    const timer = setTimeout(() => end.abort(new Error("no answer in time")), this.#timeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    const url = request.url.replace(/\?.*$/, ""); // the query can contain cell values
    try {
      const response = await fetch(request);
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, url };
    } catch (error) {
      signal?.throwIfAborted();
      return { error, wasSent: !NOT_SENT.includes(codeOf(error)), url };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }
}

function keyOf(given: unknown): string {
  const key = typeof given === "string" ? given.trim() : "";
  if (!key) throw new TypeError("apiKey is missing. Pass a key of the gateway, such as sgw_…");
  // The error of `fetch` would show the key.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError('The API key is not visible ASCII text. Remove blanks and "Bearer".');
  }
  return key;
}

function baseOf(given: unknown): string {
  const base = typeof given === "string" || given instanceof URL ? String(given).trim() : "";
  if (!base) {
    throw new TypeError(
      "baseUrl is missing. Pass the URL of the gateway, such as http://127.0.0.1:8000",
    );
  }
  // The error of `URL` would show a password.
  if (/[@?#]/.test(base)) {
    throw new TypeError(
      'The base URL must not have a user name, query or fragment. Remove "@", "?" and "#".',
    );
  }
  try {
    const { href, protocol } = new URL(base);
    const isWeb = ["http:", "https:"].includes(protocol) && /^[a-z]+:\/\/[^/]/i.test(base);
    if (isWeb && !/\s/.test(base)) return href.replace(/\/+$/, "");
  } catch {
    // The error below has a better message.
  }
  throw new TypeError(
    `The base URL ${JSON.stringify(base)} is not valid. Pass http:// or https:// with a host, ` +
      "such as http://127.0.0.1:8000",
  );
}

function codeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? cause.code : undefined;
}

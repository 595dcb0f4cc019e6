// Decide after each request of a call: return the result, throw an error, or retry. Pure.
//
// A try is one request of a call.
//
// Rules
// - Repeating a request is always safe (see `calls`); retry only if the next try can succeed.
// - Retry an error of the gateway if it is `retryable`, or if the outcome of a write is unknown.
//   The gateway answers the repeated `Idempotency-Key` with the outcome of the first request.
// - Error 4090, "the first request with this key still runs", does not count as a try.
// - Retry an answer of another server by its status, and a broken connection always.
// - Wait at least `Retry-After`. If `Retry-After` exceeds `maxWaitSeconds`, the call ends at once.
// - After a try that might have been applied, the outcome stays `unknown` until a success, the
//   outcome `applied`, or the answer that the gateway stored for the key.

import { CutShort, errorBody, isSuccess, OtherShape, type Answer } from "./answers.js";
import type { Call } from "./calls.js";
import {
  ConnectionFailed,
  CursorLost,
  SheetsError,
  type ErrorBody,
  type SheetsFailure,
} from "./errors.js";

/** Limits of the requests that the client repeats. */
export interface RetryOptions {
  /** Maximum requests of a call, not counting answers with code 4090; 1 turns retries off. */
  readonly tries: number;
  /** Maximum time from the start of the first request to the start of the last. */
  readonly totalSeconds: number;
  /** Maximum wait between requests; a longer `Retry-After` ends the call. */
  readonly maxWaitSeconds: number;
  /** First wait if the answer has no `Retry-After`; it doubles with each request, with jitter. */
  readonly backoffSeconds: number;
}

export const DEFAULT_RETRY: RetryOptions = {
  tries: 5,
  totalSeconds: 180,
  maxWaitSeconds: 60,
  backoffSeconds: 0.5,
};

/** A request without a complete answer. */
export interface Broken {
  readonly error: unknown;
  /** True if the gateway might have received the request. */
  readonly wasSent: boolean;
  /** URL of the request, without its query. */
  readonly url: string;
}

/** The requests of a call so far; `startedAt` is in ms of the same clock as `Instant.now`. */
export interface Tries {
  readonly options: RetryOptions;
  readonly startedAt: number;
  readonly count: number;
  /** True if the gateway might have applied an earlier request. */
  readonly isOpen: boolean;
}

/** The time of a decision, and a random number for the jitter. */
export interface Instant {
  /** ms of a monotonic clock. */
  readonly now: number;
  /** ms since 1970, for a `Retry-After` that is a date. */
  readonly date: number;
  /** Random number from 0 to 1. */
  readonly chance: number;
}

export interface Wait {
  readonly seconds: number;
  readonly tries: Tries;
}

export type Step<Result> = { readonly value: Result } | Wait;

const FOREIGN_RETRIED: readonly number[] = [408, 429, 500, 502, 503, 504];
const IN_PROGRESS = 4090;
const CURSOR_LOST = 4101;

/**
 * Returns the result of the call, or the wait before the next try. Throws SheetsError or
 * ConnectionFailed if the call has failed.
 */
export function nextStep<Result>(
  call: Call<Result>,
  before: Tries,
  result: Answer | Broken,
  instant: Instant,
): Step<Result> {
  const isWrite = call.idempotencyKey !== undefined;
  if ("error" in result) {
    const tries = counted(before, isWrite && result.wasSent);
    return againOrThrow(noAnswer(call, tries, result), tries, instant, true, undefined);
  }
  if (isSuccess(result)) {
    try {
      return { value: call.parse(result) };
    } catch (error) {
      if (error instanceof CutShort) {
        const { url } = result;
        return nextStep(call, before, { error, wasSent: true, url }, instant);
      }
      if (!(error instanceof OtherShape)) throw error; // another server's answer, as of a proxy
    }
  }
  const body = errorBody(result, isWrite, instant.date);
  const tries = counted(before, body.outcome === "unknown", body.code !== IN_PROGRESS);
  const isSettled = body.outcome === "applied" || result.headers.has("idempotent-replayed");
  const outcome = tries.isOpen && !isSettled ? "unknown" : body.outcome;
  const Kind = body.code === CURSOR_LOST ? CursorLost : SheetsError;
  const error = new Kind(body, { outcome, idempotencyKey: call.idempotencyKey });
  return againOrThrow(error, tries, instant, canHelp(body), body.retryAfterSeconds);
}

const counted = (tries: Tries, isOpen: boolean, isFurther = true): Tries => ({
  ...tries,
  count: Math.max(1, tries.count + Number(isFurther)),
  isOpen: tries.isOpen || isOpen,
});

function noAnswer(call: Call<unknown>, tries: Tries, { error, url }: Broken): ConnectionFailed {
  const { method, idempotencyKey } = call;
  const open = tries.isOpen ? "unknown" : "not_applied";
  const outcome = idempotencyKey === undefined ? undefined : open;
  const message = `No answer to ${method} ${url} at try ${tries.count}: ${reasonOf(error)}`;
  return new ConnectionFailed(message, { outcome, idempotencyKey }, { cause: error });
}

/** Message of the error, with the message of its cause: Node's own message is "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause, message } = error;
  if (!(cause instanceof Error)) return message;
  const code = "code" in cause ? String(cause.code) : cause.name;
  return `${message}, ${cause.message || code}`;
}

const canHelp = (body: ErrorBody): boolean =>
  body.code === 0
    ? FOREIGN_RETRIED.includes(body.status)
    : body.retryable || body.outcome === "unknown";

function againOrThrow(
  failure: SheetsFailure,
  tries: Tries,
  { now, chance }: Instant,
  isUseful: boolean,
  atLeastSeconds = 0,
): Wait {
  const { options, count, startedAt } = tries;
  const longest = options.backoffSeconds * 2 ** (count - 1);
  const backoff = Math.min(longest, options.maxWaitSeconds) * (0.5 + chance / 2);
  const seconds = Math.max(backoff, atLeastSeconds);
  const isInTime = now + seconds * 1000 <= startedAt + options.totalSeconds * 1000;
  const isShort = seconds <= options.maxWaitSeconds;
  if (!(isUseful && isInTime && isShort && count < options.tries)) throw failure;
  return { seconds, tries };
}

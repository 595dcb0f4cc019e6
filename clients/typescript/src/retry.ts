// The step after a try: the result, an error, or another try after a wait. Pure.
//
// Rules
// - Every call may be sent again (`calls`), so the question is only whether that can help.
// - An answer of the gateway is tried again if it is `retryable`, or if the outcome of a write is
//   unknown: the repeated key then finds the outcome of the first request.
// - While the first request of a key is under way (4090), asking for its answer is no further try.
// - Answers of others are tried again by their status, a broken connection always.
// - A wait is at least `Retry-After`. If that is over the limit, the call ends at once: a shorter
//   wait would only be refused again.
// - After a try that may have been applied, only its own answer settles the outcome: a success, an
//   `applied`, or an answer that the gateway repeats for the key.

import { CutShort, errorBody, isSuccess, OtherShape, type Answer } from "./answers.js";
import type { Call } from "./calls.js";
import {
  ConnectionFailed,
  CursorLost,
  SheetsError,
  type ErrorBody,
  type SheetsFailure,
} from "./errors.js";

/** Limits of repeating. */
export interface RetryOptions {
  /** At most so many requests for a call, without those answered 4090; 1 turns repeating off. */
  readonly tries: number;
  /** No try starts later than this after the first. */
  readonly totalSeconds: number;
  /** A longer `Retry-After` ends the call. */
  readonly maxWaitSeconds: number;
  /** The first wait without `Retry-After`; each further one is twice as long, with jitter. */
  readonly backoffSeconds: number;
}

export const DEFAULT_RETRY: RetryOptions = {
  tries: 5,
  totalSeconds: 180,
  maxWaitSeconds: 60,
  backoffSeconds: 0.5,
};

/** A try without an answer; `wasSent`: the gateway may have received the request. */
export interface Broken {
  readonly error: unknown;
  readonly wasSent: boolean;
  /** Where the request went, without its query. */
  readonly url: string;
}

/** The tries of a call so far; `startedAt` in ms of the same clock as `now`. */
export interface Tries {
  readonly options: RetryOptions;
  readonly startedAt: number;
  readonly count: number;
  /** True if a try may have been applied. */
  readonly isOpen: boolean;
}

/** The time and the chance of one decision. */
export interface Instant {
  /** ms of a clock that is never set. */
  readonly now: number;
  /** ms since 1970. */
  readonly date: number;
  /** From 0 to 1. */
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

/** The step after this result. Throws SheetsError or ConnectionFailed if nothing does. */
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
      if (!(error instanceof OtherShape)) throw error; // else a page in place of the answer
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

/** The cause, where there is one: the message of Node is "fetch failed" alone. */
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

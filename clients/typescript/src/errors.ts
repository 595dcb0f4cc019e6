// Errors of the client.
//
//     SheetsFailure
//     ├── SheetsError        an error answer
//     │   └── CursorLost     the gateway cannot find the next page
//     └── ConnectionFailed   no answer to the last request
//
// `outcome` is the result of a write over all its requests; it is undefined for a read. If the
// gateway might have applied one request, a later error answer does not prove the contrary, so
// `outcome` stays `unknown`.

import type { TypedFields, Row } from "./rows.js";

export type Outcome = "not_applied" | "applied" | "unknown";

/** `name` of an error answer that a proxy or another server sent; its `code` is 0. */
export const NOT_FROM_GATEWAY = "NotFromGateway";

/** An invalid value in a request body. */
export interface Problem {
  /** JSON Pointer to the value as a URI fragment, such as `#/population`. */
  readonly pointer: string;
  /** Why the value is invalid. */
  readonly detail: string;
}

/** The error of one answer; `outcome` does not consider earlier requests of the call. */
export interface ErrorBody {
  readonly status: number;
  readonly code: number;
  readonly name: string;
  readonly message: string;
  readonly outcome: Outcome | undefined;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly errors: readonly Problem[];
  readonly existing: Row<TypedFields> | undefined;
  readonly expected: Row<TypedFields> | undefined;
  readonly met: Row<TypedFields> | undefined;
  readonly rowIndex: number | undefined;
  readonly retryAfterSeconds: number | undefined;
}

/** Outcome of a failed call, and the key of the failed write, with which to repeat the write. */
export interface Fate {
  readonly outcome: Outcome | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Base class of the client's errors. Pass `idempotencyKey` to repeat the failed write later. */
export class SheetsFailure extends Error {
  readonly outcome: Outcome | undefined;
  readonly idempotencyKey: string | undefined;

  constructor(message: string, fate: Fate, options?: ErrorOptions) {
    super(message, options);
    this.outcome = fate.outcome;
    this.idempotencyKey = fate.idempotencyKey;
  }

  /** True if the gateway applied the write or might have applied it. */
  get mayBeApplied(): boolean {
    return this.outcome === "applied" || this.outcome === "unknown";
  }
}

/**
 * An error answer. `code` identifies the error and never changes its meaning. `code` is 0 if the
 * answer comes from another server, such as the HTML page of a proxy.
 */
export class SheetsError extends SheetsFailure {
  readonly status: number;
  readonly code: number;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly errors: readonly Problem[];
  /** The current row, if its ETag differs from `ifMatch` (code 4120). */
  readonly existing: Row<TypedFields> | undefined;
  /** The planned record, if the write changed another record (code 4095). */
  readonly expected: Row<TypedFields> | undefined;
  /** The record that the write changed or deleted instead (code 4095); undefined if unknown. */
  readonly met: Row<TypedFields> | undefined;
  /**
   * Number of the written row, if the header changed during the write (code 4091) or the row held
   * another record (code 4095).
   */
  readonly rowIndex: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(body: ErrorBody, fate: Fate) {
    super(body.message, fate);
    this.name = body.name;
    this.status = body.status;
    this.code = body.code;
    this.retryable = body.retryable;
    this.requestId = body.requestId;
    this.errors = body.errors;
    this.existing = body.existing;
    this.expected = body.expected;
    this.met = body.met;
    this.rowIndex = body.rowIndex;
    this.retryAfterSeconds = body.retryAfterSeconds;
  }
}

/**
 * The gateway cannot find the next page (code 4101): start again with the first page. The rows
 * returned so far are correct, but rows can be missing after them. The client does not start again
 * itself, because the caller has already used those rows.
 */
export class CursorLost extends SheetsError {}

/**
 * No answer to the last request: connection refused, connection lost, or timeout. `cause` is the
 * error of `fetch`.
 */
export class ConnectionFailed extends SheetsFailure {
  override readonly name = "ConnectionFailed";
}

// Errors of the client, as a tree.
//
//     SheetsFailure
//     ├── SheetsError        an answer that is an error
//     │   └── CursorLost     the place of the next page is lost
//     └── ConnectionFailed   no answer at the last try
//
// `outcome` is that of the whole call, over all of its tries: undefined for a read. If one try may
// have been applied, a later refusal does not prove the contrary, so the outcome stays `unknown`.

import type { TypedFields, Row } from "./rows.js";

export type Outcome = "not_applied" | "applied" | "unknown";

/** The name of an answer that is not the gateway's; its code is 0. */
export const NOT_FROM_GATEWAY = "NotFromGateway";

/** A mistake at one place of a body: a JSON pointer as a URI fragment, and the reason. */
export interface Problem {
  readonly pointer: string;
  readonly detail: string;
}

/** The error in an answer, before the tries of the call are considered. */
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

/** The failure of a call; `idempotencyKey` is the write's, to repeat it later. */
export interface Fate {
  readonly outcome: Outcome | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Root of the tree. */
export class SheetsFailure extends Error {
  readonly outcome: Outcome | undefined;
  readonly idempotencyKey: string | undefined;

  constructor(message: string, fate: Fate, options?: ErrorOptions) {
    super(message, options);
    this.outcome = fate.outcome;
    this.idempotencyKey = fate.idempotencyKey;
  }

  /** True if the write was applied, or may have been. */
  get mayBeApplied(): boolean {
    return this.outcome === "applied" || this.outcome === "unknown";
  }
}

/**
 * An answer that is an error; `code` says which, and never changes its meaning. An answer that is
 * not the gateway's, such as a proxy's page, has the code 0.
 */
export class SheetsError extends SheetsFailure {
  readonly status: number;
  readonly code: number;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly errors: readonly Problem[];
  /** The current row, if it differs from `ifMatch` (code 4120). */
  readonly existing: Row<TypedFields> | undefined;
  /** The record that a conditional write was meant for, if it met another one (code 4095). */
  readonly expected: Row<TypedFields> | undefined;
  /** The record that it changed or removed (code 4095); undefined if that is not known. */
  readonly met: Row<TypedFields> | undefined;
  /**
   * The written row, if its header changed under the write (code 4091) or it held another record
   * (code 4095).
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
 * The place of the next page cannot be found again (code 4101): begin with the first page. The rows
 * that were given so far remain right, but the other ones are not known. No client begins again by
 * itself, because its caller has used these rows.
 */
export class CursorLost extends SheetsError {}

/** No answer at the last try: refused, broken, or too late; `cause` is the error of `fetch`. */
export class ConnectionFailed extends SheetsFailure {
  override readonly name = "ConnectionFailed";
}

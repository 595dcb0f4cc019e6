// A worksheet, with one method for each operation of the API.

import * as calls from "./calls.js";
import type { Call } from "./calls.js";
import { checked } from "./options.js";
import type {
  Affected,
  AnyFields,
  Changes,
  NumberedChanges,
  Order,
  Page,
  Row,
  UpsertedRow,
  Values,
  Where,
} from "./rows.js";
import type { Schema } from "./worksheets.js";

/** Aborting `signal` ends the call, also during a wait before a retry. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The rows and fields to read. */
export interface RowsOptions<Fields, Name> extends CallOptions {
  readonly where?: Where<Fields>;
  readonly order?: Order<Fields> | readonly Order<Fields>[];
  /** The fields to return; by default all fields. */
  readonly keys?: readonly Name[];
}

export interface ListOptions<Fields, Name> extends RowsOptions<Fields, Name> {
  readonly limit?: number;
  readonly skip?: number;
  /** `""` for the first page, and then the `cursor` of the page before. */
  readonly cursor?: string;
  readonly count?: boolean;
  readonly noCache?: boolean;
}

export interface AllRowsOptions<Fields, Name> extends RowsOptions<Fields, Name> {
  /** Maximum rows per page; 100 by default. The gateway can return smaller pages. */
  readonly pageSize?: number;
  /** Rows to skip. Pages then go by position: insertions and deletions cause missing rows. */
  readonly skip?: number;
}

export interface ExportOptions<Fields, Name> extends RowsOptions<Fields, Name> {
  readonly limit?: number;
  readonly skip?: number;
}

export interface GetOptions<Name> extends CallOptions {
  readonly keys?: readonly Name[];
  readonly noCache?: boolean;
}

export interface WriteOptions extends CallOptions {
  /**
   * Pass a key to repeat a write safely, also after a restart: within 24 hours the gateway does the
   * same write with the same key once. By default each call has a new key.
   */
  readonly idempotencyKey?: string;
}

export interface RowWriteOptions extends WriteOptions {
  /** The expected `etag` of the row. If the row has another one, the write fails with code 4120. */
  readonly ifMatch?: string;
}

export interface FilterWriteOptions extends WriteOptions {
  /** Maximum number of matching rows; if more rows match, no row is written. */
  readonly maxAffected?: number;
}

export interface UpsertOptions<Name> extends WriteOptions {
  /** The fields that identify a row. */
  readonly on: Name | readonly Name[];
  /** True to leave existing rows unchanged. */
  readonly ignoreExisting?: boolean;
}

export type Send = <Result>(call: Call<Result>, signal: AbortSignal | undefined) => Promise<Result>;

const PAGE_SIZE = 100;

/**
 * A worksheet. All methods reject with SheetsError for an error answer, and with ConnectionFailed
 * without an answer.
 */
export class Sheet<Fields extends object = AnyFields> {
  readonly name: string;
  readonly #send: Send;
  readonly #values: Values | undefined;

  constructor(send: Send, name: string, values?: Values) {
    this.#send = send;
    this.name = name;
    this.#values = values;
  }

  /** Returns one page. Rejects with CursorLost if the gateway cannot find the page of `cursor`. */
  async list<Name extends keyof Fields & string = keyof Fields & string>(
    options: ListOptions<Fields, Name> = {},
  ): Promise<Page<Pick<Fields, Name>>> {
    const { signal, ...parameters } = checked("list", options);
    const page: Page<unknown> = await this.#run(calls.listRows(this.name, parameters), signal);
    return page as Page<Pick<Fields, Name>>;
  }

  /**
   * Yields all rows. No row is missed or repeated, unless its values of `order` change. Rejects
   * with CursorLost if the rows at the end of a page changed too much: start again. Collect the
   * rows before you change them, because changes inside the loop count, too.
   */
  async *rows<Name extends keyof Fields & string = keyof Fields & string>(
    options: AllRowsOptions<Fields, Name> = {},
  ): AsyncGenerator<Row<Pick<Fields, Name>>, void, undefined> {
    const { pageSize = PAGE_SIZE, skip, ...wanted } = checked("rows", options);
    if (!(pageSize >= 1)) throw new TypeError("pageSize must be at least 1.");
    let place: calls.Place | undefined = skip === undefined ? { cursor: "" } : { skip };
    while (place !== undefined) {
      const page: Page<Pick<Fields, Name>> = await this.list<Name>({
        ...wanted,
        ...place,
        limit: pageSize,
      });
      yield* page.rows;
      place = calls.nextPlace(place, page);
    }
  }

  /**
   * Returns all matching rows as CSV or NDJSON text, read from one version of the worksheet. The
   * text is complete: a lost connection is retried, and then rejects with ConnectionFailed.
   */
  async export<Name extends keyof Fields & string = keyof Fields & string>(
    format: calls.ExportFormat = "csv",
    options: ExportOptions<Fields, Name> = {},
  ): Promise<string> {
    const { signal, ...parameters } = checked("export", options);
    return this.#run(calls.exportRows(this.name, format, parameters), signal);
  }

  /** Returns one row. */
  async get<Name extends keyof Fields & string = keyof Fields & string>(
    rowIndex: number,
    options: GetOptions<Name> = {},
  ): Promise<Row<Pick<Fields, Name>>> {
    const { signal, ...parameters } = checked("get", options);
    const call = calls.getRow(this.name, rowIndex, parameters);
    const row: Row<unknown> = await this.#run(call, signal);
    return row as Row<Pick<Fields, Name>>;
  }

  /** Appends one row, or up to 500 rows: all of them or none. Returns the new rows. */
  create(row: Changes<Fields>, options?: WriteOptions): Promise<Row<Partial<Fields>>>;
  create(
    rows: readonly Changes<Fields>[],
    options?: WriteOptions,
  ): Promise<Row<Partial<Fields>>[]>;
  async create(rows: object, options: WriteOptions = {}): Promise<unknown> {
    checked("write", options);
    return Array.isArray(rows)
      ? this.#run<unknown>(calls.createRows(this.name, rows, options), options.signal)
      : this.#run<unknown>(calls.createRow(this.name, rows, options), options.signal);
  }

  /** Writes the fields in `changes`, and returns the row with the fields written. */
  async update(
    rowIndex: number,
    changes: Changes<Fields>,
    options: RowWriteOptions = {},
  ): Promise<Row<Partial<Fields>>> {
    const call = calls.updateRow(this.name, rowIndex, changes, checked("rowWrite", options));
    const row: Row<unknown> = await this.#run(call, options.signal);
    return row as Row<Partial<Fields>>;
  }

  /** Updates up to 500 rows: all or none. Each has `rowIndex` and the fields to write. */
  async updateMany(
    rows: readonly NumberedChanges<Fields>[],
    options: WriteOptions = {},
  ): Promise<Row<Partial<Fields>>[]> {
    const call = calls.updateRows(this.name, rows, checked("write", options));
    const updated: Row<unknown>[] = await this.#run(call, options.signal);
    return updated as Row<Partial<Fields>>[];
  }

  /** Updates existing rows with the same values in the fields `on`, and appends the other rows. */
  upsert(
    row: Changes<Fields>,
    options: UpsertOptions<keyof Fields & string>,
  ): Promise<UpsertedRow<Partial<Fields>>>;
  upsert(
    rows: readonly Changes<Fields>[],
    options: UpsertOptions<keyof Fields & string>,
  ): Promise<UpsertedRow<Partial<Fields>>[]>;
  async upsert(rows: object, options: UpsertOptions<keyof Fields & string>): Promise<unknown> {
    const call = calls.upsertRows(this.name, rows, options);
    return this.#run(call, checked("upsert", options).signal);
  }

  /** Writes `changes` to all matching rows. */
  async updateWhere(
    where: Where<Fields>,
    changes: Changes<Fields>,
    options: FilterWriteOptions = {},
  ): Promise<Affected> {
    const call = calls.updateWhere(this.name, where, changes, checked("filterWrite", options));
    return this.#run(call, options.signal);
  }

  /** Deletes a row. The rows below move up, unless the gateway is set to only clear rows. */
  async delete(rowIndex: number, options: RowWriteOptions = {}): Promise<void> {
    const call = calls.deleteRow(this.name, rowIndex, checked("rowWrite", options));
    return this.#run(call, options.signal);
  }

  /** Deletes all matching rows. */
  async deleteWhere(where: Where<Fields>, options: FilterWriteOptions = {}): Promise<Affected> {
    const call = calls.deleteWhere(this.name, where, checked("filterWrite", options));
    return this.#run(call, options.signal);
  }

  /** Returns the JSON Schema of typed rows. It is inferred, so later rows can differ. */
  async schema(options: CallOptions = {}): Promise<Schema<Fields>> {
    const { signal } = checked("schema", options);
    const found: Schema<unknown> = await this.#send(calls.schema(this.name), signal);
    return found as Schema<Fields>;
  }

  /** Makes the next request reread the rows. Needs a key created with `--refresh`. */
  async refresh(options: CallOptions = {}): Promise<void> {
    return this.#send(calls.refresh(this.name), checked("refresh", options).signal);
  }

  #run<Result>(call: Call<Result>, signal: AbortSignal | undefined): Promise<Result> {
    return this.#send(calls.withValues(call, this.#values), signal);
  }
}

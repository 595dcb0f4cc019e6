// A worksheet: one method for each operation of the API.

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

/** `signal` ends the call, also while it waits between tries. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Which rows and fields to read. */
export interface RowsOptions<Fields, Name> extends CallOptions {
  readonly where?: Where<Fields>;
  readonly order?: Order<Fields> | readonly Order<Fields>[];
  /** The fields to return; all by default. */
  readonly keys?: readonly Name[];
}

export interface ListOptions<Fields, Name> extends RowsOptions<Fields, Name> {
  readonly limit?: number;
  readonly skip?: number;
  /** `""` for the first page, then the `cursor` of each page. */
  readonly cursor?: string;
  readonly count?: boolean;
  readonly noCache?: boolean;
}

export interface AllRowsOptions<Fields, Name> extends RowsOptions<Fields, Name> {
  /** 100 by default; a smaller page of the gateway's does no harm. */
  readonly pageSize?: number;
  /** Pages by position from there: they miss or repeat rows if others are inserted or deleted. */
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
   * Makes a write of the caller safe to repeat, also after a restart: the same key with the same
   * arguments writes once in 24 hours. Each call makes its own by default.
   */
  readonly idempotencyKey?: string;
}

export interface RowWriteOptions extends WriteOptions {
  /** The `etag` that the row must still have; else 412 with code 4120. */
  readonly ifMatch?: string;
}

export interface FilterWriteOptions extends WriteOptions {
  /** If more rows match, nothing is written. */
  readonly maxAffected?: number;
}

export interface UpsertOptions<Name> extends WriteOptions {
  /** The fields that identify a row. */
  readonly on: Name | readonly Name[];
  /** Leave existing rows as they are. */
  readonly ignoreExisting?: boolean;
}

export type Send = <Result>(call: Call<Result>, signal: AbortSignal | undefined) => Promise<Result>;

const PAGE_SIZE = 100;

/** All methods reject with SheetsError, or with ConnectionFailed without an answer. */
export class Sheet<Fields extends object = AnyFields> {
  readonly name: string;
  readonly #send: Send;
  readonly #values: Values | undefined;

  constructor(send: Send, name: string, values?: Values) {
    this.#send = send;
    this.name = name;
    this.#values = values;
  }

  /** One page. */
  async list<Name extends keyof Fields & string = keyof Fields & string>(
    options: ListOptions<Fields, Name> = {},
  ): Promise<Page<Pick<Fields, Name>>> {
    const { signal, ...parameters } = checked("list", options);
    const page: Page<unknown> = await this.#run(calls.listRows(this.name, parameters), signal);
    return page as Page<Pick<Fields, Name>>;
  }

  /**
   * All rows, page by page, by cursor: of rows whose `order` values stay, none is missing. Rejects
   * with CursorLost if the rows at the end of a page changed too much: begin again. Changes by the
   * loop itself count, too: collect the rows first, then change them.
   */
  async *rows<Name extends keyof Fields & string = keyof Fields & string>(
    options: AllRowsOptions<Fields, Name> = {},
  ): AsyncGenerator<Row<Pick<Fields, Name>>, void, undefined> {
    const { pageSize = PAGE_SIZE, skip, ...wanted } = checked("rows", options);
    if (!(pageSize >= 1)) throw new TypeError("pageSize is not a number of rows from 1.");
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
   * The text of all rows that match, of one state of the worksheet: CSV, or NDJSON with a JSON
   * object in each line. A connection that is cut is tried again, then it rejects with
   * ConnectionFailed: a part is never returned.
   */
  async export<Name extends keyof Fields & string = keyof Fields & string>(
    format: calls.ExportFormat = "csv",
    options: ExportOptions<Fields, Name> = {},
  ): Promise<string> {
    const { signal, ...parameters } = checked("export", options);
    return this.#run(calls.exportRows(this.name, format, parameters), signal);
  }

  async get<Name extends keyof Fields & string = keyof Fields & string>(
    rowIndex: number,
    options: GetOptions<Name> = {},
  ): Promise<Row<Pick<Fields, Name>>> {
    const { signal, ...parameters } = checked("get", options);
    const call = calls.getRow(this.name, rowIndex, parameters);
    const row: Row<unknown> = await this.#run(call, signal);
    return row as Row<Pick<Fields, Name>>;
  }

  /** Append a row, or up to 500: all or none. */
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

  /** Write these fields; the answer has them as they are now. */
  async update(
    rowIndex: number,
    changes: Changes<Fields>,
    options: RowWriteOptions = {},
  ): Promise<Row<Partial<Fields>>> {
    const call = calls.updateRow(this.name, rowIndex, changes, checked("rowWrite", options));
    const row: Row<unknown> = await this.#run(call, options.signal);
    return row as Row<Partial<Fields>>;
  }

  /** Update up to 500 rows, each with its `rowIndex` beside its fields: all or none. */
  async updateMany(
    rows: readonly NumberedChanges<Fields>[],
    options: WriteOptions = {},
  ): Promise<Row<Partial<Fields>>[]> {
    const call = calls.updateRows(this.name, rows, checked("write", options));
    const updated: Row<unknown>[] = await this.#run(call, options.signal);
    return updated as Row<Partial<Fields>>[];
  }

  /** Update the rows that have the same values in the fields `on`, and create the others. */
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

  /** Write these fields to all rows that match. */
  async updateWhere(
    where: Where<Fields>,
    changes: Changes<Fields>,
    options: FilterWriteOptions = {},
  ): Promise<Affected> {
    const call = calls.updateWhere(this.name, where, changes, checked("filterWrite", options));
    return this.#run(call, options.signal);
  }

  /** Delete a row; those below move up, unless the gateway empties deleted rows. */
  async delete(rowIndex: number, options: RowWriteOptions = {}): Promise<void> {
    const call = calls.deleteRow(this.name, rowIndex, checked("rowWrite", options));
    return this.#run(call, options.signal);
  }

  /** Delete all rows that match. */
  async deleteWhere(where: Where<Fields>, options: FilterWriteOptions = {}): Promise<Affected> {
    const call = calls.deleteWhere(this.name, where, checked("filterWrite", options));
    return this.#run(call, options.signal);
  }

  /** The JSON Schema of the fields of a typed row, by the first rows: others may differ. */
  async schema(options: CallOptions = {}): Promise<Schema<Fields>> {
    const { signal } = checked("schema", options);
    const found: Schema<unknown> = await this.#send(calls.schema(this.name), signal);
    return found as Schema<Fields>;
  }

  /** Let the next request reread the rows; needs a key made with `--refresh`. */
  async refresh(options: CallOptions = {}): Promise<void> {
    return this.#send(calls.refresh(this.name), checked("refresh", options).signal);
  }

  #run<Result>(call: Call<Result>, signal: AbortSignal | undefined): Promise<Result> {
    return this.#send(calls.withValues(call, this.#values), signal);
  }
}

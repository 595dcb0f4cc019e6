// Rows, pages and filters of the client.

/** A cell value to write; `null` empties the cell. */
export type Value = string | number | boolean | null;

/** The displayed text of a cell, or `null` if the cell is empty. */
export type Cell = string | null;

/** Whether cells are displayed text, or numbers, booleans, ISO dates and strings. */
export type Values = "displayed" | "typed";

/** Fields with displayed text, if the compiler does not know the field names. */
export type AnyFields = Record<string, Cell>;

/** Fields with typed values. Dates are ISO strings; empty cells and errors are `null`. */
export type TypedFields = Record<string, Value>;

export type FieldsOf<Given extends Values> = Given extends "typed" ? TypedFields : AnyFields;

/**
 * The fields to write; other fields of the row stay unchanged. A field of strings takes all values.
 * A field of numbers or booleans takes its own values; `null` and `""` empty the cell.
 */
export type Changes<Fields> = {
  readonly [Name in keyof Fields]?: Fields[Name] extends Cell ? Value : Fields[Name] | null | "";
};

/** The fields to write, and the number of their row. */
export type NumberedChanges<Fields> = Changes<Fields> & { readonly rowIndex: number };

export interface Row<Fields> {
  /** Row number in the worksheet; the first record is row 2. */
  readonly rowIndex: number;
  readonly fields: Fields;
  /** ETag of the whole row, for `ifMatch`; absent in lists and in writes of several rows. */
  readonly etag?: string;
}

export interface UpsertedRow<Fields> extends Row<Fields> {
  /** True if the upsert created the row, false if the row existed. */
  readonly created: boolean;
}

export interface Page<Fields> {
  readonly rows: readonly Row<Fields>[];
  readonly hasNextPage: boolean;
  /** Number of matching rows on all pages; absent without `count: true`. */
  readonly total?: number;
  /** Cursor of the next page; null after the last page, absent in lists without `cursor`. */
  readonly cursor?: string | null;
}

/** The rows that a write by filter changed or deleted. */
export interface Affected {
  readonly count: number;
  /** Row numbers before the write. */
  readonly rowIndexes: readonly number[];
}

export interface Operators {
  readonly $eq?: Value;
  readonly $ne?: Value;
  readonly $neq?: Value;
  readonly $lt?: Value;
  readonly $lte?: Value;
  readonly $gt?: Value;
  readonly $gte?: Value;
  readonly $in?: readonly Value[];
  readonly $nin?: readonly Value[];
  readonly $text?: string;
  readonly $exists?: boolean;
  readonly $not?: Operators | Value;
}

/** A filter. The compiler checks its field names if `Fields` has them. */
export type Where<Fields> = string extends keyof Fields
  ? Readonly<Record<string, unknown>>
  : { readonly [Name in keyof Fields | "rowIndex"]?: Value | Operators } & {
      readonly $and?: readonly Where<Fields>[];
      readonly $or?: readonly Where<Fields>[];
      readonly $not?: Where<Fields>;
    };

type Name<Fields> = keyof Fields & string;

/** A field to sort by; `-` before the name sorts descending. */
export type Order<Fields> = Name<Fields> | `-${Name<Fields>}` | "rowIndex" | "-rowIndex";

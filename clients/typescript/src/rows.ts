// Rows and pages, as values of the client.

/** A value to write. Strings stay text; `null` empties the cell. */
export type Value = string | number | boolean | null;

/** The displayed text of a cell; `null` if it is empty. */
export type Cell = string | null;

/** Cells as they are displayed, or as numbers, booleans, ISO dates and texts. */
export type Values = "displayed" | "typed";

/** Fields of a worksheet whose names are not known to the compiler. */
export type AnyFields = Record<string, Cell>;

/** The same with typed cells; a date is an ISO text, an empty cell or an error `null`. */
export type TypedFields = Record<string, Value>;

export type FieldsOf<Given extends Values> = Given extends "typed" ? TypedFields : AnyFields;

/** The fields to write; all others stay. */
export type Changes<Fields> = { readonly [Name in keyof Fields]?: Value };

/** The fields to write, and the row that they belong to. */
export type NumberedChanges<Fields> = Changes<Fields> & { readonly rowIndex: number };

export interface Row<Fields> {
  /** The row's number in the worksheet: the first record is row 2. */
  readonly rowIndex: number;
  readonly fields: Fields;
  /** State of the whole row, for `ifMatch`. Lists and writes of several rows have none. */
  readonly etag?: string;
}

export interface UpsertedRow<Fields> extends Row<Fields> {
  /** True if the row is new. */
  readonly created: boolean;
}

export interface Page<Fields> {
  readonly rows: readonly Row<Fields>[];
  readonly hasNextPage: boolean;
  /** With `count: true`: the number of rows that match, on any page. */
  readonly total?: number;
  /** With `cursor`: that of the next page; null after the last one. */
  readonly cursor?: string | null;
}

/** Rows of a write by filter; the numbers are those before the write. */
export interface Affected {
  readonly count: number;
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

/** A filter; its names are checked if those of the fields are known. */
export type Where<Fields> = string extends keyof Fields
  ? Readonly<Record<string, unknown>>
  : { readonly [Name in keyof Fields | "rowIndex"]?: Value | Operators } & {
      readonly $and?: readonly Where<Fields>[];
      readonly $or?: readonly Where<Fields>[];
      readonly $not?: Where<Fields>;
    };

type Name<Fields> = keyof Fields & string;

/** A field to sort by; `-` turns the order round. */
export type Order<Fields> = Name<Fields> | `-${Name<Fields>}` | "rowIndex" | "-rowIndex";

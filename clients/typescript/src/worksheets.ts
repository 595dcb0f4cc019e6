// Worksheets and the schemas of their rows, as values of the client.

import type { Value } from "./rows.js";

export type FieldType = "number" | "boolean" | "date" | "date-time" | "time" | "text";
export type Right = "read" | "create" | "update" | "delete";

/** A field of a worksheet; its type is that of the first cells, and later ones may differ. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
}

/** A worksheet, as far as the key sees it. */
export interface Worksheet {
  readonly name: string;
  /** The number of records; null if they were not read within the last minute. */
  readonly rows: number | null;
  readonly fields: readonly Field[];
  /** The rights of the key. */
  readonly may: readonly Right[];
}

/** A spreadsheet; the dates and times of its cells are of its time zone. */
export interface Spreadsheet {
  readonly id: string;
  readonly title: string;
  readonly locale: string;
  readonly timeZone: string;
}

/** The worksheets that the key sees, in the order of their tabs. */
export interface WorksheetList {
  readonly spreadsheet: Spreadsheet;
  readonly sheets: readonly Worksheet[];
}

/** JSON Schema of a field. */
export interface FieldSchema {
  readonly type?: readonly ("number" | "boolean" | "string" | "null")[];
  readonly format?: "date" | "date-time" | "time";
  readonly enum?: readonly Value[];
  /** In place of the others, if an empty cell is `""`. */
  readonly anyOf?: readonly object[];
  readonly readOnly?: true;
  readonly "x-column"?: string;
  readonly "x-source"?: "table" | "validation" | "format" | "cells";
}

/** JSON Schema (2020-12) of the fields of a typed row, in the order of the columns. */
export interface Schema<Fields> {
  readonly $schema: string;
  readonly title: string;
  readonly type: "object";
  readonly properties: { readonly [Name in keyof Fields]: FieldSchema };
}

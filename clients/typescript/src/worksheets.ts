// Worksheets and JSON Schemas that the client returns.

import type { Value } from "./rows.js";

export type FieldType = "number" | "boolean" | "date" | "date-time" | "time" | "text";
export type Right = "read" | "create" | "update" | "delete";

/** A field of a worksheet. The gateway infers `type`, so cells can have another type. */
export interface Field {
  readonly name: string;
  readonly type: FieldType;
}

/** A worksheet with the fields and rights of the API key. */
export interface Worksheet {
  readonly name: string;
  /** Number of records; null if the gateway did not read the worksheet in the last minute. */
  readonly rows: number | null;
  /** The fields that the key can access. */
  readonly fields: readonly Field[];
  /** The operations that the key is allowed to do. */
  readonly may: readonly Right[];
}

/** A spreadsheet. `timeZone` is the time zone of dates and times in its cells. */
export interface Spreadsheet {
  readonly id: string;
  readonly title: string;
  readonly locale: string;
  readonly timeZone: string;
}

/** The worksheets that the API key can access, in the order of their tabs. */
export interface WorksheetList {
  readonly spreadsheet: Spreadsheet;
  readonly sheets: readonly Worksheet[];
}

/** JSON Schema of a field. */
export interface FieldSchema {
  readonly type?: readonly ("number" | "boolean" | "string" | "null")[];
  readonly format?: "date" | "date-time" | "time";
  readonly enum?: readonly Value[];
  /** The field's schema and `{"const": ""}`, if empty cells are `""`; replaces other members. */
  readonly anyOf?: readonly object[];
  readonly readOnly?: true;
  readonly "x-column"?: string;
  readonly "x-source"?: "table" | "validation" | "format" | "cells";
}

/** JSON Schema (2020-12) of the fields of a row with typed values, in column order. */
export interface Schema<Fields> {
  readonly $schema: string;
  readonly title: string;
  readonly type: "object";
  readonly properties: { readonly [Name in keyof Fields]: FieldSchema };
}

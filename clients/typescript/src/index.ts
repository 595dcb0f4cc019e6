// Public names of the client of a sheets-gateway.

export { Sheets, type SheetOptions, type SheetsOptions, type Timing } from "./client.js";
export {
  ConnectionFailed,
  CursorLost,
  SheetsError,
  SheetsFailure,
  type Outcome,
  type Problem,
} from "./errors.js";
export type { RetryOptions } from "./retry.js";
export type * from "./rows.js";
export type {
  AllRowsOptions,
  CallOptions,
  ExportOptions,
  FilterWriteOptions,
  GetOptions,
  ListOptions,
  RowWriteOptions,
  Sheet,
  UpsertOptions,
  WriteOptions,
} from "./sheet.js";
export type * from "./worksheets.js";

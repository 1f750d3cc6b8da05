import { type BatchReport, maxErrors } from "../batch/apply.ts";
import { print } from "./print.ts";

const shownErrors = 20;

export interface ReportOptions {
  readonly json: boolean;
  /** It was stopped before its end. */
  readonly interrupted?: boolean;
}

/** Tells what became of a batch: refused lines on standard error, the counts on standard output. */
export async function tellReport(
  { accepted, rejected, ignored_fields, errors }: BatchReport,
  { json, interrupted = false }: ReportOptions,
): Promise<void> {
  if (json) return print(JSON.stringify({ accepted, rejected, ignored_fields, errors, interrupted }));
  for (const { line, message } of errors.slice(0, shownErrors)) {
    process.stderr.write(`line ${line}: ${message}\n`);
  }
  const more = rejected - Math.min(shownErrors, errors.length);
  if (more > 0) process.stderr.write(`… and ${more} more; --json shows the first ${maxErrors}\n`);
  const ignored = ignored_fields ? `, ${ignored_fields} unknown fields ignored` : "";
  await print(
    `${accepted} accepted, ${rejected} rejected${ignored}${interrupted ? "; stopped before the end" : ""}`,
  );
}

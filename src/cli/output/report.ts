import { type BatchReport, maxErrors } from "../../batch/apply.ts";
import { counted, countOf } from "./format.ts";
import { note, print } from "./print.ts";

const shownErrors = 20;

interface ReportOptions {
  readonly json: boolean;
  /** Whether it was interrupted. */
  readonly interrupted?: boolean;
  /** Whether the batch repeats an earlier one with the same idempotency key; then nothing was sent. */
  readonly alreadySent?: boolean;
  /** The duration, like `in 1.2 s`. */
  readonly took: string;
}

/** Prints the result of a batch: rejected lines on standard error, counts on standard output. */
export async function printReport(
  { accepted, rejected, ignored_fields, errors, ended }: BatchReport & { readonly ended?: number },
  { json, interrupted = false, alreadySent, took }: ReportOptions,
): Promise<void> {
  if (json) {
    const already_sent = alreadySent;
    const report = { accepted, rejected, ignored_fields, errors, ended, interrupted, already_sent };
    return print(JSON.stringify(report));
  }
  for (const { line, message } of errors.slice(0, shownErrors)) {
    note(`line ${line}: ${message}`);
  }
  const more = rejected - Math.min(shownErrors, errors.length);
  if (more > 0) note(`… and ${counted(more)} more; --json shows the first ${counted(maxErrors)}`);
  const ignored = ignored_fields ? `, ${countOf(ignored_fields, "unknown field")} ignored` : "";
  const left = ended === undefined ? "" : `, ${countOf(ended, "livestream")} ended`;
  const counts = `${counted(accepted)} accepted, ${counted(rejected)} rejected${ignored}${left}`;
  if (alreadySent)
    return print(
      `This file was already published with this idempotency key (${counts}). Nothing was sent now.`,
    );
  await print(`${counts} ${took}${interrupted ? "; stopped before the end" : ""}`);
}

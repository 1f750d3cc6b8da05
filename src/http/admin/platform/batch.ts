import { setImmediate as nextTurn } from "node:timers/promises";
import { type Static, Type } from "@sinclair/typebox";
import {
  applyAtomically,
  applyBatch,
  atomicLimits,
  type BatchReport,
  maxErrors,
} from "../../../batch/apply.ts";
import type { Intake } from "../../../batch/platform-data.ts";
import { grouped } from "../../../domain/validation/text.ts";
import { answerOf } from "../../answers.ts";
import { longBodyStream } from "../../body.ts";
import { named } from "../../fields.ts";
import { ChoiceParameter } from "../../parameters.ts";
import { type RequestContext, reply } from "../../request-context.ts";
import { whileAllowed } from "../access.ts";

/*
 * Shared parts of the admin API's batches: query parameters, the report, and NDJSON exports.
 */

/** A boolean query parameter, false by default. */
export function flag(description: string) {
  return Type.Optional(
    ChoiceParameter(["true", "false"], {
      errorMessage: "must be true or false",
      default: "false",
      description,
    }),
  );
}

export const AtomicQuery = Type.Object({
  atomic: flag(
    `All or nothing: where one line is refused, none is taken. Names and slugs can be swapped. At most ${atomicLimits.inWords}.`,
  ),
});

export const DataReportSchema = named("DataReport", "What became of a batch.", {
  accepted: Type.Integer({ description: "Lines that were taken." }),
  rejected: Type.Integer({ description: "Lines that were refused." }),
  errors: Type.Array(
    named("RefusedLine", "A line that was refused.", {
      line: Type.Integer({ description: "From 1 on, blank lines counted." }),
      message: Type.String({ description: "Why it was refused." }),
    }),
    { description: `The first ${grouped(maxErrors)} refused lines.` },
  ),
  ignored_fields: Type.Integer({
    description:
      "Fields in the lines that were taken which are not known, in all: a misspelt one is not kept.",
  }),
});

export const DataReport = answerOf(DataReportSchema, {
  description: "What became of it.",
  example: {
    accepted: 1,
    rejected: 1,
    ignored_fields: 0,
    errors: [{ line: 2, message: 'username "one" is taken by user 1' }],
  },
});

/** Stores the lines of an NDJSON body and reports the result. */
export async function appliedLines<Input>(
  requestContext: RequestContext,
  { read, keep, ignored }: Intake<Input>,
  { atomic }: Static<typeof AtomicQuery>,
): Promise<Static<typeof DataReport>> {
  const isAtomic = atomic === "true";
  const apply = isAtomic ? applyAtomically : applyBatch;
  return dataReport(await apply(longBodyStream(requestContext, isAtomic), read, keep, { ignored }));
}

/** The report of a batch whose unknown fields are counted. */
export function dataReport(report: BatchReport): Static<typeof DataReport> {
  const { accepted, rejected, ignored_fields = 0, errors } = report;
  return { accepted, rejected, ignored_fields, errors };
}

/** Rows of one page of an export. A page blocks the event loop, so it is small. */
const pageSize = 500;

/** Streams all rows as NDJSON, page by page, at the pace of the client. */
export function replyRows<Row>(
  requestContext: RequestContext,
  page: (after: number, limit: number) => Promise<readonly Row[]>,
  idOf: (row: Row) => number,
): Response {
  const encoder = new TextEncoder();
  const pages = async function* () {
    for (let after = 0; ; ) {
      await nextTurn(); // lets other requests run between two pages
      const rows = await page(after, pageSize);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = idOf(last);
      yield encoder.encode(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    }
  };
  const headers = { "content-type": "application/x-ndjson" };
  return reply(requestContext, 200, whileAllowed(requestContext, pages()), headers);
}

import { setImmediate as nextTurn } from "node:timers/promises";
import { type Static, Type } from "@sinclair/typebox";
import { grouped } from "../../domain/validation/fields.ts";
import {
  applyAtomically,
  applyBatch,
  atomicLimits,
  type BatchReport,
  type Intake,
  maxErrors,
} from "../../platform/batches.ts";
import { answerOf } from "../http/answers.ts";
import { longBodyStream } from "../http/body.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { ChoiceParameter, named } from "../http/parameters.ts";
import { whileAllowed } from "./listener.ts";

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
    `Applies either all lines or none: if one line is refused, none is stored. The lines are compared with stored data, such as known users, only once each of them has the right form. Lines can swap names and slugs. At most ${atomicLimits.inWords}.`,
  ),
});

export const DataReportSchema = named("DataReport", "The result of a batch.", {
  accepted: Type.Integer({ description: "Number of accepted lines." }),
  rejected: Type.Integer({ description: "Number of refused lines." }),
  errors: Type.Array(
    named("RefusedLine", "A refused line.", {
      line: Type.Integer({ description: "Number of the line, from 1; blank lines count." }),
      message: Type.String({ description: "Reason for the refusal." }),
    }),
    { description: `The first ${grouped(maxErrors)} refused lines.` },
  ),
  ignored_fields: Type.Integer({
    description:
      "Number of unknown fields in all accepted lines. Their values are not stored, so check for misspelt names.",
  }),
});

export const DataReport = answerOf(DataReportSchema, {
  description: "The report of the batch.",
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
  intake: Intake<Input>,
  { atomic }: Static<typeof AtomicQuery>,
): Promise<BatchReport> {
  const isAtomic = atomic === "true";
  const apply = isAtomic ? applyAtomically : applyBatch;
  return apply(longBodyStream(requestContext, isAtomic), intake);
}

/** The number of rows in one page of an export. A page blocks the event loop, so it is small. */
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

import { type Static, Type } from "@sinclair/typebox";
import { type Finding, findingStatuses } from "../../../domain/operations/findings.ts";
import { nullable, oneOf } from "../../../domain/validation/fields.ts";
import { listOf } from "../../answers.ts";
import { named } from "../../fields.ts";
import type { OutcomeStreams } from "../../stream/outcome-streams.ts";
import { readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const FindingSchema = named("Finding", "The result of one check.", {
  check: Type.String({
    description: "Name of the check, such as `disk_space`. Later versions may add checks.",
  }),
  status: oneOf(findingStatuses, {
    description: "Result of the check. A `warning` may be intended. For `skipped`, `message` has the reason.",
  }),
  message: Type.String({ description: "Result in one sentence. The wording may change." }),
  advice: nullable(Type.String(), { description: "How to fix the problem; null if there is none." }),
});

const example: Static<typeof FindingSchema> = {
  check: "disk_space",
  status: "warning",
  message:
    "900 MB free on the disk of /var/lib/onair, less than the size of its database (1,100 MB): a backup on this disk does not fit",
  advice: "free some space, or keep backups elsewhere (--backup-to)",
};

const Findings = listOf(FindingSchema, {
  order: "One result for each check.",
  name: "Findings",
  description: "The results of the checks.",
  example,
});

/** Get Findings: the results of `onair doctor` for a running server. */
export function findingRoute(app: AdminListener, { findings }: AdminDeps): void {
  app.get("/admin/v1/findings", async () => ({ data: [...(await findings())], message: "OK" }), {
    roles: readers,
    response: { 200: Findings },
    detail: {
      operationId: "getFindings",
      tags: ["Operations"],
      description:
        "Checks the server's settings, data directory or database, certificates and clock, like `onair doctor`, and returns the results. They are cached for 10 seconds.",
    },
  });
}

/**
 * Returns a function that checks the server while operators have open streams, and notifies them when the problems
 * differ from those of the last check. Results without a problem are not compared, because they always change, like the
 * free space. The first check sends no notification, because a console reads the findings when it opens its stream.
 */
export function findingsWatch(
  findings: AdminDeps["findings"],
  streams: Pick<OutcomeStreams, "hasOperators" | "changedHere">,
): () => Promise<void> {
  let known: string | null = null;
  return async () => {
    const before = known;
    known = streams.hasOperators ? troubles(await findings()) : null;
    if (known !== null && before !== null && known !== before) streams.changedHere("findings");
  };
}

const troubles = (found: readonly Finding[]) =>
  JSON.stringify(found.filter(({ status }) => status === "warning" || status === "wrong"));

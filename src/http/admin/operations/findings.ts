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
    description: "What was looked at, like `disk_space`. There may be more of them later.",
  }),
  status: oneOf(findingStatuses, {
    description: "`warning` may be intended; `skipped` says why it was not looked at.",
  }),
  message: Type.String({ description: "What was found, in one sentence. Its words may change." }),
  mend: nullable(Type.String(), { description: "How to mend it; null where nothing is to do." }),
});

const example: Static<typeof FindingSchema> = {
  check: "disk_space",
  status: "warning",
  message:
    "900 MB free on the disk of /var/lib/onair, less than the size of its database (1,100 MB): a backup on this disk does not fit",
  mend: "free some space, or keep backups elsewhere (--backup-to)",
};

const Findings = listOf(FindingSchema, {
  order: "One for each check.",
  name: "Findings",
  description: "What was found.",
  example,
});

/** Get Findings: what `onair doctor` finds in a running server. */
export function findingRoute(app: AdminListener, { findings }: AdminDeps): void {
  app.get("/admin/v1/findings", async () => ({ data: [...(await findings())], message: "OK" }), {
    roles: readers,
    response: { 200: Findings },
    detail: {
      operationId: "getFindings",
      tags: ["Operations"],
      description:
        "What the server finds wrong with its settings, its data directory or database, its certificates and its clock, as `onair doctor` says it. They are looked at anew after 10 seconds.",
    },
  });
}

/**
 * Tells operators who look on when there is something else to mend than at the last look: what is in order changes with
 * every look, like the time or the free space. The first look tells nothing, because who begins to look on reads it.
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

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { type Finding, findingStatuses } from "../../domain/findings.ts";
import { diskForecast, freeSpaceOf, type KindSizes } from "../../domain/sizes.ts";
import { allSubjects } from "../../domain/statistics.ts";
import { heldSetting } from "../../domain/store.ts";
import { day, hour, isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { commit, version } from "../../runtime/version.ts";
import { answer, listOf, noContent } from "../http/answers.ts";
import { ChoiceParameter, IsoTimestamp, Message, named } from "../http/parameters.ts";
import type { OutcomeStreams } from "../stream/outcome-streams.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

function says<Status extends string>(name: string, status: Status) {
  return answer(
    { status: Type.Literal(status, { description: "State of the server." }) },
    { name, description: "The state of the server.", example: { status } },
  );
}

/**
 * `/healthz`: 200 while the process answers. `/readyz`: 200 when the server should get requests, else 503 with the
 * reason, or 404 where the check wants that for a server that is stopping. Neither needs a key.
 */
export function healthRoutes(app: AdminListener, { whyNotReady, isStopping }: AdminDeps): void {
  app.get("/healthz", () => ({ status: "ok" as const }), {
    keyless: true,
    response: { 200: says("Health", "ok") },
    detail: {
      operationId: "getHealth",
      tags: ["Health"],
      description: "Returns 200 while the process responds. Requires no key.",
    },
  });

  app.get(
    "/readyz",
    async ({ query }) => {
      const reason = await whyNotReady();
      if (reason === null) return { status: "ready" as const };
      if (query.stopping === "404" && isStopping()) throw new DomainError("not_found", reason);
      throw new DomainError("unavailable", reason, { retryAfterSeconds: 1, isLogged: true });
    },
    {
      keyless: true,
      query: Type.Object({
        stopping: Type.Optional(
          ChoiceParameter(["404", "503"], {
            default: "503",
            description:
              "Status while the server is stopping and still serves. With 404, HAProxy's `http-check disable-on-404` sends it no new requests, and completes those in progress.",
          }),
        ),
      }),
      response: { 200: says("Readiness", "ready") },
      errors: ["not_found"],
      detail: {
        operationId: "getReadiness",
        tags: ["Health"],
        description:
          "Returns 200 while the server should receive requests, else 503 with the reason in `message`: while it starts or stops, while its disk is full or fails, if its database is damaged, or while a read or write of it has not ended for 30 seconds. Requires no key.",
      },
    },
  );
}

const SettingSchema = named("Setting", "A setting of the server.", {
  name: Type.String({ description: "Name of the option of `onair serve`, without its dashes." }),
  value: nullable(Type.String(), {
    description:
      "Current value; null if not set. A secret is shown as `set`, a URL without password and query.",
  }),
  default: nullable(Type.String(), { description: "Default value; null if there is none." }),
  is_secret: Type.Boolean({ description: "Whether the value is a secret, which is never shown." }),
  help: Type.String({ description: "Purpose of the setting." }),
});

const Settings = answer(
  {
    data: Type.Array(SettingSchema, { description: "Settings, in the order of `onair serve --help`." }),
    version: Type.String({ description: "Version of the server." }),
    commit: nullable(Type.String(), {
      description:
        "Commit from which the server was built, with the suffix `-changed` if the checkout had changes; null if unknown.",
    }),
    started_at: about(IsoTimestamp, "Time at which the server was started."),
    message: Message,
  },
  {
    name: "SettingList",
    description: "The settings.",
    example: {
      data: [
        {
          name: "rate-limit",
          value: "6000",
          default: "800",
          is_secret: false,
          help: "requests a minute for each application",
        },
        { name: "admin-key", value: "set", default: null, is_secret: true, help: "an operator key" },
      ],
      version: "1.0.0",
      commit: "3f2a9c41d07b",
      started_at: "2026-01-14T16:00:00.000Z",
      message: "OK",
    },
  },
);

/** List Settings: the server's settings, without secrets. */
export function settingRoutes(app: AdminListener, { facts }: AdminDeps): void {
  app.get(
    "/admin/v1/settings",
    () => ({ data: facts.settings, version, commit, started_at: isoTime(facts.startedAt), message: "OK" }),
    {
      roles: readers,
      response: { 200: Settings },
      detail: {
        operationId: "getSettings",
        tags: ["Operations"],
        summary: "List Settings",
        description: "Returns the current settings of the server. This API cannot change them.",
      },
    },
  );
}

const bytes = (description: string) =>
  nullable(Type.Integer({ minimum: 0 }), {
    description: `${description} Null if the database is on another server.`,
  });

const kind = (description: string) => Type.Integer({ minimum: 0, description });

const KindSizesSchema = named(
  "KindSizes",
  "Bytes used in the database by each kind of data, including indexes.",
  {
    events: kind("Events with their bodies."),
    deliveries: kind("Deliveries."),
    attempts: kind("Attempts with the first part of their responses."),
    users: kind("Users."),
    search: kind("Search index."),
    subscriptions: kind("Subscriptions."),
    access: kind("Applications, tokens and consents."),
    other: kind("All other data."),
    free: kind("Free space within the database, which new rows use first."),
  } satisfies Record<keyof KindSizes, TSchema>,
);

const fields = {
  total_bytes: bytes("Size of the data directory's disk, in bytes."),
  free_bytes: bytes("Free space on that disk, in bytes."),
  database_bytes: bytes("Size of the database with its write-ahead log, in bytes."),
  kinds: nullable(KindSizesSchema, {
    description: "Bytes used by each kind of data; null if not measured yet.",
  }),
  kinds_measured_at: nullable(IsoTimestamp, {
    description: "Time of that measurement, at most an hour ago; null if not measured yet.",
  }),
  used_per_day_bytes: nullable(Type.Integer(), {
    description:
      "Bytes by which the free space shrinks per day, by the last week; null if less than a day was measured.",
  }),
  full_at: nullable(IsoTimestamp, {
    description: "Time at which the disk will be full at this rate; null if never, or not within ten years.",
  }),
};

const Storage = answer(fields, {
  name: "Storage",
  description: "The disk of the data directory.",
  example: {
    total_bytes: 107_374_182_400,
    free_bytes: 64_424_509_440,
    database_bytes: 5_368_709_120,
    kinds: {
      events: 2_684_354_560,
      deliveries: 1_342_177_280,
      attempts: 402_653_184,
      users: 402_653_184,
      search: 268_435_456,
      subscriptions: 134_217_728,
      access: 67_108_864,
      other: 33_554_432,
      free: 33_554_432,
    },
    kinds_measured_at: "2026-01-14T16:08:06.123Z",
    used_per_day_bytes: 536_870_912,
    full_at: "2026-05-14T16:08:06.123Z",
  },
});

/** Get Storage: the free space on the disk, and a forecast. */
export function storageRoute(app: AdminListener, { store, facts, now }: AdminDeps): void {
  app.get(
    "/admin/v1/storage",
    async () => {
      const measured = await facts.kindSizes();
      const kinds = {
        kinds: measured && { ...measured.kinds },
        kinds_measured_at: isoTimeOrNull(measured?.at ?? null),
      };
      const sizes = facts.storage();
      if (sizes === null) {
        const disk = { total_bytes: null, free_bytes: null, database_bytes: null };
        return { ...disk, ...kinds, used_per_day_bytes: null, full_at: null };
      }
      const at = now();
      const question = { kind: "storage", subject: allSubjects, period: "hour" } as const;
      const rows = await store.statistics.read({ ...question, from: at - 7 * day, to: at + hour });
      const { usedPerDay, fullAt } = diskForecast(freeSpaceOf(rows[0]), sizes.free_bytes, at);
      return { ...sizes, ...kinds, used_per_day_bytes: usedPerDay, full_at: isoTimeOrNull(fullAt) };
    },
    {
      roles: readers,
      response: { 200: Storage },
      detail: {
        operationId: "getStorage",
        tags: ["Operations"],
        description:
          "Returns the size and free space of the data directory's disk, and the time at which it will be full if it fills as in the last week. Sizes are sampled every ten minutes, those of each kind of data every hour.",
      },
    },
  );
}

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

const Hold = answer(
  {
    held_since: nullable(IsoTimestamp, {
      description:
        "Time at which the backup was restored, or the server was started with `--hold-deliveries`; null if deliveries are not held.",
    }),
  },
  {
    name: "DeliveryHold",
    description: "The state of the hold.",
    example: { held_since: "2026-01-14T16:08:06.123Z" },
  },
);

/** Whether deliveries are held, and their release. */
export function holdRoutes(app: AdminListener, { store }: AdminDeps): void {
  app.get(
    "/admin/v1/deliveries/hold",
    async () => ({ held_since: (await store.settings.get(heldSetting)) || null }),
    {
      roles: readers,
      response: { 200: Hold },
      detail: {
        operationId: "getDeliveryHold",
        tags: ["Deliveries"],
        description:
          "Returns whether deliveries are held. After a backup is restored, nothing is sent until the hold is released, because the original server may still be sending the same deliveries. A server started with `--hold-deliveries` holds them as well.",
      },
    },
  );

  app.delete(
    "/admin/v1/deliveries/hold",
    async ({ status }) => {
      await store.settings.put(heldSetting, "");
      return status(204, undefined);
    },
    {
      roles: operators,
      response: { 204: noContent("Deliveries that are due are sent within two seconds.") },
      detail: {
        operationId: "releaseDeliveries",
        tags: ["Deliveries"],
        description:
          "Releases held deliveries. First make sure that no other server with the same data is running. Has no effect if deliveries are not held.",
      },
    },
  );
}

import { type TSchema, Type } from "@sinclair/typebox";
import { diskForecast, freeSpaceOf } from "../../../domain/operations/disk-forecast.ts";
import type { KindSizes } from "../../../domain/operations/kind-sizes.ts";
import { allSubjects } from "../../../domain/operations/statistics.ts";
import { day, hour, isoTimeOrNull } from "../../../domain/time.ts";
import { nullable } from "../../../domain/validation/fields.ts";
import { answer } from "../../answers.ts";
import { IsoTimestamp, named } from "../../fields.ts";
import { readers } from "../access.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

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

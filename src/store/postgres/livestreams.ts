import { sql } from "drizzle-orm";
import type { NewLivestream } from "../../domain/livestreams.ts";
import { excluded } from "../drizzle/columns/of-table.ts";
import { execute, type Orm, type Work } from "../drizzle/dialect.ts";
import { given } from "./schema/columns.ts";
import { livestreams } from "./schema/platform.ts";

/** Stores livestreams with one statement. Unchanged ones are not written. */
export function* putLivestreams(orm: Orm, batch: readonly NewLivestream[], now: string): Work<void> {
  yield* execute(
    orm
      .insert(livestreams)
      .select(
        sql`SELECT given.channel_id, given.category_id, given.viewers, given.title, given.language,
            coalesce(given.started_at, known.started_at, ${now})
          FROM ${given(livestreams, batch)}
          LEFT JOIN ${livestreams} AS known ON known.channel_id = given.channel_id ORDER BY given.n`,
      )
      .onConflictDoUpdate({
        target: livestreams.channel_id,
        set: excluded(livestreams),
        setWhere: sql`${livestreams} IS DISTINCT FROM excluded`,
      }),
  );
}

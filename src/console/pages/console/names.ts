import { useRef } from "preact/hooks";
import { admin, done } from "../../client.ts";
import { useLoad } from "../../load.ts";

const idsAtOnce = 100;

/** The names of these applications by their ids; those that are known are not asked for again. */
export function useApplicationNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const known = useRef(new Map<string, string>());
  const wanted = [...new Set(ids)].filter((id) => !known.current.has(id)).slice(0, idsAtOnce);
  useLoad(
    async (signal) => {
      if (wanted.length === 0) return;
      const query = { id: wanted, limit: idsAtOnce };
      const { data } = await done(admin.GET("/admin/v1/applications", { params: { query }, signal }));
      // One that is gone is shown by its id.
      for (const id of wanted) known.current.set(id, id);
      for (const { id, name } of data) known.current.set(id, name);
    },
    [wanted.join()],
  );
  return known.current;
}

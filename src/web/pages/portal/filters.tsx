import { api, dataOf, done } from "../../client.ts";
import { FilterList } from "../../filters/later.ts";
import { Head } from "../../parts/basics.tsx";
import { Read } from "../../parts/table.tsx";
import { docs, useQuery } from "../../places.ts";
import { useApplication, useEventTypes } from "./application.tsx";

/** The filters of the signed-in application. */
export function Filters() {
  const { application, reload } = useApplication();
  const [query] = useQuery();
  const isLocked = application.locked.includes("filters");
  return (
    <>
      <Head title="Filters">
        Of event types with a filter, only the events that match it are sent.{" "}
        <a href={`${docs}/filters`} target="_blank" rel="noopener">
          More about filters
        </a>
      </Head>
      <Read of={useEventTypes()}>
        {(types) => (
          <FilterList
            open={query["type"]}
            why={isLocked && "Locked by the platform."}
            of={{
              filters: application.filters,
              setAt: application.filters_set_at,
              types,
              canChange: !isLocked,
              async change(type, filter) {
                const filters = { [type]: filter };
                await done(api.PATCH("/public/v1/application", { body: { filters } }));
                reload();
              },
              test: (body, signal) =>
                dataOf(api.POST("/public/v1/application/filters/test", { body, signal })),
            }}
          />
        )}
      </Read>
    </>
  );
}

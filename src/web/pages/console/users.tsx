import { admin, dataOf } from "../../client.ts";
import { useLoad } from "../../load.ts";
import { Card, Empty, Head, Status } from "../../parts/basics.tsx";
import { Find } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { to, useQuery } from "../../places.ts";

const shortest = 3;

/** The user search of the API. */
export function Users() {
  const [query] = useQuery();
  const wanted = (query["query"] ?? "").trim();
  const isLong = [...wanted].length >= shortest;
  const found = useLoad(
    async (signal) => {
      if (!isLong) return [];
      const options = { params: { query: { query: wanted, limit: 50 } }, signal };
      return dataOf(admin.GET("/admin/v1/users/search", options));
    },
    [wanted],
    ["users"],
  );
  return (
    <>
      <Head title="Users">
        Search users as the public API does. The platform reports them; single users can be edited here.
      </Head>
      <Find name="query" placeholder="Part of a username or name" />
      <Card isFlush>
        <List
          of={found}
          empty={
            isLong ? (
              <Empty title="No matching users" text="Try a shorter part of the name." />
            ) : (
              <Empty
                title="Search for a user"
                text={`Enter at least ${shortest} characters of a username or display name.`}
              />
            )
          }
          label="Users"
          rows={found.data ?? []}
          keyOf={({ id }) => String(id)}
          linkOf={({ id }) => to(`/users/${id}`)}
          columns={[
            {
              name: "Username",
              show: ({ id, username }) => (
                <a class="cell" href={to(`/users/${id}`)}>
                  {username}
                </a>
              ),
            },
            { name: "Name", show: ({ display_name }) => <span class="cell">{display_name}</span> },
            { name: "", show: ({ is_verified }) => is_verified && <Status word="verified" tone="ok" /> },
            { name: "Id", hide: "narrow", isNumber: true, show: ({ id }) => <code>{id}</code> },
          ]}
        />
      </Card>
    </>
  );
}

import { admin, dataOf } from "../../client.ts";
import { useLoad } from "../../load.ts";
import { Card, Empty, Head, Status } from "../../parts/basics.tsx";
import { Find } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { to, useQuery } from "../../places.ts";

const shortest = 3;

/** Users by a part of their names, as the API finds them. */
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
        As the public search finds them. The platform reports them; one can be corrected here.
      </Head>
      <Find name="query" placeholder="Part of a username or name" />
      <Card isFlush>
        <List
          of={found}
          empty={
            isLong ? (
              <Empty title="Nobody is called that" text="Try a shorter part of the name." />
            ) : (
              <Empty
                title="Whom do you look for?"
                text={`Type ${shortest} characters or more of a username or display name.`}
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

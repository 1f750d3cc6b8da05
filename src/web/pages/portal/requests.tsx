import { api, dataOf } from "../../client.ts";
import { useLoad } from "../../load.ts";
import { Card, Empty, Figure, Head, LinkButton, Notice, number } from "../../parts/basics.tsx";
import { Read, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { useApplication } from "./application.tsx";

/** The application's requests; updated every minute. */
function useOwnRequests() {
  return useLoad(
    (signal) => dataOf(api.GET("/public/v1/application/requests", { signal })),
    [],
    ["statistics"],
  );
}

/** The application's requests of the last day, and which of them were refused. */
export function Requests() {
  return (
    <>
      <Head title="Requests">
        What your application asked in the last 24 hours. Requests of these pages are not counted.
      </Head>
      <AtTheLimit />
      <Read of={useOwnRequests()}>
        {({ total, refused_total, rate_limited, operations, refused }) => (
          <>
            <div class="grid small">
              <Figure value={number(total)} label="Requests" />
              <Figure value={number(refused_total)} label="Refused" />
              <Figure value={number(rate_limited)} label="Beyond the rate limit" />
            </div>
            {total === 0 ? (
              <Card isFlush>
                <Empty title="No requests" text="Requests with a token of your application appear here." />
              </Card>
            ) : (
              <Card title="By operation" isFlush>
                <Table
                  label="Requests by operation"
                  rows={operations}
                  keyOf={({ operation, status }) => `${operation} ${status}`}
                  columns={[
                    { name: "Operation", isFilling: true, show: ({ operation }) => <code>{operation}</code> },
                    { name: "Status", isNumber: true, show: ({ status }) => status },
                    { name: "Requests", isNumber: true, show: ({ count }) => number(count) },
                  ]}
                />
              </Card>
            )}
            {refused.length > 0 && (
              <Card title="Refused last" isFlush>
                <Table
                  label="Refused requests"
                  rows={refused}
                  keyOf={({ request_id, at }) => `${at} ${request_id}`}
                  columns={[
                    { name: "Error", show: ({ code, status }) => <code>{code || status}</code> },
                    {
                      name: "Operation",
                      isFilling: true,
                      show: ({ operation }) => <code>{operation ?? "unknown"}</code>,
                    },
                    { name: "Request", hide: "medium", show: ({ request_id }) => <code>{request_id}</code> },
                    { name: "When", isNumber: true, show: ({ at }) => <Time at={at} /> },
                  ]}
                />
              </Card>
            )}
          </>
        )}
      </Read>
    </>
  );
}

/** Says that the application has used up its rate limit. Otherwise renders nothing. */
export function AtTheLimit({ isLinked = false }: { isLinked?: boolean }) {
  const { application } = useApplication();
  const { limit, remaining } = application.rate_limit;
  if (limit === 0 || remaining === null || remaining > 0) return null;
  return (
    <Notice tone="warn" title="Your application is at its rate limit">
      <p>
        It may send {number(limit)} requests a minute. Further ones are answered with 429 and{" "}
        <code>Retry-After</code>.
      </p>
      {isLinked && (
        <div class="row">
          <LinkButton href={to("/requests")}>Show its requests</LinkButton>
        </div>
      )}
    </Notice>
  );
}

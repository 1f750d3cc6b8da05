import { useApplicationNames } from "./deliveries/applications.tsx";
import { useLoad } from "./load.ts";
import { Card, FaultNotice, Status } from "./parts/basics.tsx";
import { Table } from "./parts/table.tsx";
import { fullTime, Time } from "./parts/time.tsx";
import { to } from "./places.ts";

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly created_at: string;
  readonly summary: string;
  readonly advice: string | null;
  readonly app_id?: string | null;
}

const mostNotices = 6;

/** Replaces the UTC times in a message of the API by local ones. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => fullTime(at).replace(/ \(.*/, ""));
}

function toneOf(type: string) {
  if (/recovered|resumed/.test(type)) return "ok";
  return /disabled|failed|storage/.test(type) ? "bad" : "warn";
}

/** The latest notices about endpoints, and for operators about the server. Renders nothing without notices. */
export function NoticesCard({
  read,
}: {
  read: (limit: number, signal: AbortSignal) => Promise<readonly Entry[]>;
}) {
  const { data, fault } = useLoad((signal) => read(mostNotices, signal), [], ["notices"]);
  const nameOf = useApplicationNames((data ?? []).map(({ app_id }) => app_id));
  if (fault && !data) return <FaultNotice fault={fault} />;
  if (!data || data.length === 0) return null;
  return (
    <Card isFlush title="Notices">
      <Table
        label="Notices"
        rows={data}
        keyOf={({ id }) => id}
        columns={[
          {
            name: "Notice",
            show: ({ type }) => <Status word={type.split(".")[1] ?? type} tone={toneOf(type)} />,
          },
          {
            name: "Details",
            show: ({ summary, advice, app_id, created_at }) => (
              <>
                {app_id && (
                  <a class="breaks" href={to(`/applications/${app_id}`)}>
                    {nameOf(app_id)}
                  </a>
                )}
                <p>{withLocalTimes(summary)}</p>
                {advice && <small class="muted">{withLocalTimes(advice)}</small>}
                <p class="small muted only-narrow">
                  <Time at={created_at} />
                </p>
              </>
            ),
          },
          {
            name: "When",
            hide: "narrow",
            isNumber: true,
            show: ({ created_at }) => <Time at={created_at} />,
          },
        ]}
      />
    </Card>
  );
}

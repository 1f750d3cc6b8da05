import { useApplicationNames } from "./deliveries/application-names.tsx";
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

const shown = 6;

/** The API says times in UTC; people read them in their own. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => fullTime(at).replace(/ \(.*/, ""));
}

function toneOf(type: string) {
  if (/recovered|resumed/.test(type)) return "ok";
  return /disabled|failed|storage/.test(type) ? "bad" : "warn";
}

/** What the server said about endpoints, and to operators about itself; nothing where there was nothing to say. */
export function NoticesCard({
  read,
}: {
  read: (limit: number, signal: AbortSignal) => Promise<readonly Entry[]>;
}) {
  const { data, fault } = useLoad((signal) => read(shown, signal), [], ["notices"]);
  const names = useApplicationNames((data ?? []).flatMap(({ app_id }) => app_id ?? []));
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
            name: "What",
            show: ({ type }) => <Status word={type.split(".")[1] ?? type} tone={toneOf(type)} />,
          },
          {
            name: "About it",
            show: ({ summary, advice, app_id, created_at }) => (
              <>
                {app_id && (
                  <a class="breaks" href={to(`/applications/${app_id}`)}>
                    {names.get(app_id) ?? app_id}
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

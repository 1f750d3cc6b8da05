import { Plus } from "lucide";
import { useState } from "preact/hooks";
import { admin, base, dataOf, done, pageHeaders } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Bar, Button, Card, Empty, FaultNotice, Head, Status, size } from "../../parts/basics.tsx";
import { Confirm, toast } from "../../parts/overlays.tsx";
import { List } from "../../parts/table.tsx";
import { fullTime, Time } from "../../parts/time.tsx";
import { useOperator } from "./operator.tsx";

type Backup = components["schemas"]["Backup"];

/** Online backups: create, download, delete. */
export function Backups() {
  const { canChange } = useOperator();
  const [removing, setRemoving] = useState<Backup | null>(null);
  const loaded = useLoad(
    (signal) => dataOf(admin.GET("/admin/v1/backups", { params: { query: { limit: 100 } }, signal })),
    [],
    ["backups"],
  );
  const plan = useLoad(
    async (signal) => {
      const { data } = await done(admin.GET("/admin/v1/settings", { signal }));
      const value = (name: string) => data.find((setting) => setting.name === name)?.value ?? null;
      return {
        every: value("backup-every"),
        to: value("backup-to"),
        isEncrypted: (value("backup-recipients") ?? "") !== "",
      };
    },
    [],
    ["settings"],
  );
  const make = useAction(async () => {
    await done(admin.POST("/admin/v1/backups"));
    loaded.reload();
  });
  const remove = async ({ id }: Backup) => {
    await done(admin.DELETE("/admin/v1/backups/{id}", { params: { path: { id } } }));
    toast("Backup deleted.");
    loaded.reload();
  };
  return (
    <>
      <Head
        title="Backups"
        actions={
          canChange && (
            <Button kind="primary" icon={Plus} isBusy={make.isBusy} onClick={make.run}>
              Create backup
            </Button>
          )
        }
      >
        Copies of the whole database, made while the server runs. They contain all secrets: protect them
        accordingly.
      </Head>
      <FaultNotice fault={make.fault} />
      {plan.data && (
        <p class="muted">
          {plan.data.every
            ? `Created every ${plan.data.every}.`
            : "No schedule: set one with --backup-every."}{" "}
          Stored in {plan.data.to ?? "the data directory"}
          {plan.data.isEncrypted ? ", encrypted." : "."}
        </p>
      )}
      <Card isFlush>
        <List
          of={loaded}
          empty={
            <Empty title="No backups yet">
              <p>
                Create one now. With <code>--backup-every</code> and <code>--backup-to</code> the server
                creates them on a schedule and stores them elsewhere.
              </p>
            </Empty>
          }
          label="Backups"
          rows={loaded.data ?? []}
          keyOf={({ id }) => id}
          columns={[
            { name: "State", show: (backup) => <State backup={backup} /> },
            { name: "Created", show: ({ created_at }) => <Time at={created_at} /> },
            {
              name: "Size",
              hide: "narrow",
              isNumber: true,
              show: ({ status, size_bytes }) => (status === "done" ? size(size_bytes) : ""),
            },
            {
              name: "SHA-256",
              hide: "medium",
              show: ({ sha256 }) => <code class="cell muted">{sha256}</code>,
            },
            {
              name: "",
              isNumber: true,
              show: (backup) =>
                canChange && (
                  <span class="row end">
                    {backup.status === "done" && <DownloadButton backup={backup} />}
                    {backup.status !== "running" && (
                      <Button
                        isSmall
                        kind="quiet"
                        of={fullTime(backup.created_at)}
                        onClick={() => setRemoving(backup)}
                      >
                        Delete
                      </Button>
                    )}
                  </span>
                ),
            },
          ]}
        />
      </Card>
      {removing && (
        <Confirm
          title="Delete this backup?"
          verb="Delete"
          act={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>
            Created <Time at={removing.created_at} />. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

function State({ backup: { status, progress, error } }: { backup: Backup }) {
  if (status === "running") return <Bar part={progress} label="Progress of the backup" />;
  return (
    <span class="stack tight">
      <span>
        <Status word={status} tone={status === "done" ? "ok" : "bad"} />
      </span>
      {error && <span class="bad">{error}</span>}
    </span>
  );
}

/** Downloads a backup. A plain link cannot send the header that the session requires. */
function DownloadButton({ backup: { id, created_at } }: { backup: Backup }) {
  const act = useAction(async () => {
    const root = base.slice(0, base.lastIndexOf("/"));
    const answer = await fetch(`${root}/admin/v1/backups/${id}/content`, { headers: pageHeaders });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `onair-${id}.db`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  return (
    <Button isSmall kind="quiet" of={fullTime(created_at)} isBusy={act.isBusy} onClick={act.run}>
      {act.fault ? act.fault.message : "Download"}
    </Button>
  );
}

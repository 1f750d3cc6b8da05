import { useEffect, useState } from "preact/hooks";
import { day, minute } from "../../domain/time.ts";
import { nonEmpty } from "../client.ts";
import { useAction } from "../load.ts";
import { Bar, Button, FaultNotice, Notice, number } from "../parts/basics.tsx";
import { Field, Select } from "../parts/form.tsx";
import { Dialog, toast } from "../parts/overlays.tsx";
import { ApplicationField } from "./applications.tsx";
import { type DeliveryQuery, type Replay, type ReplayInput, useDeliveries } from "./source.ts";

const lookEveryMs = 500;
const statuses = ["missed", "failing", "failed", "expired", "canceled", "delivered", "pending"] as const;

/** Formats a time for an input of local time. */
function localInput(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * minute).toISOString().slice(0, 16);
}

/** Replays a range of deliveries: counts them first, asks for confirmation, then shows the progress. */
export function ReplayDialog({ filters, onClose }: { filters: DeliveryQuery; onClose: () => void }) {
  const source = useDeliveries();
  const now = Date.now();
  const [status, setStatus] = useState<(typeof statuses)[number] | "">(filters.status ?? "missed");
  const [application, setApplication] = useState(filters.application_id ?? "");
  const [from, setFrom] = useState(localInput(filters.after ? Date.parse(filters.after) : now - day));
  const [until, setUntil] = useState(localInput(filters.before ? Date.parse(filters.before) : now + minute));
  const [counted, setCounted] = useState<Replay | null>(null);
  const [running, setRunning] = useState<Replay | null>(null);
  const input = (): ReplayInput => ({
    from: new Date(from).toISOString(),
    to: new Date(until).toISOString(),
    ...(source.isOfAll && { application_id: application }),
    ...nonEmpty({
      status,
      type: filters.type,
      subscription_id: filters.subscription_id,
      broadcaster_user_id: filters.broadcaster,
    }),
    dry_run: false,
  });
  const count = useAction(async () => setCounted(await source.replay({ ...input(), dry_run: true })));
  const start = useAction(async () => setRunning(await source.replay(input())));
  useFollow(counted, setCounted);
  useFollow(running, setRunning);
  const change =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      set(value);
      setCounted(null);
    };
  if (running) return <Progress replay={running} onClose={onClose} />;
  const isCounting = count.isBusy || counted?.state === "running";
  return (
    <Dialog
      title="Replay a range"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {counted?.state === "completed" ? (
            <Button kind="primary" isBusy={start.isBusy} disabled={counted.queued === 0} onClick={start.run}>
              Send {number(counted.queued)} again
            </Button>
          ) : (
            <Button kind="primary" isBusy={isCounting} onClick={count.run}>
              Count
            </Button>
          )}
        </>
      }
    >
      <p class="muted">
        Sends deliveries of events published in this period again, each with the same <code>webhook-id</code>.
        Missed ones are those that failed, expired or were canceled; failing ones had a failed attempt and no
        success.
      </p>
      {source.isOfAll && (
        <ApplicationField
          value={application}
          onInput={change(setApplication)}
          problem={count.fault?.fields["application_id"]}
        />
      )}
      <div class="grid small">
        <Field
          label="From"
          type="datetime-local"
          value={from}
          onInput={change(setFrom)}
          problem={count.fault?.fields["from"]}
        />
        <Field
          label="To"
          type="datetime-local"
          value={until}
          onInput={change(setUntil)}
          problem={count.fault?.fields["to"]}
        />
        <Select
          label="State"
          value={status}
          options={[["", "Any"], ...statuses.map((known) => [known, known] as const)]}
          onInput={change(setStatus)}
        />
      </div>
      {(filters.type || filters.subscription_id || filters.broadcaster) && (
        <p class="small muted">
          Only {filters.type && <code>{filters.type}</code>}
          {filters.subscription_id && (
            <>
              {" "}
              of the subscription <code>{filters.subscription_id}</code>
            </>
          )}
          {filters.broadcaster && (
            <>
              {" "}
              in the channel <code>{filters.broadcaster}</code>
            </>
          )}
          , as the list is filtered.
        </p>
      )}
      {counted?.state === "running" && <Bar part={counted.progress} label="Counting" />}
      {counted?.state === "completed" && <Counted replay={counted} />}
      <FaultNotice fault={count.fault ?? start.fault} />
    </Dialog>
  );
}

function Counted({ replay: { queued, skipped } }: { replay: Replay }) {
  const reasons = [
    [skipped.body_not_kept, "the body of their event is no longer stored"],
    [skipped.subscription_deleted, "their subscription was deleted"],
    [skipped.attempts_used_up, "they have reached the maximum number of attempts"],
  ] as const;
  return (
    <Notice
      tone={queued > 0 ? "ok" : ""}
      title={
        queued === 1 ? "1 delivery would be sent again." : `${number(queued)} deliveries would be sent again.`
      }
    >
      {reasons.map(([count, why]) => count > 0 && <p key={why}>{`${number(count)} cannot: ${why}.`}</p>)}
    </Notice>
  );
}

function Progress({ replay, onClose }: { replay: Replay; onClose: () => void }) {
  const source = useDeliveries();
  const isOver = replay.state !== "running";
  const cancel = useAction(async () => {
    await source.cancelReplay(replay.id);
    toast("The replay is canceled. Deliveries that it has queued are still sent.");
    onClose();
  });
  return (
    <Dialog
      title={isOver ? "Replay completed" : "Replaying"}
      onClose={onClose}
      footer={
        <>
          {!isOver && (
            <Button isBusy={cancel.isBusy} onClick={cancel.run}>
              Stop
            </Button>
          )}
          <Button kind="primary" onClick={onClose}>
            {isOver ? "Done" : "Close and continue"}
          </Button>
        </>
      }
    >
      <Bar part={replay.progress} label="Progress of the replay" />
      {!isOver && <p>{number(replay.queued)} queued so far.</p>}
      <p role="status">
        {isOver && `${number(replay.queued)} of ${number(replay.matched)} deliveries are being sent again.`}
      </p>
      <FaultNotice fault={cancel.fault} />
    </Dialog>
  );
}

/** Polls a replay until it has ended. */
function useFollow(replay: Replay | null, set: (replay: Replay) => void): void {
  const source = useDeliveries();
  useEffect(() => {
    if (replay?.state !== "running") return;
    const timer = setTimeout(
      () => source.replayOf(replay.id).then(set, () => set({ ...replay })),
      lookEveryMs,
    );
    return () => clearTimeout(timer);
  }, [replay, source, set]);
}

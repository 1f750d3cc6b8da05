import { day } from "../../domain/time.ts";
import { type Loaded, useLoad } from "../load.ts";
import { number } from "../parts/basics.tsx";
import { Figure } from "../parts/figure.tsx";
import { isFuture, Time } from "../parts/time.tsx";
import { to } from "../places.ts";
import { useDeliveries } from "./source.ts";

/** The period whose missed deliveries are counted, and offered to be sent again. */
const missedMs = 3 * day;
const mostCounted = 100;

type DeliveryPage = Awaited<ReturnType<ReturnType<typeof useDeliveries>["list"]>>;

/** Loads the missed deliveries of the last three days: those of an application, or of the signed-in one. */
export function useMissed(applicationId?: string): Loaded<DeliveryPage> {
  const source = useDeliveries();
  return useLoad(
    (signal) => {
      const after = new Date(Date.now() - missedMs).toISOString();
      const of = applicationId === undefined ? {} : { application_id: applicationId };
      return source.list({ status: "missed", after, limit: mostCounted, ...of }, signal);
    },
    [applicationId],
    ["deliveries"],
  );
}

interface PendingFiguresProps {
  /** The endpoint, as both APIs have it. */
  readonly endpoint: {
    readonly status: string;
    readonly pending: number;
    readonly next_attempt_at: string | null;
  };
  readonly missed: DeliveryPage | null;
  /** Filters the linked deliveries, on pages with deliveries of several applications. */
  readonly applicationId?: string;
}

/** What an application waits for: pending deliveries, the next attempt, and what was missed. */
export function PendingFigures({ endpoint, missed, applicationId }: PendingFiguresProps) {
  const { pending } = endpoint;
  const linked = (status: string) => to("/deliveries", { application_id: applicationId, status });
  const lost = missed?.data.length ?? 0;
  return (
    <div class="grid small">
      <Figure value={number(pending)} label="Pending deliveries" href={linked("pending")} />
      <Figure value={<NextAttempt of={endpoint} />} label="Next attempt" />
      <Figure
        value={missed ? `${number(lost)}${missed.pagination.has_more ? "+" : ""}` : "…"}
        label="Missed in 3 days"
        href={linked("missed")}
      />
    </div>
  );
}

/** When the next attempt is made. */
function NextAttempt({ of: { status, pending, next_attempt_at } }: { of: PendingFiguresProps["endpoint"] }) {
  if (pending === 0) return <>none</>;
  if (status === "disabled") return <>none while disabled</>;
  if (next_attempt_at === null || !isFuture(next_attempt_at)) return <>now</>;
  return <Time at={next_attempt_at} />;
}

import { clockTime, printable, type Terminal } from "../../runtime/terminal.ts";
import type { Config } from "../../server/settings/config.ts";
import type { App } from "../../server/start.ts";
import { startApiEdge } from "./api-edge.ts";
import type { FaultPlan } from "./plan.ts";
import { startWebhookEdge } from "./webhook-edge.ts";

/** Fault injection: two proxies around an unchanged platform. */
interface BadDay {
  /** The URL of the API with faults. */
  readonly url: string;
  /** The settings of the platform behind the proxies. */
  readonly config: Config;
  /** Lets requests through to the platform, once it has started. */
  connect(app: Pick<App, "publicUrl" | "store">): void;
  stop(): Promise<void>;
}

/**
 * Starts a proxy on the public port, in front of the API, and an egress proxy for webhooks. Both inject the faults of
 * the plan and print them. Throws when the port is in use.
 */
export async function startBadDay(
  config: Config,
  plan: FaultPlan,
  { terminal, now }: { readonly terminal: Terminal; readonly now: () => number },
): Promise<BadDay> {
  const { style } = terminal;
  const tell = (what: string, about: string) => {
    const time = style("dim", clockTime(now()));
    terminal.line(`${time} ${style("yellow", "fault   ")} ${what}: ${printable(about)}`);
  };
  const api = startApiEdge({ host: config.host, port: config.port, plan, tell });
  const webhooks = await startWebhookEdge({ plan, tell });
  return {
    url: api.url,
    config: {
      ...config,
      host: "127.0.0.1",
      port: 0,
      publicUrl: config.publicUrl ?? api.url,
      webhookProxy: webhooks.url,
    },
    connect: ({ publicUrl, store }) => api.connect({ url: publicUrl, tokens: store.tokens }),
    async stop() {
      await api.stop();
      await webhooks.stop();
    },
  };
}

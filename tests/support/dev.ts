import { openCredentials } from "../../src/dev/credentials.ts";
import type { ApiFault, FaultPlan, WebhookFault } from "../../src/dev/faults.ts";
import { type DevPlatform, startDevPlatform } from "../../src/dev/platform.ts";
import { createLog } from "../../src/runtime/log.ts";
import { terminalOn } from "../../src/runtime/terminal.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { program, RunningCommand } from "./process.ts";

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly portal?: boolean;
  readonly events?: boolean;
  /** What it writes on its terminal. */
  readonly written?: string[];
  readonly now?: () => number;
}

/** A platform with its URLs, which `facts` has, too. */
export interface TestPlatform extends DevPlatform {
  readonly publicUrl: string;
  readonly receiverUrl: string;
}

/** The platform of `onair dev` in this process, on free ports. */
export async function startPlatform(
  data: string,
  { env = {}, portal = false, events = false, written = [], now = Date.now }: Options = {},
): Promise<TestPlatform> {
  const platform = await startDevPlatform({
    config: readConfig(["--data", data, "--port", "0", "--admin-port", "0"], env, {
      allowPrivateWebhooks: "true",
      portal: String(portal),
    }),
    credentials: openCredentials(data),
    events,
    terminal: terminalOn({ write: (text) => written.push(text) }, {}),
    log: createLog("off"),
    now,
    random: Math.random,
    faults: null,
  });
  const { public_url, receiver_url } = await platform.facts();
  return { ...platform, publicUrl: public_url, receiverUrl: receiver_url };
}

/** What `onair dev --json` prints. */
export interface Addresses {
  readonly public_url: string;
  readonly admin_url: string;
  readonly docs_url: string;
  readonly receiver_url: string;
  readonly sign_in_url: string;
  readonly data: string;
  readonly admin_key: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly access_token: string;
  readonly webhook_secret: string;
  readonly guide: { readonly client_id: string; readonly client_secret: string };
}

/** A process of `onair dev`. */
export class DevProcess extends RunningCommand {
  constructor(args: readonly string[], cwd: string, env: Record<string, string> = {}, command = program) {
    super(["dev", ...args], { command, cwd, env });
  }

  /** Its log is on standard error with `--json`. */
  override get lines(): string[] {
    return this.output.split("\n").slice(0, -1);
  }

  async addresses(): Promise<Addresses> {
    return JSON.parse(await this.line()) as Addresses;
  }
}

/** A plan that a test writes. */
export function scriptedFaults({ api = [], streams = [], webhooks = [] }: Partial<Script>): FaultPlan {
  return {
    api: () => api.shift() ?? null,
    stream: () => streams.shift() ?? null,
    webhook: () => webhooks.shift() ?? null,
  };
}
interface Script {
  readonly api: (ApiFault | null)[];
  readonly streams: (number | null)[];
  readonly webhooks: (WebhookFault | null)[];
}

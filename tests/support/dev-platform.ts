import { openCredentials } from "../../src/dev/credentials.ts";
import { type DevPlatform, startDevPlatform } from "../../src/dev/platform.ts";
import { createLog } from "../../src/runtime/log.ts";
import { terminalOn } from "../../src/runtime/terminal.ts";
import { readConfig } from "../../src/server/settings/read-config.ts";

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

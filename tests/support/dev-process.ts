import { fromSource, RunningCommand } from "./process.ts";

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
  constructor(args: readonly string[], cwd: string, env: Record<string, string> = {}) {
    // As `bun run dev` starts it.
    super(["dev", ...args], { command: fromSource, cwd, env });
  }

  /** Its log is on standard error with `--json`. */
  override get lines(): string[] {
    return this.output.split("\n").slice(0, -1);
  }

  async addresses(): Promise<Addresses> {
    return JSON.parse(await this.line()) as Addresses;
  }
}

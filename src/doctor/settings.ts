import type { Config } from "../config/config.ts";
import type { Environment } from "../config/read-config.ts";
import { unknownVariables } from "../config/setting-names.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { isLoopback } from "./ask.ts";

/** Findings of the settings: `mistakes` from `checkConfig`, and unknown variables. */
export function* settingFindings(mistakes: readonly string[], env: Environment): Generator<Finding> {
  const { ok, warning, wrong } = findingsOf("settings");
  const unknown = unknownVariables(env);
  for (const mistake of mistakes) yield wrong(mistake, 'see "onair serve --help"');
  for (const { name, meant } of unknown) {
    const mend = "unset it, where it is not meant for another program";
    yield meant === null
      ? warning(`${name} is not a setting of this version`, mend)
      : wrong(`${name} is not a setting: nothing reads it`, `rename it to ${meant}`);
  }
  if (mistakes.length + unknown.length === 0)
    yield ok("every setting can be read, and every ONAIR_ variable is known");
}

/** Whether the settings suit a server that other machines reach. */
export function* exposureFindings(config: Config): Generator<Finding> {
  yield* publicUrlFindings(config);
  const { adminHost } = config;
  if (isLoopback(adminHost) && !isEveryAddress(adminHost)) return;
  yield findingsOf("admin_host").warning(
    `the admin listener is open to the network (${adminHost})`,
    "see that only the platform's own machines reach it",
  );
}

const isEveryAddress = (host: string) => host === "0.0.0.0" || host === "::";

function* publicUrlFindings(config: Config): Generator<Finding> {
  const { host, publicUrl, trustedProxies, allowPrivateWebhooks, tlsCert } = config;
  const { ok, warning } = findingsOf("public_url");
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url === null && isLoopback(host) && !isEveryAddress(host))
    return yield ok("only this machine reaches the public listener, and no public URL is set");
  if (url === null)
    return yield warning(
      `the public listener is at ${host}, but documents and tokens name that address`,
      "set --public-url to where it is reached from outside",
    );
  if (isLoopback(url.hostname)) return yield ok(`${publicUrl} is this machine`);
  const isPlain = url.protocol === "http:";
  const isUntrusted = !isPlain && trustedProxies.length === 0 && tlsCert === null;
  if (isPlain)
    yield warning(
      `${publicUrl} is not encrypted: tokens can be read on the way`,
      "put TLS in front of it: https",
    );
  if (isUntrusted)
    yield warning(
      `${publicUrl} is behind a proxy that is not trusted: all callers without a token share its rate limit`,
      "name the proxy with --trusted-proxies",
    );
  if (allowPrivateWebhooks)
    yield warning(
      `webhooks may go into the network of a server that is at ${publicUrl}`,
      "leave --allow-private-webhooks to development",
    );
  if (!isPlain && !isUntrusted && !allowPrivateWebhooks)
    yield ok(`${publicUrl}, with ${trustedProxies.length > 0 ? "trusted proxies in front" : "its own TLS"}`);
}

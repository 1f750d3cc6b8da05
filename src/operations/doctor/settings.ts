import { type Finding, findingsOf } from "../../domain/findings.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import type { Config } from "../../server/settings/config.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { unknownVariables } from "../../server/settings/setting-names.ts";
import { isLoopback } from "./server.ts";

/** Reports the `mistakes` of `checkConfig`, and unknown variables. */
export function* settingFindings(mistakes: readonly string[], env: Environment): Generator<Finding> {
  const { ok, warning, wrong } = findingsOf("settings");
  const unknown = unknownVariables(env);
  for (const mistake of mistakes) yield wrong(mistake, 'see "onair serve --help"');
  for (const { name, meant } of unknown) {
    const advice = "unset it, unless another program uses it";
    yield meant === null
      ? warning(`${name} is not a setting of this version`, advice)
      : wrong(`${name} is not a setting, so it has no effect`, `rename it to ${meant}`);
  }
  if (mistakes.length + unknown.length === 0)
    yield ok("every setting is valid, and every ONAIR_ variable is known");
}

/** Checks that the settings suit a server that other machines reach. */
export function* exposureFindings(config: Config): Generator<Finding> {
  yield* publicUrlFindings(config);
  const { adminHost } = config;
  if (isThisMachineAlone(adminHost)) return;
  yield findingsOf("admin_host").warning(
    `other machines can reach the admin listener (${adminHost})`,
    "make sure that only the platform's own machines can reach it",
  );
}

function* publicUrlFindings(config: Config): Generator<Finding> {
  const { host, publicUrl, trustedProxies, allowPrivateWebhooks, tlsCert } = config;
  const { ok, warning } = findingsOf("public_url");
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url === null && isThisMachineAlone(host))
    return yield ok("only this machine can reach the public listener, and no public URL is set");
  if (url === null)
    return yield warning(
      `the public listener is at ${host}, and documents and tokens name that address, because there is no public URL`,
      "set --public-url to the URL that clients use",
    );
  if (isLoopback(url.hostname)) return yield ok(`${publicUrl} is this machine`);
  const isPlain = url.protocol === "http:";
  const isUntrusted = !isPlain && trustedProxies.length === 0 && tlsCert === null;
  if (isPlain)
    yield warning(
      `${publicUrl} is not encrypted: tokens can be read on the network`,
      "use https: set --tls-cert, or put a TLS proxy in front",
    );
  if (isUntrusted)
    yield warning(
      `${publicUrl} is behind a proxy that is not trusted: all callers without a token share the proxy's rate limit`,
      "name the proxy with --trusted-proxies",
    );
  if (allowPrivateWebhooks)
    yield warning(
      `webhooks can reach the private network of the server at ${publicUrl}`,
      "remove --allow-private-webhooks: it is for development only",
    );
  if (!isPlain && !isUntrusted && !allowPrivateWebhooks)
    yield ok(`${publicUrl}, with ${trustedProxies.length > 0 ? "trusted proxies in front" : "its own TLS"}`);
}

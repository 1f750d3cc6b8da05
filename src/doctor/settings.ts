import { nearest } from "../arguments.ts";
import type { Config } from "../config/config.ts";
import { type Environment, knownVariables, unknownVariables } from "../config/read-config.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { isLoopback } from "./ask.ts";

/** Findings of the settings: `mistakes` from `checkConfig`, and unknown variables. */
export function settingFindings(mistakes: readonly string[], env: Environment): Finding[] {
  const { ok, warning, wrong } = findingsOf("settings");
  const found = mistakes.map((mistake) => wrong(mistake, 'see "onair serve --help"'));
  for (const name of unknownVariables(env)) {
    const meant = nearest(name, knownVariables);
    found.push(
      meant === null
        ? warning(
            `${name} is not a setting of this version`,
            "unset it, where it is not meant for another program",
          )
        : wrong(`${name} is not a setting: nothing reads it`, `rename it to ${meant}`),
    );
  }
  return found.length > 0 ? found : [ok("every setting can be read, and every ONAIR_ variable is known")];
}

/** Whether the settings suit a server that other machines reach. */
export function exposureFindings(config: Config): Finding[] {
  return [...publicUrlFindings(config), ...adminHostFindings(config)];
}

function adminHostFindings({ adminHost }: Config): Finding[] {
  if (isLoopback(adminHost) && !isEveryAddress(adminHost)) return [];
  const { warning } = findingsOf("admin_host");
  return [
    warning(
      `the admin listener is open to the network (${adminHost})`,
      "see that only the platform's own machines reach it",
    ),
  ];
}

const isEveryAddress = (host: string) => host === "0.0.0.0" || host === "::";

function publicUrlFindings({ host, publicUrl, trustedProxies, allowPrivateWebhooks }: Config): Finding[] {
  const { ok, warning } = findingsOf("public_url");
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url === null && isLoopback(host) && !isEveryAddress(host))
    return [ok("only this machine reaches the public listener, and no public URL is set")];
  if (url === null) {
    return [
      warning(
        `the public listener is at ${host}, but documents and tokens name that address`,
        "set --public-url to where it is reached from outside",
      ),
    ];
  }
  if (isLoopback(url.hostname)) return [ok(`${publicUrl} is this machine`)];
  const found: Finding[] = [];
  if (url.protocol === "http:")
    found.push(
      warning(
        `${publicUrl} is not encrypted: tokens can be read on the way`,
        "put TLS in front of it: https",
      ),
    );
  else if (trustedProxies.length === 0)
    found.push(
      warning(
        `${publicUrl} is behind a proxy that is not trusted: all callers without a token share its rate limit`,
        "name the proxy with --trusted-proxies",
      ),
    );
  if (allowPrivateWebhooks)
    found.push(
      warning(
        `webhooks may go into the network of a server that is at ${publicUrl}`,
        "leave --allow-private-webhooks to development",
      ),
    );
  return found.length > 0 ? found : [ok(`${publicUrl}, with trusted proxies in front`)];
}

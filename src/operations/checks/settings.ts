import { deprecatedName, deprecationNotice } from "../../domain/deprecations.ts";
import { messageOf } from "../../domain/errors.ts";
import { day, isoTime } from "../../domain/time.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import type { Config } from "../../server/settings/config.ts";
import { changedSettings, unknownVariables } from "../../server/settings/shown-settings.ts";
import { certificateFiles, isFor, readCertificate, warnBeforeMs } from "../certificates.ts";
import { isLoopback } from "./requests.ts";
import type { Check } from "./subject.ts";

/*
 * Checks of the settings, and of the certificates that they name.
 */

export const settingsCheck: Check = {
  name: "settings",
  examines: "every setting and variable; a misspelt name is wrong, an unknown one a warning",
  places: ["config", "server", "doctor"],
  *run({ mistakes, env }, { ok, warning, wrong }) {
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
  },
};

export const deprecationsCheck: Check = {
  name: "deprecations",
  examines:
    "shown only where a setting, or a request since the start of the server, uses what [a later version](stability.md#deprecation) no longer has",
  places: ["config", "server", "doctor"],
  *run({ config, deprecated }, { warning }) {
    for (const one of deprecated.ofSettings(changedSettings(config)))
      yield warning(deprecationNotice(one), `do that before the upgrade to ${one.removedIn}`);
    for (const { deprecation, requests, lastAt, lastBy } of deprecated.requests) {
      const last = `the last${lastBy === null ? "" : ` of ${lastBy}`} at ${isoTime(lastAt)}`;
      const uses = `${requests} ${requests === 1 ? "request" : "requests"} used it, ${last}`;
      yield warning(
        `${deprecationNotice(deprecation)} (${uses})`,
        `ask those who call ${deprecatedName(deprecation)} to change that before the upgrade to ${deprecation.removedIn}`,
      );
    }
  },
};

export const publicUrlCheck: Check = {
  name: "public_url",
  examines:
    "it is https, and clients behind its proxy have separate rate limits; in `config check` only whether it is http beside `--tls-cert`",
  places: ["config", "server", "doctor"],
  *run({ config, place }, { ok, warning }) {
    const { host, publicUrl, trustedProxies, allowPrivateWebhooks, tlsCert } = config;
    const url = publicUrl === null ? null : new URL(publicUrl);
    const isPlain = url?.protocol === "http:";
    const isBesideTls = isPlain && tlsCert !== null;
    if (place === "config" && !isBesideTls) return;
    if (url === null && isThisMachineAlone(host))
      return yield ok("only this machine can reach the public listener, and no public URL is set");
    if (url === null)
      return yield warning(
        `the public listener is at ${host}, and documents and tokens name that address, because there is no public URL`,
        "set --public-url to the URL that clients use",
      );
    if (isLoopback(url.hostname)) return yield ok(`${publicUrl} is this machine`);
    const isUntrusted = !isPlain && trustedProxies.length === 0 && tlsCert === null;
    if (isBesideTls)
      yield warning(
        `${publicUrl} is http, but the public listener is https, because --tls-cert is set`,
        "begin --public-url with https://",
      );
    if (place === "config") return;
    if (isPlain && !isBesideTls)
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
      yield ok(
        `${publicUrl}, with ${trustedProxies.length > 0 ? "trusted proxies in front" : "its own TLS"}`,
      );
  },
};

export const adminHostCheck: Check = {
  name: "admin_host",
  examines: "shown only where the admin listener is open to the network",
  places: ["server", "doctor"],
  *run({ config: { adminHost } }, { warning }) {
    if (isThisMachineAlone(adminHost)) return;
    yield warning(
      `other machines can reach the admin listener (${adminHost})`,
      "make sure that only the platform's own machines can reach it",
    );
  },
};

export const certificatesCheck: Check = {
  name: "certificates",
  examines:
    "expiry of the listeners' certificates, whether their files are usable and, without a proxy, whether they match the name in `--public-url`",
  places: ["server", "doctor"],
  *run({ config, doctor, now }, { ok, warning, wrong }) {
    if (!doctor.withData) return;
    const files = certificateFiles(config);
    for (const one of [files.public, files.admin]) {
      if (one === null) continue;
      const { path } = one.cert;
      try {
        const certificate = readCertificate(one, now());
        const leftMs = certificate.expiresAt - now();
        const days = Math.floor(leftMs / day);
        const host = one === files.public ? hostOfClients(config) : null;
        if (host !== null && !isFor(certificate, host))
          yield warning(
            `${path} is not valid for ${host}, the host of --public-url: clients refuse it`,
            "get a certificate for that host, or correct --public-url",
          );
        yield leftMs > warnBeforeMs
          ? ok(`${path} is valid for ${days} days`)
          : warning(`${path} expires in ${days} days`, "renew it: the server loads the new file by itself");
      } catch (error) {
        yield wrong(messageOf(error), "renew it, or correct its files");
      }
    }
  },
};

/** Returns the host name that clients use for the public listener; null when unknown, or when a proxy is in front. */
function hostOfClients({ publicUrl, trustedProxies }: Config): string | null {
  return publicUrl === null || trustedProxies.length > 0 ? null : new URL(publicUrl).hostname;
}

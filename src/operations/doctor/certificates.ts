import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { day } from "../../domain/time.ts";
import type { Config } from "../../server/settings/config.ts";
import { certificateFiles, isFor, readCertificate, warnBeforeMs } from "../certificates.ts";

/** Checks the certificates of the listeners: their files, names and expiry. */
export function* certificateFindings(config: Config, now: number): Generator<Finding> {
  const { ok, warning, wrong } = findingsOf("certificates");
  const files = certificateFiles(config);
  for (const one of [files.public, files.admin]) {
    if (one === null) continue;
    const { path } = one.cert;
    try {
      const certificate = readCertificate(one, now);
      const leftMs = certificate.expiresAt - now;
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
}

/** Returns the host name that clients use for the public listener; null when unknown, or when a proxy is in front. */
function hostOfClients({ publicUrl, trustedProxies }: Config): string | null {
  return publicUrl === null || trustedProxies.length > 0 ? null : new URL(publicUrl).hostname;
}

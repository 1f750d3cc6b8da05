import type { Config } from "../config/config.ts";
import { messageOf } from "../domain/errors.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { day } from "../domain/time.ts";
import { warnBeforeMs } from "../serving/certificate-watch.ts";
import { certificateFiles, isFor, readCertificate } from "../serving/certificates.ts";

/** Certificates that end soon, are for another name, or in whose place there are files that cannot be used. */
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
          `${path} is not for ${host}, the name in --public-url: clients refuse it`,
          "get one for that name, or correct --public-url",
        );
      yield leftMs > warnBeforeMs
        ? ok(`${path} is good for ${days} days`)
        : warning(`${path} ends in ${days} days`, "renew it: the server takes the new one by itself");
    } catch (error) {
      yield wrong(messageOf(error), "renew it, or mend its files");
    }
  }
}

/** The name by which clients reach the public listener itself; null where none is known, or a proxy is in front. */
function hostOfClients({ publicUrl, trustedProxies }: Config): string | null {
  return publicUrl === null || trustedProxies.length > 0 ? null : new URL(publicUrl).hostname;
}

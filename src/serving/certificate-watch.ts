import { day, second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { type Certificate, CertificateError, readCertificate } from "./certificates.ts";

/** A listener with a certificate. */
interface WatchedListener {
  readonly name: string;
  /** The certificate of its start. */
  readonly certificate: Certificate;
  /** Sets the certificate for new connections. Throws if it is not accepted. */
  readonly replace: (certificate: Certificate) => void;
}

interface WatchOptions {
  readonly log: Log;
  readonly now: () => number;
  /** The interval at which the files are read. */
  readonly everyMs?: number;
}

/** A certificate that expires within this time is logged as a warning. */
export const warnBeforeMs = 14 * day;

/**
 * Reads the files of certificates at intervals and uses them when they have changed. An unusable certificate is logged
 * once, and the listener keeps the current one. Watching for file events would not do, because a renewal may replace a
 * link to the directory.
 */
export class CertificateWatch {
  readonly #options: WatchOptions;
  readonly #watched: ReturnType<typeof watchOne>[] = [];
  #timer: Timer | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Watches the certificate of a listener. */
  add(listener: WatchedListener): void {
    const { log, now, everyMs = 10 * second } = this.#options;
    const watched = watchOne(listener, log, now);
    this.#watched.push(watched);
    watched.look();
    this.#timer ??= setInterval(() => this.look(), everyMs);
  }

  /** Reads the files now. */
  look(): void {
    for (const one of this.#watched) one.look();
  }

  /** The time at which the certificate of each listener expires, in milliseconds since the epoch. */
  expiries(): readonly { readonly listener: string; readonly expiresAt: number }[] {
    return this.#watched.map((one) => one.expiry);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function watchOne({ name, certificate, replace }: WatchedListener, log: Log, now: () => number) {
  const { files } = certificate;
  let inForce = certificate;
  let reported = "";
  let warnedAt = Number.NEGATIVE_INFINITY;
  const notTaken = (message: string) => {
    if (message === reported) return;
    reported = message;
    log.error("certificate_not_taken", { listener: name, message, effect: "the former one stays in use" });
  };
  const look = () => {
    try {
      const found = readCertificate(files, now());
      const isSame = (["cert", "key", "clientCa"] as const).every((part) => found[part] === inForce[part]);
      if (!isSame) {
        replace(found);
        inForce = found;
        log.info("certificate_replaced", { listener: name, expires_at: isoOf(found) });
      }
      reported = "";
    } catch (error) {
      const isOurs = error instanceof CertificateError;
      notTaken(isOurs || error instanceof Error ? error.message : String(error));
    }
    if (inForce.expiresAt - now() > warnBeforeMs || now() - warnedAt < day) return;
    warnedAt = now();
    log.warn("certificate_expires", { listener: name, expires_at: isoOf(inForce), file: files.cert.path });
  };
  return {
    look,
    get expiry() {
      return { listener: name, expiresAt: inForce.expiresAt };
    },
  };
}

const isoOf = ({ expiresAt }: Certificate) => new Date(expiresAt).toISOString();

import { day, second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { type Certificate, CertificateError, readCertificate } from "./certificates.ts";

/** A listener with a certificate. */
interface WatchedListener {
  readonly name: string;
  /** The certificate that it began with. */
  readonly certificate: Certificate;
  /** New connections get this one from now on. Throws when it is not taken. */
  readonly replace: (certificate: Certificate) => void;
}

interface WatchOptions {
  readonly log: Log;
  readonly now: () => number;
  /** How often the files are looked at. */
  readonly everyMs?: number;
}

/** A certificate that ends so soon is warned of. */
export const warnBeforeMs = 14 * day;

/**
 * Looks at the files of certificates and takes them when they have changed; one that cannot be used is logged once, and
 * the listener keeps what it has. Files are read, because a renewal may replace a link to their directory.
 */
export class CertificateWatch {
  readonly #options: WatchOptions;
  readonly #watched: ReturnType<typeof watchOne>[] = [];
  #timer: Timer | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Watches the certificate of one more listener. */
  add(listener: WatchedListener): void {
    const { log, now, everyMs = 10 * second } = this.#options;
    const watched = watchOne(listener, log, now);
    this.#watched.push(watched);
    watched.look();
    this.#timer ??= setInterval(() => this.look(), everyMs);
  }

  /** Looks at the files now. */
  look(): void {
    for (const one of this.#watched) one.look();
  }

  /** Until when the certificate of each listener is good, in milliseconds since the epoch. */
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

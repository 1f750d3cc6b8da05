import { day, second } from "../domain/time.ts";
import { smallFile } from "../runtime/files.ts";
import type { Log } from "../runtime/log.ts";

/** A certificate or key cannot be used. The message has the option that names it, and the reason. */
export class CertificateError extends Error {
  override name = "CertificateError";
}

/** The settings of TLS, which are paths of files. */
interface TlsConfig {
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly adminTlsCert: string | null;
  readonly adminTlsKey: string | null;
  readonly adminTlsClientCa: string | null;
}

/** A file with the option that names it. */
interface NamedFile {
  readonly option: string;
  readonly path: string;
}

/** The files of one listener. */
interface CertificateFiles {
  readonly cert: NamedFile;
  readonly key: NamedFile;
  readonly clientCa: NamedFile | null;
}

/** A checked certificate in the form that `Bun.serve` takes. */
export interface Certificate {
  /** The files that the certificate was read from. */
  readonly files: CertificateFiles;
  readonly cert: string;
  readonly key: string;
  /** The authorities of client certificates, in PEM; null if clients need no certificate. */
  readonly clientCa: string | null;
  readonly expiresAt: number;
}

/** Returns the files that the settings name for each listener; null for plain HTTP. */
export function certificateFiles(config: TlsConfig): {
  readonly public: CertificateFiles | null;
  readonly admin: CertificateFiles | null;
} {
  const { tlsCert, tlsKey, adminTlsCert, adminTlsKey, adminTlsClientCa } = config;
  const pair = (prefix: string, cert: string | null, key: string | null, clientCa: string | null) =>
    cert === null || key === null
      ? null
      : {
          cert: { option: `--${prefix}-cert`, path: cert },
          key: { option: `--${prefix}-key`, path: key },
          clientCa: clientCa === null ? null : { option: `--${prefix}-client-ca`, path: clientCa },
        };
  return {
    public: pair("tls", tlsCert, tlsKey, null),
    admin: pair("admin-tls", adminTlsCert, adminTlsKey, adminTlsClientCa),
  };
}

/** Returns the certificate of each listener; null for plain HTTP. Throws a `CertificateError`. */
export function listenerCertificates(config: TlsConfig, now: number) {
  const files = certificateFiles(config);
  return {
    public: files.public && readCertificate(files.public, now),
    admin: files.admin && readCertificate(files.admin, now),
  };
}

/** Returns the mistakes in the settings of TLS and the files that they name, one sentence for each. */
export function tlsMistakes(
  config: TlsConfig & { readonly redirectPort: number | null; readonly publicUrl: string | null },
  now: number,
): string[] {
  const mistakes: string[] = [];
  const together = (a: keyof TlsConfig, b: keyof TlsConfig, sentence: string) => {
    if ((config[a] === null) !== (config[b] === null)) mistakes.push(sentence);
  };
  together("tlsCert", "tlsKey", "--tls-cert and --tls-key must be given together");
  together("adminTlsCert", "adminTlsKey", "--admin-tls-cert and --admin-tls-key must be given together");
  if (config.adminTlsClientCa !== null && config.adminTlsCert === null)
    mistakes.push("--admin-tls-client-ca requires --admin-tls-cert");
  if (config.redirectPort !== null && !config.publicUrl?.startsWith("https:"))
    mistakes.push("--redirect-port requires a --public-url with https, the target of redirects");
  const attempt = (read: () => unknown): boolean => {
    try {
      read();
      return true;
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      mistakes.push(error.message);
      return false;
    }
  };
  for (const files of Object.values(certificateFiles(config))) {
    if (files === null) continue;
    const named = Object.values(files).filter((file) => file !== null);
    if (named.map((file) => attempt(() => contentOf(file))).every((isRead) => isRead))
      attempt(() => readCertificate(files, now));
  }
  return mistakes;
}

/** Loads `node:crypto` on first use, because most servers leave TLS to a proxy. */
const crypto = () => require("node:crypto") as typeof import("node:crypto");

/** Reads and checks the files of a listener. Throws a `CertificateError`. */
export function readCertificate(files: CertificateFiles, now: number): Certificate {
  const { cert, key, clientCa } = files;
  const certText = contentOf(cert);
  const keyText = contentOf(key);
  const [leaf] = certificatesOf(cert, certText);
  if (!leaf?.checkPrivateKey(privateKeyOf(key, keyText)))
    throw wrong(key, `is not the key of the first certificate in ${cert.path}`);
  const from = Date.parse(leaf.validFrom);
  const expiresAt = Date.parse(leaf.validTo);
  if (expiresAt <= now) throw wrong(cert, `expired at ${new Date(expiresAt).toISOString()}: renew it`);
  if (from > now)
    throw wrong(cert, `is not valid before ${new Date(from).toISOString()}: check the clock of this machine`);
  const clientCaText = clientCa && contentOf(clientCa);
  if (clientCa && clientCaText !== null) certificatesOf(clientCa, clientCaText);
  return { files, cert: certText, key: keyText, clientCa: clientCaText, expiresAt };
}

/** Whether a certificate is valid for a host, which is a name or an address in the form of URLs. */
export function isFor({ cert }: Certificate, host: string): boolean {
  const leaf = new (crypto().X509Certificate)(cert);
  const address = host.replace(/^\[|\]$/g, "");
  const isAddress = /:|^[\d.]+$/.test(address);
  return (isAddress ? leaf.checkIP(address) : leaf.checkHost(host)) !== undefined;
}

const wrong = ({ option, path }: NamedFile, why: string) =>
  new CertificateError(`${option} names ${path}, which ${why}`);

const mostBytes = 1024 * 1024;

function contentOf(file: NamedFile): string {
  try {
    return smallFile(file.path, mostBytes);
  } catch (error) {
    throw wrong(file, (error as TypeError).message);
  }
}

function certificatesOf(file: NamedFile, text: string) {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (!blocks) throw wrong(file, "has no certificate in PEM (-----BEGIN CERTIFICATE-----)");
  return blocks.map((block, at) => {
    try {
      return new (crypto().X509Certificate)(block);
    } catch {
      throw wrong(file, `has a damaged certificate: number ${at + 1} of ${blocks.length}`);
    }
  });
}

/** Reads a private key. Errors do not contain the text, which is secret. */
function privateKeyOf(file: NamedFile, text: string) {
  if (/-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(text))
    throw wrong(file, "is encrypted: it must be without a passphrase");
  if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text))
    throw wrong(file, "has no private key in PEM (-----BEGIN PRIVATE KEY-----)");
  try {
    return crypto().createPrivateKey(text);
  } catch {
    throw wrong(file, "has a damaged private key");
  }
}

/** A listener with a certificate. */
interface WatchedListener {
  readonly name: string;
  /** The certificate with which the listener was started. */
  readonly certificate: Certificate;
  /** Sets the certificate for new connections. Throws if the listener does not accept it. */
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
 * once, and the listener keeps the current certificate. Events of files are not enough, because a renewal may replace a
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
    watched.check();
    this.#timer ??= setInterval(() => this.check(), everyMs);
  }

  /** Reads the files now. */
  check(): void {
    for (const one of this.#watched) one.check();
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
  const check = () => {
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
    check,
    get expiry() {
      return { listener: name, expiresAt: inForce.expiresAt };
    },
  };
}

const isoOf = ({ expiresAt }: Certificate) => new Date(expiresAt).toISOString();

import { integer, nonEmpty, type Setting } from "../config/setting-values.ts";

/** Settings of TLS on the listeners themselves, without a proxy in front. */
export interface TlsConfig {
  /** The certificate of the public listener with its chain, in PEM; null: it speaks plain HTTP. */
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly adminTlsCert: string | null;
  readonly adminTlsKey: string | null;
  /** Who signs the certificates that callers of the admin listener must have; null: they need none. */
  readonly adminTlsClientCa: string | null;
  /** Seconds for which browsers keep to https; 0 sends no such header. */
  readonly hsts: number;
  /** A port whose requests are sent to the public URL; null for none. */
  readonly redirectPort: number | null;
}

const file = (help: string) => ({ value: "FILE", default: null, help, read: nonEmpty });

export const tlsSettings: { readonly [Key in keyof TlsConfig]: Setting<TlsConfig[Key]> } = {
  tlsCert: file(
    "certificate of the public listener, with its chain (PEM), which then speaks TLS; read again when it changes",
  ),
  tlsKey: file("private key of that certificate (PEM)"),
  adminTlsCert: file("the same for the admin listener"),
  adminTlsKey: file("private key of that certificate (PEM)"),
  adminTlsClientCa: file(
    "authority (PEM) that must have signed the certificate of every caller of the admin listener",
  ),
  hsts: {
    value: "SECONDS",
    default: "0",
    help: "tell browsers for so long to use https alone (Strict-Transport-Security); 0 does not",
    read: integer(0, 63_072_000),
  },
  redirectPort: {
    value: "PORT",
    default: null,
    help: "port of the same address that sends plain HTTP on to --public-url; 0 picks a free one",
    read: integer(0, 65_535),
  },
};

import { integer, nonEmpty, type SettingTable } from "./setting-values.ts";

const file = (help: string) => ({ value: "FILE", default: null, help, read: nonEmpty });

/** Settings of TLS on the listeners themselves, without a proxy in front. */
export const tlsSettings = {
  tlsCert: file(
    "certificate of the public listener with its chain (PEM), to serve TLS; read again when the file changes",
  ),
  tlsKey: file("private key of --tls-cert (PEM)"),
  adminTlsCert: file("certificate of the admin listener, likewise"),
  adminTlsKey: file("private key of --admin-tls-cert (PEM)"),
  adminTlsClientCa: file(
    "certificate authority (PEM); the admin listener then accepts only callers with a client certificate signed by it",
  ),
  hsts: {
    value: "SECONDS",
    default: "0",
    help: "how long browsers must use https only (Strict-Transport-Security); 0 sends no such header",
    read: integer(0, 63_072_000),
  },
  redirectPort: {
    value: "PORT",
    default: null,
    help: "port on the same address that redirects plain HTTP to --public-url; 0 picks a free one",
    read: integer(0, 65_535),
  },
} satisfies SettingTable;

import { join } from "node:path";

/** The paths of a certificate for localhost, valid for a month, and of its key. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate that signs itself, by `openssl`. */
export function selfSigned(directory: string, name: string): CertificatePair {
  const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=${name}`;
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert];
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...words.split(" "), ...names]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return { cert, key };
}

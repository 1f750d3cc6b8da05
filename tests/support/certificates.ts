import { writeFileSync } from "node:fs";
import { join } from "node:path";

const openssl = Bun.which("openssl");

/** Whether certificates can be made here; said loudly where they cannot. */
export const hasOpenssl = openssl !== null;

if (!hasOpenssl) console.warn("\n*** No openssl here: the tests of TLS listeners are SKIPPED. ***\n");

/** The paths of a certificate for localhost, valid for a month, and of its key. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate that signs itself, by `openssl`; empty files without it. */
export function selfSigned(directory: string, name: string): CertificatePair {
  const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=${name}`;
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert];
  if (openssl === null) {
    for (const file of [cert, key]) writeFileSync(file, "");
    return { cert, key };
  }
  const { exitCode, stderr } = Bun.spawnSync([openssl, ...words.split(" "), ...names]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return { cert, key };
}

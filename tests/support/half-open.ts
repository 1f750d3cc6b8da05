import { connect as openSocket, type Socket } from "node:net";
import { connect } from "node:tls";
import { listen, listener } from "../../src/api/http/server.ts";
import { readCertificate } from "../../src/operations/certificates.ts";
import { createLog } from "../../src/runtime/log.ts";

/*
 * A program: connections are opened, the certificate of their listener is renewed, and only then do they begin TLS.
 * Prints how often each outcome came. In a process of its own, so that it can have a network of its own.
 */

const certificateIn = (path: string) => {
  const [cert, key] = [`${path}.crt`, `${path}.key`].map((file) => ({ option: "", path: file }));
  if (!cert || !key) throw new TypeError("Name two certificates");
  return readCertificate({ cert, key, clientCa: null }, Date.now());
};

const [former = "", next = ""] = process.argv.slice(2);
const app = listener({ log: createLog("off"), headers: {} });
const address = { hostname: "127.0.0.1", port: 0 };
const listening = listen(app, { ...address, certificate: certificateIn(former) });

const opened = () =>
  new Promise<Socket>((resolve) => {
    const socket = openSocket(listening.port, address.hostname, () => resolve(socket));
  });

/** The name in the certificate that it gets. */
const nameBy = (socket: Socket) =>
  new Promise<string>((resolve) => {
    const secure = connect({ socket, rejectUnauthorized: false }, () => {
      resolve(secure.getPeerCertificate().subject.CN);
    });
    secure.on("error", () => resolve("reset"));
    secure.on("close", () => resolve("reset"));
  });

const sockets = await Promise.all(Array.from({ length: 8 }, opened));
listening.replaceCertificate(certificateIn(next));
const outcomes: Record<string, number> = {};
for (const name of await Promise.all(sockets.map(nameBy))) outcomes[name] = (outcomes[name] ?? 0) + 1;
console.log(JSON.stringify(outcomes));
process.exit();

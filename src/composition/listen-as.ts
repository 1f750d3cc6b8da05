import { type Listening, listen, type ServedApp } from "../http/server.ts";
import type { Core } from "./core.ts";

/** Serves an app at the address in the settings, and renews its certificate. Throws if the port is taken. */
export function listenAs(name: "public" | "admin", app: ServedApp, core: Core): Listening {
  const { config, certificateWatch } = core;
  const certificate = core.certificates[name];
  const { host, port, adminHost, adminPort } = config;
  const address =
    name === "public"
      ? { hostname: host, port, portOption: "--port" }
      : { hostname: adminHost, port: adminPort, portOption: "--admin-port" };
  const listening = listen(app, { ...address, certificate });
  const replace = listening.replaceCertificate;
  if (certificate) certificateWatch.add({ name, certificate, replace });
  return listening;
}

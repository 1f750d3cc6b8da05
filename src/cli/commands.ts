import type { Command } from "./command.ts";

/** Each command is loaded on demand, to keep the others out of the server's start. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  dev: async () => (await import("./dev.ts")).dev,
  import: async () => (await import("./import.ts")).importCommand,
  export: async () => (await import("./export.ts")).exportCommand,
  apps: async () => (await import("./apps.ts")).apps,
  tokens: async () => (await import("./tokens.ts")).tokens,
  "admin-key": async () => (await import("./admin-key.ts")).adminKey,
  audit: async () => (await import("./operations/audit.ts")).audit,
  login: async () => (await import("./application/login.ts")).login,
  logout: async () => (await import("./application/logout.ts")).logout,
  app: async () => (await import("./application/app.ts")).app,
  subscriptions: async () => (await import("./application/subscriptions.ts")).subscriptions,
  test: async () => (await import("./application/test.ts")).testCommand,
  listen: async () => (await import("./application/listen.ts")).listen,
  events: async () => (await import("./events.ts")).events,
  trigger: async () => (await import("./trigger/trigger.ts")).trigger,
  deliveries: async () => (await import("./deliveries/deliveries.ts")).deliveries,
  backup: async () => (await import("./backup.ts")).backup,
  restore: async () => (await import("./restore.ts")).restore,
  migrate: async () => (await import("./migrate.ts")).migrate,
  doctor: async () => (await import("./doctor.ts")).doctor,
  config: async () => (await import("./operations/config.ts")).configCommand,
  completion: async () => (await import("./completion/completion.ts")).completion,
  openapi: async () => (await import("./openapi.ts")).openapi,
};

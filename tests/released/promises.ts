/** The sentences of docs/stability.md that the tests of this folder check, word for word. */
export const promises = {
  operations: "No path, method or `operationId` is removed.",
  accepts:
    "A request that is accepted stays accepted: it needs no further parameter, field or header, and no type, list of values or limit gets narrower.",
  effect: "No parameter or field of a request is removed, or gets another default.",
  answers: "No field or header of an answer is removed, and none that is always there becomes optional.",
  values: "A field of an answer keeps its type, and gets no further values and no wider limits.",
  statuses: "A successful answer keeps its status and its media type.",
  access: "No operation needs another scope or role.",
  events: "No event type and no version of one is removed.",
  clients: "No name that a client exports is removed.",
  settings:
    "No setting is removed, renamed or gets another default, under any of its names: option, variable, key in the file.",
  commands: "No command, action, option or variable of one is removed; an option takes what it took.",
  exitCodes: "A command has the exit codes that it had.",
  logEvents: "An event of the log keeps its name and its level.",
  requestLine: "The line of a request keeps its fields.",
  metrics: "A metric keeps its name, its type and its labels.",
  migrations: "A released migration never changes, and new ones follow it.",
  schema: "A database that was upgraded has the same schema as a new one.",
  deliveries: "Every 1.x opens the data of every earlier 1.x, and what was pending is delivered.",
} as const;

export type Promised = keyof typeof promises;

/** A difference from a release that docs/stability.md forbids. */
export interface Break {
  readonly promise: Promised;
  /** What differs, such as `GET /public/v1/users/{username}: 200: bio is removed`. */
  readonly what: string;
}

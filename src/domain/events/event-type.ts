import type { Static, TSchema } from "@sinclair/typebox";
import type { FieldProblem } from "../errors.ts";

/** A kind of event that the platform publishes and applications subscribe to. */
export interface EventType<Payload extends TSchema = TSchema> {
  readonly name: string;
  /** Part of the type's identity: a payload that changes incompatibly gets a new version. */
  readonly version: number;
  readonly description: string;
  /** What `data` of a published event must fit; closed, so that consumers meet no unknown field. */
  readonly payload: Payload;
  /** A realistic payload that fits the schema. */
  readonly example: Static<Payload>;
  /** How long an undelivered event is worth retrying; null: for the whole retry schedule. */
  readonly timeToLiveMs: number | null;
  /** Checks payloads of a registered type, whose schema is not one of TypeBox. */
  readonly check?: (data: unknown) => FieldProblem[];
}

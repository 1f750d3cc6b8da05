import { DomainError } from "../../domain/errors.ts";
import type { Cursors } from "../cursors.ts";
import type { StreamOwner } from "./stream-slots.ts";

/**
 * A position in the event stream of an application: all deliveries up to `seq` and notices up to `notice` were sent.
 */
export interface StreamPosition {
  /** The number of the delivery. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The number of the notice. */
  readonly notice: number;
}

/** A position whose `notice` is null if its id was made by a version without notices. */
export type KnownPosition = Omit<StreamPosition, "notice"> & { readonly notice: number | null };

/** The id of a position as a client sends it, and where it stands in the request. */
export interface LastId {
  readonly in: "header" | "query";
  readonly field: string;
  readonly text: string;
}

/** Returns the name of an owner's stream. */
export function streamOf({ applicationId, userId }: StreamOwner): string {
  return `stream ${applicationId} ${userId ?? "all"}`;
}

/** Returns the `id` of a position in an owner's stream. */
export function idOf(cursors: Cursors, { seq, at, notice }: StreamPosition, owner: StreamOwner): string {
  return cursors.make([seq, at, notice], streamOf(owner));
}

/** Returns the position of `lastId`. Throws `invalid_cursor` if it is not an id of this stream. */
export function positionOfId(cursors: Cursors, lastId: LastId, owner: StreamOwner): KnownPosition {
  const found = cursors.read(lastId.text);
  if (!found?.isFor(streamOf(owner))) throw unknownId(lastId);
  const [seq, at, notice = null] = found.position as [number, number, number?];
  return { seq, at, notice };
}

function unknownId({ in: place, field }: LastId): DomainError {
  const message = "is not an id of this stream; leave it out to begin with new events";
  const errors = [{ in: place, field, message }];
  return new DomainError("invalid_cursor", `${field} ${message}`, { errors });
}

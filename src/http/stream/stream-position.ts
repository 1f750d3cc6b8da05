import { DomainError } from "../../domain/errors.ts";
import type { Cursors } from "../cursors.ts";
import type { StreamOwner } from "./stream-places.ts";

/** A position in the event stream of an application: all deliveries up to `seq` and notices up to `notice` were sent. */
export interface StreamPosition {
  /** The number of the delivery. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The number of the notice. */
  readonly notice: number;
}

/** A position as an id of an earlier version has it: without notices. */
export type KnownPosition = Omit<StreamPosition, "notice"> & { readonly notice: number | null };

/** The name of an owner's stream. */
export function streamOf({ applicationId, userId }: StreamOwner): string {
  return `stream ${applicationId} ${userId ?? "all"}`;
}

/** The `id` of a position in an owner's stream. */
export function idOf(cursors: Cursors, { seq, at, notice }: StreamPosition, owner: StreamOwner): string {
  return cursors.make([seq, at, notice], streamOf(owner));
}

/** The position after which a stream continues; throws `invalid_cursor` when `lastId` is not an id of this stream. */
export function positionOfId(cursors: Cursors, lastId: string, owner: StreamOwner): KnownPosition {
  const found = cursors.read(lastId);
  if (!found?.isFor(streamOf(owner))) throw unknownId();
  const [seq, at, notice = null] = found.position as [number, number, number?];
  return { seq, at, notice };
}

function unknownId(): DomainError {
  const message = "is not an id of this stream; leave it out to begin now";
  const errors = [{ in: "header" as const, field: "Last-Event-ID", message }];
  return new DomainError("invalid_cursor", `Last-Event-ID ${message}`, { errors });
}

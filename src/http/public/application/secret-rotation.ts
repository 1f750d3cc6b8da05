import { Type } from "@sinclair/typebox";
import { type Rotation, rotationLimits } from "../../../domain/applications.ts";
import { isoTime, second } from "../../../domain/time.ts";
import { nullable } from "../../../domain/validation/fields.ts";
import { IsoTimestamp } from "../../fields.ts";

/*
 * Schemas of the rotation of a secret, for the public and the admin API.
 */

export const rotationFields = {
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: rotationLimits.maxOverlapSeconds,
      default: rotationLimits.defaultOverlapSeconds,
      description: "Seconds for which older secrets remain valid, at most; 0 ends them at once.",
    }),
  ),
};

export const OverlapUntil = nullable(IsoTimestamp, {
  description: "Time until which older secrets remain valid; null if they ended at once.",
});

/** Returns the rotation that a request asks for. */
export function rotationOf(
  body: { readonly overlap_seconds?: number } | null | undefined,
  now: number,
): Rotation {
  const { overlap_seconds = rotationLimits.defaultOverlapSeconds } = body ?? {};
  return { now, overlapMs: overlap_seconds * second };
}

/** Returns the time at which older secrets end, or null if they end at once. */
export function overlapEnd({ now, overlapMs }: Rotation): string | null {
  return overlapMs === 0 ? null : isoTime(now + overlapMs);
}

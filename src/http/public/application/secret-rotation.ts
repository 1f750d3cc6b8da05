import { Type } from "@sinclair/typebox";
import { type Rotation, rotationLimits } from "../../../domain/applications.ts";
import { isoTime, second } from "../../../domain/time.ts";
import { nullable } from "../../../domain/validation/fields.ts";
import { IsoTimestamp } from "../../fields.ts";

/*
 * What both APIs say about the rotation of a secret.
 */

export const rotationFields = {
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: rotationLimits.maxOverlapSeconds,
      default: rotationLimits.defaultOverlapSeconds,
      description: "For how long every older secret stays good, at most; 0: it ends at once.",
    }),
  ),
};

export const OverlapUntil = nullable(IsoTimestamp, {
  description: "Until then older secrets are good, too; null: they are not.",
});

/** The rotation that a request asks for. */
export function rotationOf(
  body: { readonly overlap_seconds?: number } | null | undefined,
  now: number,
): Rotation {
  const { overlap_seconds = rotationLimits.defaultOverlapSeconds } = body ?? {};
  return { now, overlapMs: overlap_seconds * second };
}

/** When the older secrets end; null: at once. */
export function overlapEnd({ now, overlapMs }: Rotation): string | null {
  return overlapMs === 0 ? null : isoTime(now + overlapMs);
}

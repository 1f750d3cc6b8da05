import type { IconNode } from "lucide";
import { h } from "preact";

/** A picture beside words; screen readers pass over it. */
export function Icon({ of }: { of: IconNode }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  );
}

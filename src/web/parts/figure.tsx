import type { ComponentChildren } from "preact";

/** A number with its label; `href` links to the counted objects. */
export function Figure({
  value,
  label,
  href,
}: {
  value: ComponentChildren;
  label: ComponentChildren;
  href?: string;
}) {
  const content = (
    <>
      <strong>{value}</strong>
      <small>{label}</small>
    </>
  );
  return href ? (
    <a class="card figure" href={href}>
      {content}
    </a>
  ) : (
    <div class="card figure">{content}</div>
  );
}

/** A bar of a used part, coloured when little is left. With `isShare`, it is a share, with a scale of quarters. */
export function Bar({ part, label, isShare = false }: { part: number; label: string; isShare?: boolean }) {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
  const tone = isShare ? "share" : part < 0.8 ? "" : part < 0.95 ? "warn" : "bad";
  return (
    <div class={`bar ${tone}`} role="progressbar" aria-label={label} aria-valuenow={percent}>
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}

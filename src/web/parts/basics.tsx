import { Check, CircleAlert, CircleCheck, Copy, type IconNode, RefreshCw, TriangleAlert } from "lucide";
import { type ComponentChildren, h } from "preact";
import { useState } from "preact/hooks";
import type { Fault } from "../client.ts";
import { useTitle } from "../places.ts";

/** Formats a size in bytes, like "1.2 GB". */
export const size = (bytes: number) =>
  bytes >= 1e9
    ? `${(bytes / 1e9).toFixed(1)} GB`
    : bytes >= 1e6
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${Math.ceil(bytes / 1e3)} kB`;

/** A whole number with thousands separated. */
export const number = (value: number) => value.toLocaleString("en-US");

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly kind?: "primary" | "danger" | "quiet" | "danger primary";
  readonly icon?: IconNode | undefined;
  /** The accessible name of a button that shows only its icon. */
  readonly label?: string;
  /** The row of a list that the button belongs to, for its accessible name. */
  readonly of?: string;
  readonly type?: "button" | "submit";
  readonly isSmall?: boolean;
  readonly isBusy?: boolean;
  readonly disabled?: boolean | undefined;
  readonly onClick?: (event: MouseEvent) => unknown;
}

export function Button({
  children,
  kind,
  icon,
  label,
  of,
  type = "button",
  isSmall,
  isBusy,
  ...rest
}: ButtonProps) {
  const names = ["button", kind, isSmall && "small", label && "icon-only"].filter(Boolean).join(" ");
  const { disabled = false, onClick } = rest;
  // A disabled button would lose the focus.
  const press = (event: MouseEvent) => (isBusy ? event.preventDefault() : onClick?.(event));
  return (
    <button
      type={type}
      class={names}
      aria-label={label}
      title={label}
      aria-busy={isBusy}
      aria-disabled={isBusy}
      disabled={disabled}
      onClick={press}
    >
      {icon && <Icon of={icon} />}
      {children}
      <RowName of={of} />
    </button>
  );
}

/** The row of a list that a control belongs to, as the end of the control's accessible name. */
function RowName({ of }: { of: string | undefined }) {
  if (!of) return null;
  return (
    <span class="visually-hidden">
      {" "}
      <bdi>{of}</bdi>
    </span>
  );
}

/** A link that looks like a button. */
export function LinkButton({
  href,
  children,
  kind = "",
  of,
}: {
  href: string;
  children: ComponentChildren;
  kind?: string;
  /** The row of a list that the link belongs to, for its accessible name. */
  of?: string;
}) {
  return (
    <a class={`button ${kind}`} href={href}>
      {children}
      <RowName of={of} />
    </a>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (event: Event) => {
    event.stopPropagation();
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" class="copy" aria-label={isCopied ? "Copied" : label} title={label} onClick={copy}>
      <Icon of={isCopied ? Check : Copy} />
    </button>
  );
}

/** A value such as an id, with a button that copies it; `name` says what it is, in place of the value itself. */
export function Value({ text, name }: { text: string; name?: string }) {
  return (
    <span class="value">
      <code title={text}>{text}</code>
      <CopyButton text={text} label={`Copy ${name ?? text.slice(0, 40)}`} />
    </span>
  );
}

type Tone = "ok" | "warn" | "bad" | "";
const tones: Readonly<Record<string, Tone>> = {
  delivered: "ok",
  live: "ok",
  pending: "warn",
  failing: "warn",
  failed: "bad",
  expired: "bad",
  disabled: "bad",
};

/** A state, by word and colour; `tone` is for words without a colour of their own. */
export function Status({ word, tone }: { word: string; tone?: Tone }) {
  return <span class={`pill ${tone ?? tones[word] ?? ""}`}>{word}</span>;
}

/** A state in one sentence, and what to do next. Screen readers announce changes of a title without a time in it. */
export function Notice({
  tone = "",
  title,
  isAlert = false,
  children,
}: {
  tone?: Tone;
  /** Whether the notice results from an action of the user. Screen readers then announce it immediately. */
  isAlert?: boolean;
  title: ComponentChildren;
  children?: ComponentChildren;
}) {
  const icon = tone === "ok" ? CircleCheck : tone === "" ? CircleAlert : TriangleAlert;
  return (
    <div class={`notice ${tone}`} role={isAlert ? "alert" : undefined}>
      <Icon of={icon} />
      <div class="grow">
        <strong aria-live={!isAlert && typeof title === "string" ? "polite" : undefined}>{title}</strong>
        {children}
      </div>
    </div>
  );
}

/** The error of a failed request. */
export function FaultNotice({ fault, retry }: { fault: Fault | null; retry?: () => void }) {
  if (fault === null) return null;
  const details = Object.entries(fault.fields).map(([field, message]) => `${field} ${message}`);
  return (
    <Notice tone="bad" isAlert title={fault.message}>
      {details.length > 1 && details.map((line) => <p key={line}>{line}</p>)}
      {fault.requestId && <small class="muted">Request {fault.requestId}</small>}
      {retry && fault.status !== 404 && (
        <div class="row">
          <Button isSmall icon={RefreshCw} onClick={retry}>
            Try again
          </Button>
        </div>
      )}
    </Notice>
  );
}

/** A placeholder while data is loading. */
export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading…</span>
    </div>
  );
}

/** The empty state of a list, with what to do next. */
export function Empty({
  title,
  text,
  children,
}: {
  title: string;
  text?: string | undefined;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}

/** The heading of a page, and its title. */
export function Head({
  title,
  crumb,
  children,
  actions,
}: {
  title: string;
  crumb?: { href: string; text: string };
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  useTitle(title);
  return (
    <div class="head">
      <div>
        {crumb && (
          <div class="crumbs">
            <a href={crumb.href}>{crumb.text}</a>
          </div>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div class="row wrap">{actions}</div>}
    </div>
  );
}

export function Card({
  title,
  actions,
  isFlush,
  children,
}: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  isFlush?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <section class={isFlush ? "card flush" : "card"}>
      {(title || actions) && (
        <header>
          {title && <h2>{title}</h2>}
          {actions && <div class="row wrap">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren] | null | false)[] }) {
  return (
    <dl class="facts">
      {rows.map(
        (row) =>
          row && (
            <>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}

/** A decorative icon, hidden from screen readers. */
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

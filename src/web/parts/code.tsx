import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "./basics.tsx";

const tokens = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** The most characters of a text that is highlighted. */
const maxColored = 40_000;

/** Highlighted JSON, rendered as text and never as markup. */
function colored(text: string): ComponentChildren {
  if (text.length > maxColored) return text;
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(tokens)) {
    const [all, string, colon] = match;
    parts.push(text.slice(at, match.index));
    const kind = string === undefined ? "other" : colon === undefined ? "text" : "key";
    parts.push(<span class={kind}>{string ?? all}</span>, colon);
    at = match.index + all.length;
  }
  parts.push(text.slice(at));
  return parts;
}

/** A block of code, with a button that copies it. JSON is formatted in lines. */
export function Code({ text, label }: { text: string; label: string }) {
  const isJson = /^\s*[[{]/.test(text);
  const printed = isJson ? setOut(text) : text;
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>{isJson ? colored(printed) : printed}</pre>
      </section>
      <CopyButton text={printed} label={`Copy ${label.toLowerCase()}`} />
    </div>
  );
}

/** The headers of a request or response. */
export function HeaderLines({
  headers,
  label,
}: {
  headers: Readonly<Record<string, string>>;
  label: string;
}) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return <Code text={lines.join("\n")} label={label} />;
}

function setOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

interface Tab {
  readonly name: string;
  readonly show: () => ComponentChildren;
}

export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  const [chosen, setChosen] = useState(0);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = (chosen + step + tabs.length) % tabs.length;
    setChosen(next);
    (event.currentTarget as HTMLElement).querySelectorAll("button")[next]?.focus();
  };
  return (
    <div class="stack tight">
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ name }, i) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={i === chosen}
            tabIndex={i === chosen ? 0 : -1}
            onClick={() => setChosen(i)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" aria-label={tabs[chosen]?.name}>
        {tabs[chosen]?.show()}
      </div>
    </div>
  );
}

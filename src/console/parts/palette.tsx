import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";

/** Something that the palette leads to. */
export interface Place {
  readonly text: string;
  readonly kind: string;
  readonly href: string;
}

export const isPaletteOpen = signal(false);

const waitMs = 150;

/**
 * The command palette, which Ctrl-K or ⌘K opens: pages by name at once, and what `search` finds.
 * @param search looks up what a person types; it may fail
 */
export function Palette({
  places,
  search,
}: {
  places: readonly Place[];
  search: (text: string) => Promise<readonly Place[]>;
}) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.value;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return isPaletteOpen.value ? <PaletteDialog places={places} search={search} /> : null;
}

function PaletteDialog({ places, search }: Parameters<typeof Palette>[0]) {
  const { route } = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [found, setFound] = useState<readonly Place[]>([]);
  const [chosen, setChosen] = useState(0);
  const close = () => {
    isPaletteOpen.value = false;
  };
  // As in `Dialog`.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  useEffect(() => {
    setFound([]);
    const wanted = text.trim();
    if (wanted === "") return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const results = await search(wanted).catch(() => []);
      if (!isOver) setFound(results);
    }, waitMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text]);
  const wanted = text.trim().toLowerCase();
  const shown = [...places.filter((one) => one.text.toLowerCase().includes(wanted)), ...found].slice(0, 30);
  const active = Math.min(chosen, Math.max(0, shown.length - 1));
  const go = (place: Place | undefined) => {
    if (!place) return;
    close();
    route(place.href);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(active + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(active - 1, 0));
    else if (event.key === "Enter") go(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Go to"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown.length > 0 ? `palette-${active}` : undefined}
        placeholder="Pages, applications, users, the id of a delivery…"
        value={text}
        onInput={(event) => {
          setText((event.target as HTMLInputElement).value);
          setChosen(0);
        }}
        onKeyDown={onKey}
      />
      {shown.length === 0 && <p>Nothing is called that.</p>}
      <div class="options" id="palette-list" role="listbox" aria-label="Found">
        {shown.map((place, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the input does the same
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
          <div
            key={place.href + place.text}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === active}
            onClick={() => go(place)}
          >
            <span class="cell long">{place.text}</span>
            <small>{place.kind}</small>
          </div>
        ))}
      </div>
    </dialog>
  );
}

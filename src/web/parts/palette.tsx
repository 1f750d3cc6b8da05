import { useEffect, useState } from "preact/hooks";
import { useModal } from "./dialog.tsx";

/** A result of the palette. */
export interface PaletteEntry {
  readonly text: string;
  /** A description in one line. */
  readonly about?: string;
  readonly kind: string;
  readonly href: string;
}

interface PaletteProps {
  readonly label: string;
  readonly placeholder: string;
  /** Returns the local matches of a text. */
  readonly known: (text: string) => readonly PaletteEntry[];
  /** Searches the server for further matches; may reject. */
  readonly search?: (text: string) => Promise<readonly PaletteEntry[]>;
  /** The message when nothing matches. */
  readonly nothing: (text: string) => string;
  readonly go: (href: string) => void;
  readonly onClose: () => void;
}

const waitMs = 150;
const most = 30;

/** A dialog that searches for a typed text and opens the chosen result. */
export function Palette({ label, placeholder, known, search, nothing, go, onClose }: PaletteProps) {
  const dialog = useModal();
  const [text, setText] = useState("");
  /** null while the server is searched. */
  const [found, setFound] = useState<readonly PaletteEntry[] | null>([]);
  const [chosen, setChosen] = useState(0);
  const wanted = text.trim();
  useEffect(() => {
    setFound(wanted === "" || !search ? [] : null);
    if (wanted === "" || !search) return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const results = await search(wanted).catch(() => []);
      if (!isOver) setFound(results);
    }, waitMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [wanted]);
  const shown = [...known(wanted), ...(found ?? [])].slice(0, most);
  const active = Math.min(chosen, Math.max(0, shown.length - 1));
  useEffect(() => {
    document.getElementById(`palette-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const leave = (place: PaletteEntry | undefined) => {
    if (!place) return;
    onClose();
    go(place.href);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setChosen(Math.min(active + 1, shown.length - 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(active - 1, 0));
    else if (event.key === "Enter") leave(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    <dialog
      ref={dialog}
      class="palette"
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `palette-${active}` : undefined}
        placeholder={placeholder}
        value={text}
        onInput={(event) => {
          setText((event.target as HTMLInputElement).value);
          setChosen(0);
        }}
        onKeyDown={onKey}
      />
      <p role="status" hidden={shown.length > 0}>
        {shown.length === 0 && (found === null ? "Searching…" : nothing(wanted))}
      </p>
      <div class="options" id="palette-list" role="listbox" aria-label="Found">
        {shown.map((place, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the input does the same
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
          <div
            key={place.href + place.text}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === active}
            onClick={() => leave(place)}
          >
            <div class="grow">
              {place.about === undefined ? (
                <bdi>{place.text}</bdi>
              ) : (
                <strong>
                  <bdi>{place.text}</bdi>
                </strong>
              )}
              <span>
                <bdi>{place.about}</bdi>
              </span>
            </div>
            <small>{place.kind}</small>
          </div>
        ))}
      </div>
    </dialog>
  );
}

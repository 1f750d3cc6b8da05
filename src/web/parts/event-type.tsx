import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded } from "../load.ts";
import { useQuery } from "../places.ts";
import { Status } from "./basics.tsx";
import { Code, Tabs } from "./code.tsx";
import { Find, NoMatch, Select } from "./form.tsx";
import { useKeptFocus } from "./kept-place.ts";
import { Read } from "./table.tsx";

interface EventType {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly example: unknown;
  readonly schema: unknown;
  /** Whether the type is built in; only in the admin API. */
  readonly is_built_in?: boolean;
}

interface ListProps<Type> {
  readonly of: Loaded<readonly Type[]>;
  /** The controls of a type. */
  readonly actionsOf: (type: Type) => ComponentChildren;
}

/** A list of event types, filtered by the part of a name in the URL. */
export function EventTypeList<Type extends EventType>({ of, actionsOf }: ListProps<Type>) {
  const [query] = useQuery();
  const wanted = (query["name"] ?? "").toLowerCase();
  const found = (types: readonly Type[]) => types.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <>
      <Find name="name" placeholder="Part of a name" />
      <Read of={of}>
        {(types) =>
          found(types).length === 0 ? (
            <NoMatch of="event types" />
          ) : (
            <Cards types={found(types)} actionsOf={actionsOf} />
          )
        }
      </Read>
    </>
  );
}

function Cards<Type extends EventType>({
  types,
  actionsOf,
}: Pick<ListProps<Type>, "actionsOf"> & { types: readonly Type[] }) {
  const list = useRef<HTMLDivElement>(null);
  useKeptFocus(list, types.length);
  return (
    <div class="stack tight" ref={list}>
      {types.map((type) => (
        <Card key={`${type.name} ${type.version}`} type={type} isOpen={types.length === 1}>
          {actionsOf(type)}
        </Card>
      ))}
    </div>
  );
}

interface CardProps {
  readonly type: EventType;
  /** Whether the type is the one in the URL. */
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}

/** An event type in a line, which expands to its controls, example and schema. */
function Card({ type, isOpen, children }: CardProps) {
  const [isShown, setShown] = useState(isOpen);
  useEffect(() => {
    if (isOpen) setShown(true);
  }, [isOpen]);
  const { name, version, description, example, schema, is_built_in = true } = type;
  const code = (label: string, value: unknown) => ({
    name: label,
    show: () => <Code text={JSON.stringify(value)} label={`${label} of ${name}`} />,
  });
  return (
    <details
      class="card flush event-type"
      open={isShown}
      onToggle={(event) => setShown((event.target as HTMLDetailsElement).open)}
    >
      <summary>
        <h2>
          <code>{name}</code> <small class="muted nowrap">version {version}</small>{" "}
          {!is_built_in && <Status word="registered" tone="ok" />}
        </h2>
        <bdi class="muted">{description}</bdi>
      </summary>
      {isShown && (
        <div class="stack">
          {children && <div class="row wrap">{children}</div>}
          <Tabs label={`About ${name}`} tabs={[code("Example", example), code("JSON Schema", schema)]} />
        </div>
      )}
    </details>
  );
}

/**
 * Returns the event type of the URL, by default in its newest version, and the fields that select it. Without a type of
 * this name it is undefined, and the fields say so.
 */
export function useTypeChoice<Type extends EventType>(types: readonly Type[]) {
  const [query, setQuery] = useQuery();
  const name = query["event"] ?? "channel.followed";
  const versions = types.filter((type) => type.name === name);
  const type = versions.find(({ version }) => String(version) === query["version"]) ?? versions.at(-1);
  const same = (text: string) => [text, text] as const;
  const choice = (
    <>
      <Select
        label="Event type"
        value={name}
        problem={types.length > 0 && !type ? `There is no event type ${name}.` : undefined}
        options={[...new Set([...types.map(({ name }) => name), name])].map(same)}
        onInput={(event) => setQuery({ event, version: null })}
      />
      {versions.length > 1 && (
        <Select
          label="Version"
          value={String(type?.version)}
          options={versions.map(({ version }) => same(String(version)))}
          onInput={(version) => setQuery({ version })}
        />
      )}
    </>
  );
  return [type, choice] as const;
}

import { Plus } from "lucide";
import { useState } from "preact/hooks";
import { Button, Card, Empty } from "../parts/basics.tsx";
import { Code } from "../parts/code.tsx";
import { Confirm, toast } from "../parts/overlays.tsx";
import { Table } from "../parts/table.tsx";
import { Since, Time } from "../parts/time.tsx";
import { FilterEditor } from "./editor.tsx";
import { type FilterSource, fieldsOf, inWords, typesOf } from "./form.ts";

/** The opened filter; its type is null until a new one is saved. Each opening has a number of its own. */
interface Opened {
  readonly type: string | null;
  readonly turn: number;
}

interface FilterListProps {
  readonly of: FilterSource;
  /** The type whose filter is opened at first. */
  readonly open?: string | undefined;
  /** Why the user may not change them. */
  readonly why?: string | false;
}

/** The filters of an application, and the opened one with its form. */
export function FilterList({ of: source, open, why }: FilterListProps) {
  const { filters, setAt, types, canChange } = source;
  const [opened, setOpened] = useState<Opened | null>(open ? { type: open, turn: 0 } : null);
  const [removing, setRemoving] = useState<string | null>(null);
  const show = (type: string | null) => setOpened({ type, turn: (opened?.turn ?? 0) + 1 });
  const rows = Object.keys(filters).sort();
  const read = opened?.type && !canChange ? filters[opened.type] : undefined;
  return (
    <>
      <Card
        isFlush
        title={rows.length === 1 ? "1 filter" : `${rows.length || "No"} filters`}
        actions={
          canChange && (
            <Button isSmall icon={Plus} onClick={() => show(null)}>
              Add a filter
            </Button>
          )
        }
      >
        {why && <p class="sample muted">{why}</p>}
        {rows.length === 0 ? (
          <Empty
            title="All events are sent"
            text="With a filter for an event type, only those events are sent that match it, such as messages that begin with “!”."
          />
        ) : (
          <Table
            label="Filters"
            rows={rows}
            keyOf={(type) => type}
            columns={[
              {
                name: "Event type",
                isFilling: true,
                show: (type) => (
                  <>
                    <code class="cell">{type}</code>
                    <small class="cell muted">
                      {inWords(
                        filters[type] ?? {},
                        fieldsOf(typesOf(type, types).map(({ schema }) => schema)),
                      )}
                    </small>
                  </>
                ),
              },
              {
                name: "In force since",
                hide: "narrow",
                isNumber: true,
                show: (type) => <Time at={setAt[type] ?? ""} />,
              },
              {
                name: "",
                isNumber: true,
                show: (type) => (
                  <span class="row end">
                    <Button isSmall kind="quiet" of={type} onClick={() => show(type)}>
                      {canChange ? "Edit" : "Show"}
                    </Button>
                    {canChange && (
                      <Button isSmall kind="quiet" of={type} onClick={() => setRemoving(type)}>
                        Remove
                      </Button>
                    )}
                  </span>
                ),
              },
            ]}
          />
        )}
      </Card>
      {opened && canChange && (
        <FilterEditor
          key={opened.turn}
          type={opened.type}
          of={source}
          onSaved={(type) => setOpened({ ...opened, type })}
          onClose={() => setOpened(null)}
        />
      )}
      {opened?.type && read && (
        <Card title={<code>{opened.type}</code>} actions={<Since at={setAt[opened.type]} />}>
          <Code text={JSON.stringify(read)} label={`Filter of ${opened.type}`} />
        </Card>
      )}
      {removing !== null && (
        <Removal
          type={removing}
          of={source}
          onClose={() => setRemoving(null)}
          onDone={() => opened?.type === removing && setOpened(null)}
        />
      )}
    </>
  );
}

interface RemovalProps {
  readonly type: string;
  readonly of: FilterSource;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function Removal({ type, of: { filters, change }, onClose, onDone }: RemovalProps) {
  const remove = async () => {
    const former = filters[type] ?? null;
    await change(type, null);
    onDone();
    toast(`The filter of ${type} is removed.`, () => change(type, former));
  };
  return (
    <Confirm title={`Remove the filter of ${type}?`} verb="Remove" act={remove} onClose={onClose}>
      <p>All events of this type are sent from then on.</p>
    </Confirm>
  );
}

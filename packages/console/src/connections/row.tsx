import type { ConnectionHour, ConnectionLevel } from '@leadtap/contract';
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Text, visible } from '../text.tsx';
import { HoursBar } from './hours.tsx';
import { Sign } from './level.tsx';

interface NameProps {
  readonly connection: { readonly name: string; readonly host?: string | null };
}

/** A webhook has its host beside its name. */
export const ConnectionName = ({ connection: { name, host } }: NameProps): JSX.Element => (
  <>
    <bdi>{visible(name)}</bdi>
    {host && host !== name && <span class="soft"> → {visible(host)}</span>}
  </>
);

/** The rows whose fix the visitor has opened or closed, by id. */
const chosen = signal<Readonly<Record<string, boolean>>>({});

const fixId = (id: string): string => `fix-${id}`;

/** Opens a row and goes to what to do about it. */
export function showFix(id: string): void {
  chosen.value = { ...chosen.value, [id]: true };
  setTimeout(() => document.getElementById(fixId(id))?.focus());
}

export interface RowProps {
  readonly id: string;
  /** None: it is no judgement. */
  readonly level?: ConnectionLevel | undefined;
  /** Its name, as it is shown. */
  readonly label: ComponentChildren;
  /** Of its log. */
  readonly href?: string | undefined;
  readonly message: string;
  /** What to do. Null: nothing. */
  readonly fix: string | null;
  readonly hours?: readonly ConnectionHour[];
  /** Behind the message. */
  readonly children?: ComponentChildren;
  readonly buttons?: ComponentChildren;
  /** Below all else. */
  readonly below?: ComponentChildren;
  /** Unless the visitor has chosen. */
  readonly isOpen?: boolean;
}

/** Level, name, what the service says about it, its last 24 hours and what can be done; what to do below, if it is opened. */
export function Row(props: RowProps): JSX.Element {
  const { id, level, label, href, message, fix, hours, children, buttons, below } = props;
  const isOpen = chosen.value[id] ?? props.isOpen ?? false;
  const toggle = () => {
    chosen.value = { ...chosen.value, [id]: !isOpen };
  };
  return (
    <li class="connection">
      {level ? <Sign level={level} /> : <span class="sign" />}
      <b class="connection-name">{href === undefined ? label : <a href={href}>{label}</a>}</b>
      <span class={`connection-message ${level}`}>
        <Text>{visible(message)}</Text> {children}
      </span>
      {hours && <HoursBar hours={hours} />}
      {(fix !== null || buttons) && (
        <div class="connection-buttons">
          {buttons}
          {fix !== null && (
            <button
              type="button"
              class="small chevron"
              aria-expanded={isOpen}
              aria-controls={fixId(id)}
              onClick={toggle}
            >
              What to do
            </button>
          )}
        </div>
      )}
      {fix !== null && (
        <p class="connection-fix" id={fixId(id)} tabIndex={-1} hidden={!isOpen}>
          <Text>{visible(fix)}</Text>
        </p>
      )}
      {below}
    </li>
  );
}

interface RowsProps<T> {
  readonly all: readonly T[];
  readonly render: (item: T) => JSX.Element;
}

/** In the order of the service. What is being read stays where it is. */
export function Rows<T extends { readonly id: string }>({ all, render }: RowsProps<T>): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const order = useRef<readonly string[]>([]);
  const isRead = list.current?.matches(':hover, :focus-within');
  const held = isRead ? order.current.flatMap((id) => all.find((item) => item.id === id) ?? []) : [];
  const shown = [...held, ...all.filter((item) => !held.includes(item))];
  order.current = shown.map(({ id }) => id);
  return (
    <ul class="connections" ref={list}>
      {shown.map(render)}
    </ul>
  );
}

interface ConnectionListsProps<In, Out> {
  readonly in: readonly In[];
  readonly out: readonly Out[];
  readonly render: (connection: In | Out) => JSX.Element;
}

type Identified = { readonly id: string };

/** All ways in and out. */
export const ConnectionLists = <In extends Identified, Out extends Identified>({
  render,
  ...all
}: ConnectionListsProps<In, Out>): JSX.Element => (
  <>
    <section aria-labelledby="leads-in">
      <h2 id="leads-in">Leads come from</h2>
      {all.in.length === 0 ? (
        <p class="soft">No lead has come in over HTTP yet.</p>
      ) : (
        <Rows all={all.in} render={render} />
      )}
    </section>
    {all.out.length > 0 && (
      <section aria-labelledby="leads-out">
        <h2 id="leads-out">Leads go to</h2>
        <Rows all={all.out} render={render} />
      </section>
    )}
  </>
);

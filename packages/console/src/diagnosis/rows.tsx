import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Text, visible } from '../text.tsx';
import { type Hour, Hours } from './hours.tsx';
import { LEVELS, type Level, Sign } from './level.tsx';

/** A consumer or a sender as the service diagnoses it. */
export interface Diagnosis {
  readonly id: string;
  readonly name: string | null;
  readonly level: Level;
  /** What the service says about it. */
  readonly message: string;
  /** What to do. Null: nothing. */
  readonly fix: string | null;
}

export const isProblem = ({ level }: Diagnosis): boolean => level === 'error' || level === 'warning';

/** The first one of the worst. */
export const findWorst = <T extends Diagnosis>(all: readonly T[]): T | undefined => sortByLevel(all)[0];

/** Without an order of its own: the last request of a row would move it. */
function sortByLevel<T extends Diagnosis>(all: readonly T[]): T[] {
  return [...all].sort(
    (a, b) =>
      LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
      (a.name ?? '').localeCompare(b.name ?? '') ||
      a.id.localeCompare(b.id),
  );
}

/** The rows that the visitor has opened or closed, by id. */
const chosen = signal<Readonly<Record<string, boolean>>>({});

const fixId = (id: string): string => `fix-${id}`;

/** Opens a row and goes to what to do about it. */
export function showFix(id: string): void {
  chosen.value = { ...chosen.value, [id]: true };
  setTimeout(() => document.getElementById(fixId(id))?.focus());
}

export interface DiagnosisRowProps extends Omit<Diagnosis, 'name' | 'level'> {
  /** None: it is no judgement. */
  readonly level?: Level | undefined;
  /** Its name, as it is shown. */
  readonly label: ComponentChildren;
  /** Of its log. */
  readonly href?: string | undefined;
  readonly hours?: readonly Hour[] | undefined;
  /** When the service answered. */
  readonly now?: number;
  /** Behind the message. */
  readonly children?: ComponentChildren;
  readonly buttons?: ComponentChildren;
  /** Unless the visitor has chosen. */
  readonly isOpen?: boolean;
}

/** Its level, and what the service says about it; what to do below, if it is opened. */
export function DiagnosisRow(props: DiagnosisRowProps): JSX.Element {
  const { id, level, label, href, message, fix, hours, now = 0, children, buttons } = props;
  const isOpen = chosen.value[id] ?? props.isOpen ?? false;
  const isFoldable = fix !== null || Boolean(buttons);
  const toggle = () => {
    chosen.value = { ...chosen.value, [id]: !isOpen };
  };
  return (
    <li class="consumer">
      {level ? <Sign level={level} /> : <span class="sign" />}
      <b class="consumer-name">{href === undefined ? label : <a href={href}>{label}</a>}</b>
      <span class={`consumer-message ${level}`}>
        <Text>{visible(message)}</Text> {children}
      </span>
      {hours && <Hours hours={hours} now={now} />}
      {isFoldable && (
        <button
          type="button"
          class="small chevron"
          aria-expanded={isOpen}
          aria-controls={fixId(id)}
          onClick={toggle}
        >
          {fix === null ? <span class="vh">More</span> : 'What to do'}
        </button>
      )}
      {isFoldable && (
        <div class="consumer-fix" id={fixId(id)} tabIndex={-1} hidden={!isOpen}>
          {fix !== null && (
            <p>
              <Text>{visible(fix)}</Text>
            </p>
          )}
          {buttons}
        </div>
      )}
    </li>
  );
}

interface DiagnosisRowsProps<T> {
  readonly all: readonly T[];
  readonly render: (item: T) => JSX.Element;
}

/** The worst first. Those that are not in use are folded. */
export function DiagnosisRows<T extends Diagnosis>({ all, render }: DiagnosisRowsProps<T>): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const order = useRef<readonly string[]>([]);
  const sorted = sortByLevel(all.filter(({ level }) => level !== 'inactive'));
  // What is being read stays where it is.
  const isRead = list.current?.matches(':hover, :focus-within');
  const held = isRead ? order.current.flatMap((id) => sorted.find((item) => item.id === id) ?? []) : [];
  const used = [...held, ...sorted.filter((item) => !held.includes(item))];
  order.current = used.map(({ id }) => id);
  const inactive = all.filter(({ level }) => level === 'inactive');
  return (
    <>
      {used.length > 0 && (
        <ul class="consumers" ref={list}>
          {used.map(render)}
        </ul>
      )}
      {inactive.length > 0 && (
        <details class="unused">
          <summary>{inactive.length} not in use</summary>
          <ul class="consumers">{inactive.map(render)}</ul>
        </details>
      )}
    </>
  );
}

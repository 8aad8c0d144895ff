import { type Signal, useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { now } from './clock.ts';

const DAY_MS = 86_400_000;
const UNITS = [
  [DAY_MS, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** `12 s`, `3 min`, `5 h`, `2 days`. */
export function formatDuration(ms: number): string {
  for (const [unitMs, unit] of UNITS) {
    const count = Math.floor(ms / unitMs);
    if (count >= 1) return `${count} ${unit}${unit === 'day' && count > 1 ? 's' : ''}`;
  }
  return '0 s';
}

/** How long until something happens, rounded up: `90 s`, `47 min`. */
export const formatWait = (ms: number): string =>
  ms <= 100_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.ceil(ms / 60_000)} min`;

/** `12 s ago`, `in 3 days`. */
export function formatRelative(time: number, from: number): string {
  const duration = formatDuration(Math.abs(time - from));
  if (Math.abs(time - from) < 1000) return 'now';
  return time > from ? `in ${duration}` : `${duration} ago`;
}

/** That of the texts, whatever the browser's is. */
const LOCALE = 'en-GB';

const EXACT = new Intl.DateTimeFormat(LOCALE, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
});

const SHORT: Intl.DateTimeFormatOptions = {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
};
const SHORT_THIS_YEAR = new Intl.DateTimeFormat(LOCALE, SHORT);
const SHORT_OTHER_YEAR = new Intl.DateTimeFormat(LOCALE, { ...SHORT, year: 'numeric' });

const isThisYear = (time: number): boolean =>
  new Date(time).getFullYear() === new Date(now.peek()).getFullYear();

/** `15 Dec, 14:00`, in the time zone of the visitor, with the year if it is another one. */
export const formatShort = (time: number): string =>
  (isThisYear(time) ? SHORT_THIS_YEAR : SHORT_OTHER_YEAR).format(time);

/** In the time zone of the visitor, which it names. */
export const formatExact = (time: number): string => EXACT.format(time);

const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
/** `14:03:12`. */
export const formatClock = (time: number): string => CLOCK.format(time);

const HOUR = new Intl.DateTimeFormat(LOCALE, { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const HOUR_END = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' });
/** `Tue, 14:00 to 15:00`, in the time zone of the visitor. */
export const formatHour = (start: number): string =>
  `${HOUR.format(start)} to ${HOUR_END.format(start + 3_600_000)}`;

const DAY = new Intl.DateTimeFormat(LOCALE, { month: 'short', day: 'numeric' });
const DAY_OTHER_YEAR = new Intl.DateTimeFormat(LOCALE, { year: 'numeric', month: 'short', day: 'numeric' });
/** `15 Feb`, with the year if it is another one. */
export const formatDay = (time: number): string => (isThisYear(time) ? DAY : DAY_OTHER_YEAR).format(time);

const WEEKDAY = new Intl.DateTimeFormat(LOCALE, {
  weekday: 'long',
  year: 'numeric',
  month: 'long',
  day: 'numeric',
});
/** `Tuesday 10 November 2026`. */
export const formatWeekday = (time: number): string => WEEKDAY.format(time);

interface TimeProps {
  readonly at: number | string;
  /** `age`: `12 s`, after a day `10 Nov, 14:03`; `relative`: `12 s ago`; `clock`: `14:03:12 (2 min ago)`. */
  readonly form?: 'age' | 'relative' | 'clock';
}

/** `in 3 days`, and always current. For an element that has the exact time beside it. */
export function Relative({ at }: { readonly at: number }): JSX.Element {
  const text = useComputed(() => formatRelative(at, now.value));
  return <>{text}</>;
}

const visibility = new WeakMap<Element, Signal<boolean>>();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const isVisible = visibility.get(target);
    if (isVisible) isVisible.value = isIntersecting;
  }
});

/** A relative time. The exact one is its title and what screen readers read. */
export function Time({ at, form = 'relative' }: TimeProps): JSX.Element {
  const time = typeof at === 'string' ? Date.parse(at) : at;
  const element = useRef<HTMLTimeElement>(null);
  const isVisible = useSignal(false);
  useEffect(() => {
    const { current } = element;
    if (!current) return;
    visibility.set(current, isVisible);
    observer.observe(current);
    return () => observer.unobserve(current);
  }, []);
  const text = useComputed(() => {
    // A thousand of them are not updated every second while they are out of sight.
    const current = isVisible.value ? now.value : now.peek();
    // The clock of the service may be ahead of the visitor's.
    if (form === 'age')
      return current - time < DAY_MS ? formatDuration(Math.max(0, current - time)) : formatShort(time);
    const relative = formatRelative(time, current);
    return form === 'clock' ? `${formatClock(time)} (${relative})` : relative;
  });
  const exact = formatExact(time);
  return (
    <time dateTime={new Date(time).toISOString()} title={exact} ref={element}>
      <span aria-hidden="true">{text}</span>
      <span class="vh">{exact}</span>
    </time>
  );
}

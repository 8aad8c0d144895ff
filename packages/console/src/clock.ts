import { signal } from '@preact/signals';

/** The clock of a visitor may be wrong by minutes, and all times of leads come from the service: follow its clock. */
let skewMs = 0;
/** `Date` has whole seconds. */
const MAX_DIFFERENCE_MS = 2000;

/** Milliseconds since 1970, by the clock of the service as far as it is known. */
export const clock = (): number => Date.now() + skewMs;

/** Reads the header `Date` of a response that has just arrived. */
export function followServiceClock(headers: Headers): void {
  const differenceMs = Date.parse(headers.get('date') ?? '') - Date.now();
  if (Math.abs(differenceMs - skewMs) <= MAX_DIFFERENCE_MS || Number.isNaN(differenceMs)) return;
  skewMs = Math.abs(differenceMs) <= MAX_DIFFERENCE_MS ? 0 : differenceMs;
  now.value = clock();
}

/** The clock, once a second. */
export const now = signal(clock());
setInterval(() => {
  now.value = clock();
}, 1000);

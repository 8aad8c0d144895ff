/** Loaded before the demo with `--import`: the same time and the same old leads in each run, and the output of a terminal. */
import { ServerResponse } from 'node:http';
import process from 'node:process';

const START_MS = Date.parse('2026-03-02T09:30:00.000Z');
const SystemDate = Date;
const offsetMs = START_MS - SystemDate.now();

const now = (): number => SystemDate.now() + offsetMs;

/** `Date` with another idea of now. A proxy, because all else must stay as it is. */
globalThis.Date = new Proxy(SystemDate, {
  construct: (target, parameters) =>
    Reflect.construct(target, parameters.length === 0 ? [now()] : parameters),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

/** The generator mulberry32. Not for secrets: those come from `node:crypto`. */
let state = 14;
Math.random = () => {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

// Node's own Date header would have the real time, and the console follows it.
Object.defineProperty(ServerResponse.prototype, 'sendDate', { get: () => false, set: () => undefined });

process.stdout.isTTY = true;

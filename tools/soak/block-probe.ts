/**
 * Loaded into each service with `--import`: measures the longest block of its event loop by the processor time of its thread.
 * The clock would also count the time in which other programs have the processor.
 */
import { openSync, readSync } from 'node:fs';
import process from 'node:process';

/** A longest block includes up to this time between two measurements. */
const EVERY_MS = 2;
const NANOSECONDS_PER_MS = 1e6;

/** In nanoseconds. Node 20 has no `process.threadCpuUsage`, but Linux has this file; elsewhere, all threads are counted. */
function openThreadTime(): () => number {
  if (process.platform !== 'linux') return () => process.cpuUsage().user * 1000;
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const bytes = Buffer.alloc(100);
  return () => Number.parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10);
}

const readThreadTime = openThreadTime();
let last = readThreadTime();
let longest = 0;

setInterval(() => {
  const now = readThreadTime();
  longest = Math.max(longest, now - last);
  last = now;
}, EVERY_MS).unref();

/** Every message is answered with the longest block since the one before. */
process.on('message', () => {
  process.send?.(longest / NANOSECONDS_PER_MS);
  longest = 0;
});
process.channel?.unref();

/**
 * Loaded into each service with `--import`: measures its resources, and the longest block of its event loop by the processor time of
 * its thread. The clock would also count the time in which other programs have the processor.
 */
import { openSync, readdirSync, readSync } from 'node:fs';
import process from 'node:process';
import { getHeapCodeStatistics } from 'node:v8';
import { collectGarbage } from '../../packages/testing/harness/collect-garbage.ts';

export interface Resources {
  /** Of the process, as the operating system counts it. */
  readonly rssBytes: number;
  /** JavaScript objects, and the buffers outside of the heap that belong to them. Without compiled code, which grows for long. */
  readonly heapBytes: number;
  /** Open files and sockets; where the operating system does not list them, what keeps Node's event loop running. */
  readonly handles: number;
}

function readResources(): Resources {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const handles =
    process.platform === 'linux'
      ? readdirSync('/proc/self/fd').length
      : process.getActiveResourcesInfo().length;
  const { code_and_metadata_size: code, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
  return { rssBytes: rss, heapBytes: heapUsed + external - code - bytecode, handles };
}

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

/** `block` is answered with the longest one since the last answer, in milliseconds. */
process.on('message', (what) => {
  if (what === 'resources') process.send?.(readResources());
  else {
    process.send?.(longest / NANOSECONDS_PER_MS);
    longest = 0;
  }
});
process.channel?.unref();

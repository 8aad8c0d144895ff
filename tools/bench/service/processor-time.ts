import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds on a processor, by thread. */
export type ProcessorTimes = ReadonlyMap<string, number>;

/** Of the threads of some processes and of all their children, to the nanosecond, as Linux counts them. */
export function processorTimes(pids: readonly number[]): ProcessorTimes {
  const times = new Map<string, number>();
  for (const pid of pids) collect(String(pid), times);
  return times;
}

/** Processor time between two samples, in milliseconds, without processes that have ended meanwhile. */
export function spentMs(before: ProcessorTimes, after: ProcessorTimes): number {
  let nanoseconds = 0;
  for (const [thread, time] of after) nanoseconds += time - (before.get(thread) ?? 0);
  return nanoseconds / 1e6;
}

function collect(pid: string, times: Map<string, number>): void {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return;
  for (const thread of readdirSync(folder)) {
    // The first number of https://docs.kernel.org/scheduler/sched-stats.html, /proc/<pid>/schedstat.
    const [time] = numbersIn(`${folder}/${thread}/schedstat`);
    if (time !== undefined) times.set(thread, time);
    for (const child of numbersIn(`${folder}/${thread}/children`)) collect(String(child), times);
  }
}

/** None when the thread has just ended. */
function numbersIn(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

import { readFileSync } from 'node:fs';

/** What Linux says about the memory of a process: now, and at its highest. */
export function memoryOf(pid: number): { readonly rssMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024;
  return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}

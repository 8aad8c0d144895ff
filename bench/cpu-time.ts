import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Of a process and all of its children, those that have ended included, in milliseconds. Linux only. */
export function cpuTimeMs(pid: number): number {
  const children = existsSync(`/proc/${pid}/task`)
    ? readdirSync(`/proc/${pid}/task`).flatMap((task) => numbersIn(`/proc/${pid}/task/${task}/children`))
    : [];
  return ownTimeMs(pid) + children.reduce((sum, child) => sum + cpuTimeMs(child), 0);
}

const numbersIn = (file: string): number[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).map(Number) : [];

/** https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, fields 14 to 17, in hundredths of a second. */
function ownTimeMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

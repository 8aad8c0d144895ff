import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../cleanup.ts';
import type { Target } from '../wrk.ts';

/** A server to compare with, in a process of its own. */
export async function startServer(
  cleanup: Cleanup,
  name: 'bare' | 'hand-written',
  argument: string,
): Promise<Target> {
  const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [file, argument], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  cleanup.add(() => child.kill() && ended);
  const [line] = await once(child.stdout, 'data');
  return { port: Number(line), pid: child.pid ?? 0 };
}

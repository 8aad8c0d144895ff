import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOAK = 'tools/soak/dist/tools/soak/run.js';
const MAX_OUTPUT_BYTES = 1 << 24;

/** Runs the built delivery trial. */
export const soak = (
  ...args: readonly string[]
): Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }> =>
  new Promise((resolve) => {
    const options = { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(process.execPath, [SOAK, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

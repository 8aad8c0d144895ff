import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const BUILT = new URL('../../../dist/accounts/signing-keys.js', import.meta.url).href;

/** Waits for the other threads before each file, so that all of them find no key. */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { built, files, gates, threads } = workerData;
  import(built).then(async ({ loadSigningKeys }) => {
    const ids = [];
    for (const [round, file] of files.entries()) {
      Atomics.add(gates, round, 1);
      while (Atomics.load(gates, round) < threads);
      const [{ id }] = await loadSigningKeys({ file });
      ids.push(id);
    }
    parentPort.postMessage(ids);
  });
`;

/** Several threads load the key of each file at the same time. Returns the key ids of each thread. */
export async function loadKeysConcurrently(files: readonly string[], threads: number): Promise<string[][]> {
  const gates = new Int32Array(new SharedArrayBuffer(4 * files.length));
  const workerData = { built: BUILT, files, gates, threads };
  const workers = Array.from({ length: threads }, () => new Worker(THREAD, { eval: true, workerData }));
  return Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]));
}

import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { type Checkpoint, type CheckpointStore, isCheckpoint } from './checkpoint.ts';

export type { Checkpoint, CheckpointStore } from './checkpoint.ts';

/**
 * Keeps the checkpoint in a file, which is replaced as a whole: whenever the process or the machine stops, the file has
 * the old checkpoint or the new one. One consumer a file.
 */
export function fileCheckpoint(path: string): CheckpointStore {
  return { load: () => load(path), save: (checkpoint) => save(path, checkpoint) };
}

async function load(path: string): Promise<Checkpoint | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const checkpoint = text === undefined ? undefined : parse(text);
  if (checkpoint === undefined || isCheckpoint(checkpoint)) return checkpoint;
  // Starting over silently would repeat leads, or skip some.
  throw new Error(`${path} is not a checkpoint. Fix it, or remove it to begin at \`since\`.`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function save(path: string, checkpoint: Checkpoint): Promise<void> {
  const next = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(next, 'wx');
    try {
      await file.writeFile(`${JSON.stringify(checkpoint)}\n`);
      // Else a power cut could leave the new name on an empty file.
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

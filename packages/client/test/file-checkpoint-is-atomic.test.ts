import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkpoint } from '@leadtap/client';
import { fileCheckpoint } from '@leadtap/client/file';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../testing/harness/temp-folder.ts';

const checkpoint = (n: number): Checkpoint => ({
  since: new Date(n).toISOString(),
  // Long enough that a write has a middle.
  triggerIds: Array.from({ length: 100 }, (_, i) => `${n}-${i}`.padEnd(64, '.')),
});

describe('a file checkpoint', () => {
  it('is there for the next process', async () => {
    const path = join(tempFolder(), 'leads.json');
    await fileCheckpoint(path).save({ ...checkpoint(1), notBefore: '2026-03-02T09:30:00.000Z' });
    expect(await fileCheckpoint(path).load()).toEqual({
      ...checkpoint(1),
      notBefore: '2026-03-02T09:30:00.000Z',
    });
  });

  it('is nothing before it was saved', async () => {
    expect(await fileCheckpoint(join(tempFolder(), 'leads.json')).load()).toBeUndefined();
  });

  it('is the old one or the new one at every moment', async () => {
    const folder = tempFolder();
    const path = join(folder, 'leads.json');
    const store = fileCheckpoint(path);
    await store.save(checkpoint(0));
    let isDone = false;
    const seen = new Set<string>();
    const watching = (async () => {
      while (!isDone) {
        const { since, triggerIds } = JSON.parse(readFileSync(path, 'utf8')) as Checkpoint;
        expect({ since, triggerIds }).toEqual(checkpoint(Date.parse(since)));
        seen.add(since);
        await new Promise(setImmediate);
      }
    })();
    for (let n = 1; n <= 300; n += 1) await store.save(checkpoint(n));
    isDone = true;
    await watching;
    expect(seen.size).toBeGreaterThan(1);
    expect(readdirSync(folder)).toEqual(['leads.json']);
  });

  it.each(['', '{"since":"2026-03-02T09:30:00.0', '[]', '{"since":"2026-03-02"}', 'null'])(
    'that is damaged (%j) is an error, not a missing checkpoint',
    async (text) => {
      const path = join(tempFolder(), 'leads.json');
      writeFileSync(path, text);
      await expect(fileCheckpoint(path).load()).rejects.toThrow(/leads\.json is not a checkpoint\. Fix it/);
    },
  );

  it('that cannot be read or written is an error, and leaves no file behind', async () => {
    const folder = tempFolder();
    const taken = join(folder, 'taken');
    mkdirSync(taken);
    await expect(fileCheckpoint(taken).load()).rejects.toThrow('EISDIR');
    await expect(fileCheckpoint(join(folder, 'gone', 'leads.json')).save(checkpoint(1))).rejects.toThrow(
      'ENOENT',
    );
    await expect(fileCheckpoint(taken).save(checkpoint(1))).rejects.toThrow(/EISDIR|ENOTEMPTY|EPERM|EEXIST/);
    expect(readdirSync(folder)).toEqual(['taken']);
  });
});

import { expect, test } from 'vitest';
import { makeLogger } from '../../src/ops/logging.ts';

const log = (err: unknown): unknown => {
  const lines: string[] = [];
  makeLogger('error', { write: (line) => void lines.push(line) }).error({ err }, 'failed');
  return JSON.parse(lines.join('')).err;
};

test.each(['a text', null, 7])('%j is logged as it was thrown', (thrown) =>
  expect(log(thrown)).toEqual(thrown),
);

test('an error is logged with its message and stack', () =>
  expect(log(new Error('broken'))).toMatchObject({
    message: 'broken',
    stack: expect.stringContaining('Error: broken'),
  }));

import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { plant } from './fault.ts';
import { FAULTS } from './faults.ts';

const ROOT = new URL('../../', import.meta.url);

it.each(FAULTS)('$name', (fault) => {
  const text = readFileSync(new URL(fault.file, ROOT), 'utf8');
  expect(plant(fault, text), 'the code with the fault').not.toBe(text);
  expect(existsSync(new URL(fault.owner, ROOT)), fault.owner).toBe(true);
});

it('their names are unique', () => {
  const names = FAULTS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

import { expect, test } from 'vitest';
import { csv, issuesOf } from './support/read-lines.ts';

const HEADER = 'companyId,id,firstName,email';

test.each([
  [
    '"Grand Totals (2 records)"',
    'has 1 cell, but the header has 4; add the missing cells, or delete the line if it is the footer of a report',
  ],
  [
    'Copyright (c) 2000-2026 salesforce.com, inc.',
    'has 2 cells, but the header has 4; add the missing cells, or delete the line if it is the footer of a report',
  ],
  [
    'acme,1,Ada,Moreau,ada@example.com',
    'has 5 cells, but the header has 4; put cells with a comma in quotes',
  ],
])('%s', async (row, detail) => {
  const [line] = await csv(`${HEADER}\n${row}\n`);
  expect(line && issuesOf(line)).toEqual([detail]);
});

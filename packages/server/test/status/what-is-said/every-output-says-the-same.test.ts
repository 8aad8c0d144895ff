/**
 * The list of situations: what is said of each is true, and the same in every output. The service is the real one, one for each row:
 * that takes a tenth of a second, and what is of no company is seen in its own row alone.
 * Left out: what no output can know (32: two automations with one token); crashes and several instances (50, 51), which
 * `what-is-said-equals-what-was-sent` has in random order; a restored backup and clients of an identity provider (52, 62), which
 * `rules-say-what-is-sent-owed-and-lost` has; and what is no row of a connection (23, 48).
 */
import { describe, expect, it } from 'vitest';
import { DOOR_ROWS } from './door-rows.ts';
import { KEY_ROWS } from './key-rows.ts';
import { POLLER_ROWS } from './poller-rows.ts';
import { expectSaid } from './support/outputs.ts';
import { startWorld } from './support/world.ts';

describe('what Leadtap says', () => {
  it.each([...DOOR_ROWS, ...POLLER_ROWS, ...KEY_ROWS])(
    '$name',
    async ({ env, history, says, sentence = '', problems = [] }) => {
      const world = await startWorld(env);
      await history(world);
      const rows = Object.fromEntries(Object.entries(says).map(([name, [text]]) => [name, text]));
      await expectSaid(world, (said) => {
        expect(said.rows, JSON.stringify(said.messages)).toEqual(rows);
        for (const [name, [, part = '']] of Object.entries(says)) expect(said.messages[name]).toContain(part);
        expect(said.sentence).toContain(sentence);
        expect(said.problems).toEqual(problems);
      });
    },
  );
});

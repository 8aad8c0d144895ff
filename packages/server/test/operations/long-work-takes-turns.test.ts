import { expect, it } from 'vitest';
import { takeTurn } from '../../src/lib/event-loop.ts';

it('no two parts of long work run in the same turn of the event loop', async () => {
  let turn = 0;
  let isDone = false;
  const countTurn = () => {
    turn += 1;
    if (!isDone) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const work = async () => {
    const turns: number[] = [];
    for (let part = 0; part < 10; part += 1) {
      await takeTurn();
      turns.push(turn);
    }
    return turns;
  };
  const turns = (await Promise.all([work(), work(), work()])).flat();
  isDone = true;
  expect(new Set(turns).size).toBe(30);
});

it('after long work, a company pauses, and another one does not wait for it', async () => {
  const order: string[] = [];
  const work = async (company: string, parts: number, partMs: number) => {
    for (let part = 0; part < parts; part += 1) {
      await takeTurn(company);
      order.push(company);
      for (const start = performance.now(); performance.now() - start < partMs; );
    }
  };
  await Promise.all([work('long', 4, 40), work('short', 20, 0)]);
  // Without the pause, it would have a turn after each of the first four of the other one.
  expect(order.slice(0, 21).filter((company) => company === 'long')).toHaveLength(1);
  expect(order.filter((company) => company === 'long')).toHaveLength(4);
});

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

import type { ScenarioKey } from './outcomes.ts';
import { MINUTE_MS, type World } from './world.ts';

export interface Scenario {
  /** By how much the poller's clock is ahead of the service's. */
  readonly skewMs?: number;
  readonly happens: (world: World) => Promise<void>;
}

/** Ten leads before each of five polls. */
async function ordinaryMinutes(world: World): Promise<void> {
  for (let poll = 0; poll < 5; poll += 1) {
    await world.add(10);
    await world.poll();
  }
}

/** Four writers before and after each of three polls, all at the millisecond of the poll. */
async function equalMilliseconds(world: World): Promise<void> {
  const write = await world.startWriters(4);
  for (let poll = 0; poll < 3; poll += 1) {
    world.goToNextPoll();
    await write(5);
    await world.pollNow();
    await write(5);
  }
}

async function refusedOnce(world: World): Promise<void> {
  await world.add(40);
  world.goToNextPoll();
  await world.leaveRequests(0);
  await world.pollInVain();
  await world.add(40);
}

async function refusedBetweenPages(world: World): Promise<void> {
  await world.add(250);
  world.goToNextPoll();
  await world.leaveRequests(2);
  await world.pollInVain();
}

/** Other programs use up the 1,000 requests of the hour in ten minutes; for the rest of it every poll is refused. */
async function refusedForTheHour(world: World): Promise<void> {
  await world.leaveRequests(99);
  for (let poll = 0; poll < 5; poll += 1) {
    await world.poll();
    await world.leaveRequests(0);
    world.clock.advance(MINUTE_MS);
    await world.leaveRequests(0);
  }
  for (let poll = 0; poll < 24; poll += 1) {
    await world.add(10);
    world.goToNextPoll();
    await world.pollInVain();
  }
}

/** Away for a poll; then it goes away in the middle of an answer. */
async function serviceRestarts(world: World): Promise<void> {
  await world.add(40);
  await world.stopService();
  world.goToNextPoll();
  await world.pollInVain();
  await world.startService();
  await world.add(20);
  await world.poll();
  await world.add(40);
  world.goToNextPoll();
  world.road.fateOf = () => 'is lost';
  await world.pollInVain();
  world.road.fateOf = () => 'arrives';
  await world.stopService();
  await world.startService();
}

async function serviceRestartsBetweenPages(world: World): Promise<void> {
  await world.add(250);
  let requests = 0;
  world.road.beforeRequest = async () => {
    requests += 1;
    if (requests === 2) await world.stopService();
  };
  world.goToNextPoll();
  await world.pollInVain();
  world.road.beforeRequest = async () => undefined;
  await world.stopService();
  await world.startService();
}

/** Killed with a page in its hands; then ten minutes away. */
async function pollerRestarts(world: World): Promise<void> {
  await world.add(40);
  await world.pollKilledWithPage();
  await world.add(20);
  await world.poll();
  for (let missed = 0; missed < 5; missed += 1) {
    await world.add(10);
    world.goToNextPoll();
  }
  world.restartPoller();
}

async function pollerKilledInBetween(world: World): Promise<void> {
  await world.add(40);
  await world.pollKilledInBetween();
}

export const SCENARIOS: Readonly<Record<ScenarioKey, Scenario>> = {
  burst: { happens: (world) => world.add(2500) },
  equalMilliseconds: { happens: equalMilliseconds },
  refusedOnce: { happens: refusedOnce },
  refusedBetweenPages: { happens: refusedBetweenPages },
  refusedForTheHour: { happens: refusedForTheHour },
  serviceRestarts: { happens: serviceRestarts },
  serviceRestartsBetweenPages: { happens: serviceRestartsBetweenPages },
  pollerRestarts: { happens: pollerRestarts },
  pollerKilledInBetween: { happens: pollerKilledInBetween },
  clockAhead: { skewMs: 5 * MINUTE_MS, happens: ordinaryMinutes },
  clockBehind: { skewMs: -5 * MINUTE_MS, happens: ordinaryMinutes },
};

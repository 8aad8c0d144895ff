import { expect, test } from 'vitest';
import { readCompose, readPod, readText } from './support/manifests.ts';

/** The maximum time that Leadtap needs to stop, see `leadtap serve --help`. */
const LIMIT_S =
  Number(
    /SHUTDOWN_LIMIT_MS = ([\d_]+)/
      .exec(readText('packages/server/src/ops/lifecycle.ts'))?.[1]
      ?.replace('_', ''),
  ) / 1000;

test('`serve --help` names the limit', () => {
  expect(LIMIT_S).toBeGreaterThan(0);
  expect(readText('packages/server/src/cli/serve.ts')).toContain(`at most ${LIMIT_S} seconds`);
});

test('Compose waits longer', () => {
  expect(readCompose()['leadtap']?.stop_grace_period).toMatch(/^\d+s$/);
  expect(Number.parseInt(readCompose()['leadtap']?.stop_grace_period ?? '', 10)).toBeGreaterThan(LIMIT_S);
});

test('Kubernetes waits longer, and gives load balancers time first', () => {
  const { terminationGracePeriodSeconds, containers } = readPod('deployment.yaml');
  const [program, seconds] = containers[0].lifecycle.preStop.exec.command;
  expect(program).toBe('sleep');
  expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + LIMIT_S);
});

test('systemd waits longer', () => {
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(readText('deploy/systemd/leadtap.service')) ?? [];
  expect(Number(seconds)).toBeGreaterThan(LIMIT_S);
});

import process from 'node:process';
import type { Command } from 'commander';
import { describeDatabase, serviceUrl } from '../config.ts';
import { addCommand } from './command.ts';
import { type CommandContext, loadConfig } from './context.ts';
import { checkDatabase } from './doctor/database.ts';
import { toFindings } from './doctor/diagnosis.ts';
import { type Finding, failed, formatFinding, ok, warning } from './doctor/finding.ts';
import {
  checkClock,
  checkIdentityProvider,
  checkMetricsPort,
  checkPort,
  checkRateLimits,
  checkSigningKey,
} from './doctor/service.ts';
import { EXIT_CODES, ExitCode, exitCodeOf, Failure } from './exit.ts';
import { withInvocation } from './invocation.ts';
import { hasColours, writeJson, writeLine } from './output.ts';
import { findServiceProblem, readInstance } from './running-service.ts';

const CONFIGURATION = 'configuration';

export function registerDoctor(program: Command, context: CommandContext): void {
  addCommand(program, context, {
    name: 'doctor',
    summary: 'find problems',
    description: 'Check configuration, database, schema, key, clock and ports, and say what to fix.',
    options: { '--json': 'print { ok, checks: [{ check, state, detail, fix }] }' },
    help: `
doctor only reads: it creates, migrates and changes nothing. You can run it while the service runs.
The exit code is 1 if an error keeps Leadtap from working or leads from getting through, and 2 if it is the configuration.

It checks Node.js, the configuration, the data folder, the database and its schema, the signing key, the identity provider,
the clock, and both ports. Then it has what the status page has: problems, the sentence over all connections, and what is red
or amber. What only the running service knows, it asks at LEADTAP_METRICS_ADDRESS.
! is a warning, ✗ an error, ? cannot be said yet.
  SQLite      free disk space, age of the last backup
  PostgreSQL  primary, durable, UTF-8, the isolation level that polls need, encryption, both clocks, and whether other
              machines know the signing key
  Redis       the rate limits, with a key that expires after a second; polls work without it, so it is only a warning`,
    examples: ['leadtap doctor', `leadtap doctor --json | jq '.checks[] | select(.state != "ok")'`],
    run: runDoctor,
  });
}

async function runDoctor(context: CommandContext, { json }: { readonly json?: true }): Promise<void> {
  const { stdout, env, signal } = context;
  const findings: Finding[] = [];
  for await (const found of runChecks(context)) {
    if (signal.aborted) throw exitCodeOf(signal);
    const finding = { ...found, fix: found.fix.map((line) => withInvocation(line, context)) };
    findings.push(finding);
    if (!json) await writeLine(stdout, formatFinding(finding, hasColours(stdout, env)));
  }
  const failures = findings.filter(({ state }) => state === 'failed');
  if (json) await writeJson(stdout, { ok: failures.length === 0, checks: findings });
  if (failures.length === 0) return;
  const isConfiguration = failures.some(({ check }) => check === CONFIGURATION);
  throw new ExitCode(isConfiguration ? EXIT_CODES.usage : EXIT_CODES.failed);
}

async function* runChecks(context: CommandContext): AsyncGenerator<Finding> {
  const { clock, cwd } = context;
  // Always ok: an unsupported Node.js does not start the program.
  yield ok('Node.js', process.versions.node);
  const config = await loadConfig(context).catch(toFinding);
  if ('check' in config) return yield config;
  yield ok(CONFIGURATION, 'every variable is valid');
  const instance = await readInstance(config);
  const isOwn = instance?.database.address === describeDatabase(config.database);
  const database = await checkDatabase(config, context, isOwn ? instance : undefined);
  yield* database.findings;
  yield* await checkRateLimits(config, database.isShared);
  yield await checkSigningKey(config, cwd, database.isShared);
  if (config.externalTokens) yield await checkIdentityProvider(config.externalTokens);
  yield await checkClock(clock(), config, database.server);
  yield await checkPort(config);
  yield await checkMetricsPort(config, instance);
  if (!database.report) return;
  const service = findServiceProblem(config, instance);
  if (service?.reason === 'no service' && database.report.connections?.rows.length)
    yield warning('service', 'while none runs, nothing is sent and nothing comes in', service.message);
  yield* toFindings(database.report, serviceUrl(config));
}

function toFinding(error: unknown): Finding {
  if (error instanceof Failure) return failed(CONFIGURATION, error.message, ...error.fix);
  throw error;
}

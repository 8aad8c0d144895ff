import { availableParallelism, cpus, release, totalmem } from 'node:os';

/** What the figures were measured on. */
export const machine = () => ({
  at: new Date().toISOString(),
  cores: availableParallelism(),
  processor: cpus()[0]?.model ?? 'unknown',
  architecture: process.arch,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  system: `${process.platform} ${release()}`,
  node: process.version,
});
